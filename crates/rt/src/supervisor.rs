//! A thread that watches another one, and demotes it if a job does not end.
//!
//! The supervisor has the priority above its charge, on the same CPU: a charge that never
//! sleeps cannot keep it from running. It wakes up about once in a limit. A job that it finds
//! running is looked at again exactly when its time is over; one that begins later cannot be over
//! before the next look.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use tactus_model::cpus::CpuList;
use tactus_model::policy::{RealtimePriority, Scheduling};
use tactus_model::recording::ThreadId;
use tactus_model::result::Shortfall;
use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_prepare::{Preparation, ThreadRef};
use tactus_sys::sleep::{Nanosleep, Sleeper};
use tactus_sys::{SysError, clock};

use crate::refused::{LIMIT_LEAST, PERIOD_MOST, Refused};
use crate::report::{Incident, Reporter};
use crate::statistics::Recorder;

/// What a supervisor does about a job that exceeds its limit, besides reporting it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Action {
    /// Makes the thread an ordinary one, so the rest of the machine works. A thread with a
    /// reserve keeps it, because its capacity limits the damage.
    #[default]
    Demote,
    /// Nothing.
    Report,
}

/// How a thread is supervised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Supervision {
    pub(crate) limit: Nanos,
    pub(crate) action: Action,
}

impl Supervision {
    /// Checks the limit.
    pub(crate) fn check(self) -> Result<(), Refused> {
        let nearest = self.limit.clamp(LIMIT_LEAST, PERIOD_MOST);
        if nearest == self.limit {
            Ok(())
        } else {
            Err(Refused::Limit { limit: self.limit, nearest })
        }
    }
}

/// What a thread shows its supervisor.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    /// When the present job began, in nanoseconds of the monotonic clock; 0 between jobs.
    busy_since: AtomicU64,
    /// The same of the last job that exceeded its limit.
    hung_since: AtomicU64,
    is_demoted: AtomicBool,
}

impl Watched {
    #[inline]
    pub(crate) fn begin(&self, now: Instant<Monotonic>) {
        self.busy_since.store(now.as_nanos(), Ordering::Relaxed);
    }

    /// When the job that ends now began.
    #[inline]
    pub(crate) fn end(&self) -> Option<Instant<Monotonic>> {
        let since = self.busy_since();
        self.busy_since.store(0, Ordering::Relaxed);
        since
    }

    /// Whether the thread was demoted since the last call.
    #[inline]
    pub(crate) fn take_demotion(&self) -> bool {
        self.is_demoted.load(Ordering::Acquire) && self.is_demoted.swap(false, Ordering::Acquire)
    }

    /// Whether a job exceeds its limit at present.
    pub(crate) fn is_hung(&self) -> bool {
        let since = self.busy_since.load(Ordering::Relaxed);
        since != 0 && since == self.hung_since.load(Ordering::Relaxed)
    }

    fn busy_since(&self) -> Option<Instant<Monotonic>> {
        match self.busy_since.load(Ordering::Relaxed) {
            0 => None,
            since => Some(Instant::from_nanos(since)),
        }
    }
}

/// What to do after a look at the charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    /// Look again then.
    Again(Instant<Monotonic>),
    /// The job that began then is over its limit.
    Hung(Instant<Monotonic>),
}

/// Decides at `now` about a charge that is busy since then; `reported` is the last job that was
/// found hung.
fn look(
    now: Instant<Monotonic>,
    busy_since: Option<Instant<Monotonic>>,
    reported: Option<Instant<Monotonic>>,
    limit: Nanos,
) -> Look {
    match busy_since {
        Some(since) if reported != Some(since) => {
            let end = since + limit;
            if now < end { Look::Again(end) } else { Look::Hung(since) }
        }
        _ => Look::Again(now + limit),
    }
}

/// The stack of a supervisor in bytes, which is locked with the rest of the memory.
const STACK: usize = 256 << 10;

/// A running supervisor; dropping it ends its thread.
#[derive(Debug)]
pub(crate) struct Supervisor {
    is_ending: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    pub(crate) shortfalls: Vec<Shortfall>,
}

/// What a supervisor watches.
pub(crate) struct Charge {
    pub(crate) watched: Arc<Watched>,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) reporter: Reporter,
    /// `None`: it has a reserve.
    pub(crate) scheduling: Option<Scheduling>,
    pub(crate) cpus: CpuList,
}

impl Supervisor {
    /// Starts a supervisor of the calling thread, which drops it before it ends: so its ID
    /// belongs to no other thread while it is supervised.
    pub(crate) fn start(charge: Charge, supervision: Supervision) -> Result<Self, std::io::Error> {
        let is_ending = Arc::new(AtomicBool::new(false));
        let ending = Arc::clone(&is_ending);
        let (ready, prepared) = std::sync::mpsc::sync_channel(1);
        let run = move || {
            let _ = ready.send(prepare(&charge));
            // Its calls fail only if the charge has ended, which waits for this thread.
            let _ = watch(&charge, supervision, &ending);
        };
        let builder = std::thread::Builder::new().name("rt-supervisor".to_owned());
        let thread = builder.stack_size(STACK).spawn(run)?;
        let shortfalls = prepared.recv().unwrap_or_default();
        Ok(Self { is_ending, thread: Some(thread), shortfalls })
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        self.is_ending.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The policy of the supervisor of a thread with this policy.
pub(crate) fn above(charge: Option<Scheduling>) -> Scheduling {
    let one_more =
        |priority: RealtimePriority| RealtimePriority::new(priority.get() + 1).unwrap_or(priority);
    match charge {
        Some(Scheduling::Fifo(priority) | Scheduling::RoundRobin(priority)) => {
            Scheduling::Fifo(one_more(priority))
        }
        // The deadline class precedes all others; its capacity leaves time for them.
        None | Some(Scheduling::Deadline { .. }) => {
            RealtimePriority::new(99).map_or(Scheduling::ORDINARY, Scheduling::Fifo)
        }
        Some(ordinary) => ordinary,
    }
}

fn prepare(charge: &Charge) -> Vec<Shortfall> {
    let mut preparation = Preparation::new();
    let placed = preparation
        .set_timer_slack(Nanos::ZERO)
        .and_then(|()| preparation.place(&charge.cpus, above(charge.scheduling)));
    let prepared = placed.and_then(|()| preparation.finish());
    let name = |missing: Shortfall| Shortfall {
        asked: format!("supervisor: {}", missing.asked),
        ..missing
    };
    prepared.map(|prepared| prepared.shortfalls.into_iter().map(name).collect()).unwrap_or_default()
}

/// Watches until the supervisor ends.
fn watch(charge: &Charge, supervision: Supervision, ending: &AtomicBool) -> Result<(), SysError> {
    let Charge { watched, recorder, reporter, scheduling, .. } = charge;
    let Supervision { limit, action } = supervision;
    let mut reported = None;
    while !ending.load(Ordering::Relaxed) {
        match look(clock::now(), watched.busy_since(), reported, limit) {
            Look::Again(then) => drop(sleep_unless(ending, then)?),
            Look::Hung(since) => {
                let demotes =
                    action == Action::Demote && scheduling.is_some_and(Scheduling::is_realtime);
                let is_demoted = demotes && demote(reporter.thread)?;
                let after = clock::now() - since;
                watched.hung_since.store(since.as_nanos(), Ordering::Relaxed);
                if is_demoted {
                    // After the demotion: the thread undoes it when it sees this.
                    watched.is_demoted.store(true, Ordering::Release);
                }
                recorder.hang();
                reporter.report(Incident::Hung { after, limit, is_demoted });
                reported = Some(since);
            }
        }
    }
    Ok(())
}

fn demote(thread: ThreadId) -> Result<bool, SysError> {
    ThreadRef::Id(thread).schedule_exactly(Scheduling::ORDINARY).map(|refused| refused.is_none())
}

/// The longest time until a sleeping thread notices that it shall end.
const NOTICED_WITHIN: Nanos = Nanos::from_millis(100);

/// Sleeps until `due`; returns earlier if `ending` is set. Up to 100 ms, it is one sleep.
pub(crate) fn sleep_unless(
    ending: &AtomicBool,
    due: Instant<Monotonic>,
) -> Result<Instant<Monotonic>, SysError> {
    loop {
        let now = clock::now::<Monotonic>();
        let step = due.min(now + NOTICED_WITHIN);
        let woke = Nanosleep.sleep_until(step)?;
        if step == due || ending.load(Ordering::Relaxed) {
            return Ok(woke);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Instant<Monotonic> {
        Instant::from_nanos(nanos)
    }

    #[test]
    fn a_job_is_looked_at_exactly_when_its_time_is_over() {
        let limit = Nanos::from_nanos(100);
        // Idle: a job that begins right after this look is over at the next one at the earliest.
        assert_eq!(look(at(1000), None, None, limit), Look::Again(at(1100)));
        assert_eq!(look(at(1100), Some(at(1040)), None, limit), Look::Again(at(1140)));
        assert_eq!(look(at(1139), Some(at(1040)), None, limit), Look::Again(at(1140)));
        assert_eq!(look(at(1140), Some(at(1040)), None, limit), Look::Hung(at(1040)));
        // A job is found hung once.
        assert_eq!(look(at(1200), Some(at(1040)), Some(at(1040)), limit), Look::Again(at(1300)));
        assert_eq!(look(at(1200), Some(at(1180)), Some(at(1040)), limit), Look::Again(at(1280)));
    }

    #[test]
    fn a_supervisor_has_the_priority_above_its_charge() {
        let check = |charge: &str, expected: &str| {
            assert_eq!(above(Some(charge.parse().unwrap())).to_string(), expected);
        };
        check("fifo:80", "fifo:81");
        check("rr:1", "fifo:2");
        check("deadline:1ms/2ms/2ms", "fifo:99");
        check("other:3", "other:3");
        assert_eq!(above(None).to_string(), "fifo:99");
    }
}
