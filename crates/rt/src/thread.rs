//! Starting threads, and the handle of one that runs.

use std::sync::atomic::Ordering;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::thread::JoinHandle;

use tactus_lint::{Lint, LintReport};
use tactus_model::cpus::CpuList;
use tactus_model::policy::{RealtimePriority, Scheduling};
use tactus_model::recording::ThreadId;
use tactus_model::reserve::Capacity;
use tactus_model::result::{Granted, Shortfall};
use tactus_model::time::Nanos;
use tactus_reserve::Rung;
use tactus_sys::thread::NAME_MAX;

use crate::Watch;
use crate::event::Interrupter;
use crate::job::{Ended, Recovery, Restart, Shared};
use crate::observed::Observed;
use crate::process::Process;
use crate::ready::{Description, Ready};
use crate::refused::{Refused, STACK_LEAST, STACK_MOST};
use crate::statistics::Statistics;
use crate::supervisor::{Action, Supervision};

/// How a thread competes for the CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// Time-sharing.
    #[default]
    Ordinary,
    /// Before all threads of lower priority, from 1 to 99, until it sleeps.
    #[doc(alias = "SCHED_FIFO")]
    Fifo(u8),
    /// The same, taking turns with threads of its priority.
    #[doc(alias = "SCHED_RR")]
    RoundRobin(u8),
    /// With CPU time that is granted in every period, and limited to it, by the best
    /// [rung](Rung) that the machine permits.
    #[doc(alias = "SCHED_DEADLINE")]
    Reserve(Capacity),
}

/// Bytes of stack that are touched in advance unless set.
const STACK: usize = 64 << 10;

/// Stack that a thread has beside the part that its body asked for, in bytes.
const STACK_BESIDE: usize = 256 << 10;

/// A thread that is to be started: [`Process::periodic`], [`Process::event`].
#[derive(Debug)]
pub struct ThreadBuilder<K> {
    pub(crate) kind: K,
    pub(crate) options: Options,
}

/// What all kinds of threads have.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) process: Process,
    pub(crate) name: String,
    pub(crate) policy: Policy,
    pub(crate) cpus: Option<CpuList>,
    pub(crate) stack: usize,
    pub(crate) restart: Restart,
    pub(crate) supervision: Option<Supervision>,
    pub(crate) watch: Option<Watching>,
    pub(crate) is_marked: bool,
}

/// By what the jobs of a thread are watched.
#[derive(Clone, Debug)]
pub(crate) enum Watching {
    /// A watcher of its own.
    Alone(Watch),
    /// One that the program has.
    Shared(Arc<Lint>),
}

impl Watching {
    fn start(self) -> Result<Arc<Lint>, Refused> {
        Ok(match self {
            Self::Alone(watch) => Arc::new(Lint::start(watch)?),
            Self::Shared(lint) => lint,
        })
    }
}

impl<K> ThreadBuilder<K> {
    pub(crate) fn new(process: Process, name: &str, kind: K) -> Self {
        let supervision = process.supervision();
        let options = Options {
            process,
            name: name.to_owned(),
            policy: Policy::default(),
            cpus: None,
            stack: STACK,
            restart: Restart::default(),
            supervision,
            watch: None,
            is_marked: false,
        };
        Self { kind, options }
    }

    /// How the thread competes for the CPU; as an ordinary thread unless set.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.options.policy = policy;
        self
    }

    /// The CPUs on which it runs; those of the calling thread unless set. With a reserve, the
    /// kernel may not grant both.
    #[must_use]
    pub fn cpus(mut self, cpus: CpuList) -> Self {
        self.options.cpus = Some(cpus);
        self
    }

    /// The only CPU on which it runs.
    #[must_use]
    pub fn cpu(self, cpu: u32) -> Self {
        self.cpus([cpu].into_iter().collect())
    }

    /// How many bytes of stack the body may use without a page fault, from 4 KiB to 1 GiB; 64 KiB
    /// unless set.
    #[must_use]
    pub fn stack(mut self, bytes: usize) -> Self {
        self.options.stack = bytes;
        self
    }

    /// What happens after a job failed; the thread ends unless set.
    #[must_use]
    pub fn restart(mut self, restart: Restart) -> Self {
        self.options.restart = restart;
        self
    }

    /// Supervises the thread: if a job takes longer than `limit` from its wakeup, `action`
    /// follows within a millisecond, and a [report](Process::take_reports). The limit is by the
    /// clock, so time in which the thread was preempted, or its machine paused, counts too. The one of
    /// the [process](crate::ProcessBuilder::supervise) unless set.
    #[must_use]
    pub fn supervise(mut self, limit: Nanos, action: Action) -> Self {
        self.options.supervision = Some(Supervision { limit, action });
        self
    }

    /// Watches the jobs for what real-time code must not do, e.g. by
    /// `Watch::SYSTEM_CALLS | Watch::PAGE_FAULTS`; [`Thread::violations`] has what was found. A
    /// part of a job that may do it runs in [`lint::outside`](crate::lint::outside).
    #[must_use]
    pub fn watch(mut self, watch: Watch) -> Self {
        self.options.watch = Some(Watching::Alone(watch));
        self
    }

    /// Watches the jobs by a watcher that threads share. Its report, and
    /// [`Thread::violations`], has what all of them did.
    #[must_use]
    pub fn watched_by(mut self, lint: Arc<Lint>) -> Self {
        self.options.watch = Some(Watching::Shared(lint));
        self
    }

    /// Marks the beginning and the end of each job in the kernel's trace, by two system calls of
    /// about a microsecond. `tactus why` then judges a job by its marks: for an event thread, they
    /// give the due times.
    #[doc(alias = "trace_marker")]
    #[must_use]
    pub fn mark(mut self) -> Self {
        self.options.is_marked = true;
        self
    }
}

impl Options {
    /// Starts a thread that runs `serve`, and waits until it is prepared.
    pub(crate) fn start(
        self,
        serve: impl FnOnce(&Arc<Shared>, &Recovery, Observed) -> Ended + Send + 'static,
        interrupter: Option<Interrupter>,
    ) -> Result<Thread, Refused> {
        self.check()?;
        let shared = Arc::new(Shared::default());
        let ours = Arc::clone(&shared);
        let lint = self.watch.clone().map(Watching::start).transpose()?;
        let watching = lint.clone();
        let (ready, prepared) = sync_channel(1);
        let builder = std::thread::Builder::new()
            .name(self.name.clone())
            .stack_size(self.stack + STACK_BESIDE);
        let handle = builder.spawn(move || match Ready::prepare(&self, &ours, watching) {
            Ok((state, observed, description)) => {
                let _ = ready.send(Ok(description));
                serve(&ours, &state.recovery(&self), observed)
            }
            Err(refused) => {
                let _ = ready.send(Err(refused));
                Ended::Requested
            }
        })?;
        let mut description = prepared.recv().unwrap_or(Err(Refused::Preparing))?;
        let unseen = lint.iter().flat_map(|lint| lint.report().unseen);
        description.prepared.shortfalls.extend(unseen);
        let own = handle.thread().id();
        let end = Mutex::new(End::Ahead(handle));
        Ok(Thread { shared, own, end, interrupter, description, lint })
    }

    /// Checks what the types leave open.
    fn check(&self) -> Result<(), Refused> {
        let name = &self.name;
        if name.is_empty() || name.len() > NAME_MAX || name.contains('\0') {
            return Err(Refused::Name(name.clone()));
        }
        if self.cpus.as_ref().is_some_and(CpuList::is_empty) {
            return Err(Refused::NoCpu);
        }
        let nearest = self.stack.clamp(STACK_LEAST, STACK_MOST);
        if nearest != self.stack {
            return Err(Refused::Stack { bytes: self.stack, nearest });
        }
        self.supervision.map_or(Ok(()), Supervision::check)?;
        self.scheduling().map(drop)
    }

    /// The policy; `None` for a reserve.
    pub(crate) fn scheduling(&self) -> Result<Option<Scheduling>, Refused> {
        let most = if self.supervision.is_some() { 98 } else { 99 };
        let checked = |priority: u8| {
            let valid = RealtimePriority::new(priority).filter(|_| priority <= most);
            valid.ok_or(Refused::Priority { priority, most, nearest: priority.clamp(1, most) })
        };
        Ok(match self.policy {
            Policy::Ordinary => Some(Scheduling::ORDINARY),
            Policy::Fifo(priority) => Some(Scheduling::Fifo(checked(priority)?)),
            Policy::RoundRobin(priority) => Some(Scheduling::RoundRobin(checked(priority)?)),
            Policy::Reserve(_) => None,
        })
    }
}

/// A thread that has ended.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Why it ended.
    pub ended: Ended,
    /// Its figures.
    pub stats: Statistics,
    /// What its jobs did that they must not, if they were [watched](ThreadBuilder::watch).
    pub violations: LintReport,
}

/// A running thread.
///
/// Dropping it stops the thread and waits for the end of its present job, unless the supervisor
/// has found that job hung. In the thread itself, dropping it does not wait.
#[derive(Debug)]
pub struct Thread {
    shared: Arc<Shared>,
    own: std::thread::ThreadId,
    /// Locked by the first thread that waits for the end.
    end: Mutex<End>,
    interrupter: Option<Interrupter>,
    description: Description,
    lint: Option<Arc<Lint>>,
}

/// The end of a thread, for those who wait for it.
#[derive(Debug)]
enum End {
    Ahead(JoinHandle<Ended>),
    Seen(Ended),
}

impl Thread {
    /// The figures of the thread so far. Reading them does not delay it.
    pub fn stats(&self) -> Statistics {
        self.shared.recorder.read()
    }

    /// What the jobs did so far that they must not, if they are [watched](ThreadBuilder::watch).
    pub fn violations(&self) -> LintReport {
        self.lint.as_deref().map(Lint::report).unwrap_or_default()
    }

    /// What the kernel granted.
    pub const fn granted(&self) -> &Granted {
        &self.description.prepared.granted
    }

    /// What the kernel refused, each with its reason and fix. The thread runs with the best that
    /// is permitted.
    pub fn shortfalls(&self) -> &[Shortfall] {
        &self.description.prepared.shortfalls
    }

    /// The mechanism that keeps its reserve; `None` without one.
    pub const fn rung(&self) -> Option<Rung> {
        self.description.rung
    }

    /// Its ID.
    pub const fn id(&self) -> ThreadId {
        self.description.id
    }

    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        match self.end.try_lock() {
            Ok(end) => end.is_over(),
            Err(TryLockError::Poisoned(end)) => end.into_inner().is_over(),
            // Another thread waits for it.
            Err(TryLockError::WouldBlock) => false,
        }
    }

    /// Whether it is the calling thread, which cannot wait for its own end.
    pub fn is_current(&self) -> bool {
        self.own == std::thread::current().id()
    }

    /// Waits until the thread ends by itself.
    ///
    /// # Panics
    /// The thread waits for [itself](Self::is_current).
    pub fn join(self) -> Finished {
        self.wait()
    }

    /// Asks the thread to end after its present job, at the latest 100 ms later, and waits for
    /// that.
    ///
    /// # Panics
    /// The thread stops [itself](Self::is_current).
    pub fn stop(self) -> Finished {
        self.request_end();
        self.wait()
    }

    /// Asks the thread to end after its present job, at the latest 100 ms later.
    pub fn request_end(&self) {
        self.shared.is_ending.store(true, Ordering::Relaxed);
        if let Some(interrupter) = &self.interrupter {
            interrupter.interrupt();
        }
    }

    /// Waits until the thread ends by itself. Several threads can wait for one.
    ///
    /// # Panics
    /// The thread waits for [itself](Self::is_current).
    pub fn wait(&self) -> Finished {
        assert!(
            !self.is_current(),
            "a thread cannot wait for its own end; fix: let another thread wait for it"
        );
        let ended = self.end.lock().unwrap_or_else(PoisonError::into_inner).see();
        Finished { ended, stats: self.stats(), violations: self.violations() }
    }
}

impl End {
    fn is_over(&self) -> bool {
        match self {
            Self::Ahead(handle) => handle.is_finished(),
            Self::Seen(_) => true,
        }
    }

    /// Waits for it.
    fn see(&mut self) -> Ended {
        // Panics of jobs are caught in the thread.
        let ended = match std::mem::replace(self, Self::Seen(Ended::Requested)) {
            Self::Ahead(handle) => handle.join().unwrap_or(Ended::Requested),
            Self::Seen(ended) => ended,
        };
        *self = Self::Seen(ended.clone());
        ended
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        let end = self.end.get_mut().unwrap_or_else(PoisonError::into_inner);
        if matches!(end, End::Seen(_)) {
            return;
        }
        self.request_end();
        if !self.is_current() && !self.shared.watched.is_hung() {
            self.wait();
        }
    }
}
