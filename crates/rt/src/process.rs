//! What the real-time threads of a program share.

use std::sync::Arc;

use tactus_model::result::Shortfall;
use tactus_model::time::Nanos;
use tactus_prepare::limit_idle_states;
use tactus_sys::idle_states::IdleStateLimit;

use crate::event::{Event, Source};
use crate::periodic::Periodic;
use crate::refused::Refused;
use crate::report::{Inbox, Reports};
use crate::supervisor::{Action, Supervision};
use crate::thread::ThreadBuilder;

/// The real-time part of a program: what its threads share. Copies are the same.
#[derive(Clone, Debug)]
pub struct Process(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    locks_memory: bool,
    supervision: Option<Supervision>,
    inbox: Arc<Inbox>,
    shortfalls: Vec<Shortfall>,
    _idle_states: Option<IdleStateLimit>,
}

/// A [`Process`] that is to be started.
#[derive(Clone, Debug, Default)]
pub struct ProcessBuilder {
    locks_memory: bool,
    supervision: Option<Supervision>,
    idle_exit_most: Option<u32>,
}

impl ProcessBuilder {
    /// Locks the memory of the process: all that is mapped when a thread is ready stays resident.
    /// Allocate before you start the thread that uses it.
    #[must_use]
    pub const fn lock_memory(mut self) -> Self {
        self.locks_memory = true;
        self
    }

    /// Supervises all threads; see [`ThreadBuilder::supervise`].
    #[must_use]
    pub const fn supervise(mut self, limit: Nanos, action: Action) -> Self {
        self.supervision = Some(Supervision { limit, action });
        self
    }

    /// Keeps CPUs out of idle states with an exit latency above `microseconds` while the process
    /// lives. It affects the whole machine, which then uses more energy.
    #[must_use]
    pub const fn limit_idle_states(mut self, microseconds: u32) -> Self {
        self.idle_exit_most = Some(microseconds);
        self
    }

    /// Makes the process ready to start threads.
    ///
    /// # Errors
    /// A setting is out of range.
    pub fn start(self) -> Result<Process, Refused> {
        self.supervision.map_or(Ok(()), Supervision::check)?;
        let mut shortfalls = Vec::new();
        let limited = self.idle_exit_most.map(limit_idle_states);
        let idle_states = limited.and_then(|limited| {
            limited.map_err(|refused| shortfalls.push(refused.explain_here())).ok()
        });
        Ok(Process(Arc::new(Inner {
            locks_memory: self.locks_memory,
            supervision: self.supervision,
            inbox: Arc::new(Inbox::new()),
            shortfalls,
            _idle_states: idle_states,
        })))
    }
}

impl Process {
    /// Begins to describe a process.
    pub fn builder() -> ProcessBuilder {
        ProcessBuilder::default()
    }

    /// Begins to describe a thread that does a job in every `period`, from 10 µs to 24 h. Its name
    /// has 1 to 15 bytes.
    pub fn periodic(&self, name: &str, period: Nanos) -> ThreadBuilder<Periodic> {
        ThreadBuilder::new(self.clone(), name, Periodic::new(period))
    }

    /// Begins to describe a thread that does a job for every event of `source`. Its name has 1 to
    /// 15 bytes.
    pub fn event<S: Source>(&self, name: &str, source: S) -> ThreadBuilder<Event<S>> {
        ThreadBuilder::new(self.clone(), name, Event::new(source))
    }

    /// Takes what happened to the threads since the last call.
    pub fn take_reports(&self) -> Reports {
        self.0.inbox.take()
    }

    /// What the kernel refused to the process; [`Thread::shortfalls`](crate::Thread::shortfalls)
    /// has that of each thread.
    pub fn shortfalls(&self) -> &[Shortfall] {
        &self.0.shortfalls
    }

    pub(crate) fn supervision(&self) -> Option<Supervision> {
        self.0.supervision
    }

    pub(crate) fn locks_memory(&self) -> bool {
        self.0.locks_memory
    }

    pub(crate) fn inbox(&self) -> Arc<Inbox> {
        Arc::clone(&self.0.inbox)
    }
}
