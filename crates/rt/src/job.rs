//! What gives a thread its jobs, and the loop that serves them.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tactus_model::policy::Scheduling;
use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_prepare::ThreadRef;
use tactus_sys::{SysError, clock};

use crate::report::{Incident, Reporter};
use crate::statistics::Recorder;
use crate::supervisor::Watched;

/// What the body of a thread answers after each job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Another job, when it is due.
    Continue,
    /// No more jobs: the thread ends.
    Stop,
}

/// What happens after a job panicked, or was demoted by the supervisor and ended after all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Restart {
    /// The thread ends.
    #[default]
    Never,
    /// The thread continues with its next job and its policy, this often. The body keeps what it
    /// has captured, as the failed job left it; [`Tick::restarts`](crate::Tick) shows a restart.
    Times(u32),
}

/// Why a thread ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Its body answered [`Flow::Stop`].
    Stopped,
    /// Its [`Thread`](crate::Thread) was stopped or dropped.
    Requested,
    /// [`Overrun::Stop`](crate::Overrun): a job ended after further due times.
    Overrun {
        /// The due times that had passed.
        missed: u64,
    },
    /// A job was demoted by the supervisor, ended after all, and no restart remained.
    Hung,
    /// A job panicked with this message, and no restart remained.
    Panicked(String),
    /// The source gives no more events: the other end is gone.
    Closed,
    /// A system call of the library failed.
    Failed(SysError),
}

/// A job that is to be done.
pub(crate) struct Begun<J> {
    pub(crate) job: J,
    pub(crate) woke: Instant<Monotonic>,
    pub(crate) lateness: Option<Nanos>,
    pub(crate) missed: u64,
    pub(crate) shifted: Nanos,
}

/// Gives a thread its jobs.
pub(crate) trait Pacer: Send {
    type Job;

    /// Begins, when the thread is ready.
    fn start(&mut self, now: Instant<Monotonic>);

    /// Waits for the next job. `Ok(None)`: there is none, because `shared` is ending or something
    /// else ended the wait.
    fn wait(&mut self, shared: &Shared) -> Result<Option<Begun<Self::Job>>, Ended>;

    /// Decides what follows a job that ended at `now`; `Some` if the thread ends.
    fn finish(&mut self, now: Instant<Monotonic>, recorder: &Recorder) -> Option<Ended>;
}

/// What a thread shares with its handle and its supervisor.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub(crate) is_ending: AtomicBool,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) watched: Arc<Watched>,
}

impl Shared {
    /// Records the end of a job, if there is one, and returns the time.
    fn end_job(&self) -> Option<Instant<Monotonic>> {
        let began = self.watched.end()?;
        let now = clock::now();
        self.recorder.end_job(now - began);
        Some(now)
    }
}

/// How a thread recovers from a failed job.
pub(crate) struct Recovery {
    pub(crate) restart: Restart,
    pub(crate) reporter: Reporter,
    /// What a demoted thread gets back; `None` if it has a reserve.
    pub(crate) scheduling: Option<Scheduling>,
}

/// Serves jobs until the thread ends.
pub(crate) fn run<P: Pacer>(
    mut pacer: P,
    mut body: impl FnMut(&P::Job) -> Flow,
    shared: &Shared,
    recovery: &Recovery,
) -> Ended {
    let mut remaining = match recovery.restart {
        Restart::Never => 0,
        Restart::Times(times) => times,
    };
    pacer.start(clock::now());
    loop {
        let ended = serve_caught(&mut pacer, &mut body, shared, &recovery.reporter);
        if !matches!(ended, Ended::Panicked(_) | Ended::Hung) || remaining == 0 {
            return ended;
        }
        remaining -= 1;
        if let (Ended::Hung, Some(scheduling)) = (ended, recovery.scheduling) {
            // Without permission, the thread had no such policy before either.
            let _ = ThreadRef::Calling.schedule_exactly(scheduling);
        }
        shared.recorder.restart();
        recovery.reporter.report(Incident::Restarted { remaining });
    }
}

/// Serves jobs until one fails or the thread ends; catches and reports a panic.
fn serve_caught<P: Pacer>(
    pacer: &mut P,
    body: &mut impl FnMut(&P::Job) -> Flow,
    shared: &Shared,
    reporter: &Reporter,
) -> Ended {
    // What the body has captured may be half changed; `Restart` says so.
    let served = catch_unwind(AssertUnwindSafe(|| serve(pacer, body, shared)));
    served.unwrap_or_else(|payload| {
        let message = message(&*payload);
        reporter.report(Incident::Panicked { message: message.clone() });
        let end = shared.end_job().and_then(|now| pacer.finish(now, &shared.recorder));
        end.unwrap_or(Ended::Panicked(message))
    })
}

fn serve<P: Pacer>(
    pacer: &mut P,
    body: &mut impl FnMut(&P::Job) -> Flow,
    shared: &Shared,
) -> Ended {
    loop {
        let begun = pacer.wait(shared);
        if shared.is_ending.load(Ordering::Relaxed) {
            return Ended::Requested;
        }
        let Begun { job, woke, lateness, missed, shifted } = match begun {
            Ok(Some(begun)) => begun,
            Ok(None) => continue,
            Err(ended) => return ended,
        };
        shared.recorder.start_job(lateness, missed, shifted);
        shared.watched.begin(woke);
        let flow = body(&job);
        let end = shared.end_job().and_then(|now| pacer.finish(now, &shared.recorder));
        match (flow, end) {
            (Flow::Stop, _) => return Ended::Stopped,
            (Flow::Continue, Some(end)) => return end,
            (Flow::Continue, None) if shared.watched.take_demotion() => return Ended::Hung,
            (Flow::Continue, None) => {}
        }
    }
}

/// The text of a panic.
fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message").to_owned()
}
