//! The place of one copy: what it is given, and how it reports its progress.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use tactus_model::load::{BuiltinLoad, LoadKind};
use tactus_model::random::SplitMix64;
use tactus_model::result::Shortfall;
use tactus_sys::thread::{self, NAME_MAX};

use crate::containment::Containment;
use crate::counters::{Counters, State};
use crate::error::{During, LoadError};
use crate::loads;
use crate::not_granted::NotGranted;
use crate::request::{Companion, News, REASON_SENT, WorkerRequest, WorkerResponse};
use crate::surroundings::Surroundings;

/// The place of one copy; shared by its threads.
#[derive(Debug)]
pub(crate) struct Site {
    request: WorkerRequest,
    /// The name of the copy's process.
    program: &'static str,
    counters: Counters,
    announced: AtomicBool,
    missing: Mutex<Vec<NotGranted>>,
}

impl Site {
    /// The place that `request` describes.
    pub(crate) fn new(
        request: &WorkerRequest,
        missing: Vec<NotGranted>,
    ) -> Result<Self, LoadError> {
        let counters = Counters::inherit(request.task.counters, request.task.total())
            .during("find the counters of the load")?;
        // Processes that the copy starts must not inherit the counters.
        counters.set_inheritable(false).during("keep the counters of the load")?;
        Ok(Self {
            request: request.clone(),
            program: loads::program(&request.task.load_of(request.copy).kind),
            counters,
            announced: AtomicBool::new(false),
            missing: Mutex::new(missing),
        })
    }

    /// A path for a temporary file of this copy.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.path_of(self.request.copy, name)
    }

    fn path_of(&self, copy: u32, name: &str) -> PathBuf {
        self.directory().join(format!("{copy}-{name}"))
    }

    /// The directory of the load, which its copies share.
    pub(crate) fn directory(&self) -> &Path {
        &self.request.directory
    }

    /// The number of copies of all loads that run side by side, this copy included.
    pub(crate) fn copies(&self) -> u32 {
        self.request.task.total()
    }

    /// Where the display beside this copy listens, if there is a display.
    pub(crate) fn display(&self) -> Option<PathBuf> {
        let display = LoadKind::Builtin(BuiltinLoad::Display);
        let (_, copies) = self.request.task.parts().find(|(load, _)| load.kind == display)?;
        Some(self.path_of(copies.start, "display"))
    }

    /// Whether this copy, a display, is the display that the clients beside it use.
    pub(crate) fn display_has_clients(&self) -> bool {
        let has_clients = self.request.task.parts().any(|(load, _)| loads::draws(&load.kind));
        has_clients && self.display() == Some(self.path("display"))
    }

    /// The request to a process that belongs to this copy.
    pub(crate) fn request_for(&self, companion: Companion) -> WorkerRequest {
        self.request.for_companion(companion)
    }

    /// Where the load runs.
    pub(crate) fn surroundings(&self) -> Surroundings {
        self.request.task.surroundings
    }

    /// The number of this copy, counted from 0.
    pub(crate) fn copy(&self) -> u32 {
        self.request.copy
    }

    /// What holds the load together.
    pub(crate) fn containment(&self) -> Containment {
        self.request.containment
    }

    /// Random numbers: different for each copy, equal in each run.
    pub(crate) fn random(&self) -> SplitMix64 {
        SplitMix64::new(u64::from(self.request.copy) + 1)
    }

    /// Notes something that was not granted; call it before the first operation is done.
    pub(crate) fn shortfall(&self, shortfall: Shortfall) {
        let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        missing.push(NotGranted::Known(shortfall));
    }

    /// Counts what was done. After the first operation, reports that this copy works.
    pub(crate) fn did(&self, operations: u64, bytes: u64) {
        self.counters.copy(self.request.copy).add(operations, bytes);
        if operations > 0 && !self.announced.load(Ordering::Relaxed) {
            self.announce();
        }
    }

    /// Adds to another counter, given by its index in the load's measure.
    pub(crate) fn did_other(&self, number: usize, count: u64) {
        self.counters.copy(self.request.copy).add_other(number, count);
    }

    /// Reports to the supervisor that this copy works, for loads whose operations cannot be
    /// counted.
    pub(crate) fn announce(&self) {
        if self.announced.swap(true, Ordering::Relaxed) {
            return;
        }
        self.counters.copy(self.request.copy).set_state(State::Running);
        let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        self.send(News::Running { missing: std::mem::take(&mut *missing) });
    }

    /// Reports to the supervisor why this copy does not work any more.
    pub(crate) fn send_failure(&self, error: LoadError) {
        self.send(News::Failed(error));
    }

    /// Ends this copy, which has sent its reason, with all its threads.
    pub(crate) fn leave(&self) -> ! {
        std::process::exit(REASON_SENT)
    }

    fn send(&self, news: News) {
        // If the supervisor has ended, the death signal is on its way.
        let _ = tactus_wire::responses().write(&WorkerResponse { copy: self.request.copy, news });
    }

    /// Runs `work` in a new thread, without end; when it fails, so does the copy.
    ///
    /// The thread is named after the load and its `role` in it, such as `net/sender`.
    pub(crate) fn spawn(
        &'static self,
        role: &str,
        work: impl FnOnce() -> Result<std::convert::Infallible, LoadError> + Send + 'static,
    ) -> Result<(), LoadError> {
        // The threads of a load use little of their stacks, and there may be many.
        const STACK: usize = 128 << 10;
        // A name is limited; the role, which distinguishes a program's threads, is kept whole.
        let room = NAME_MAX.saturating_sub(role.len() + 1);
        let name = format!("{:.room$}/{role}", self.program);
        let started = std::thread::Builder::new().stack_size(STACK).spawn(move || {
            // A failure leaves only a wrong name.
            let _ = thread::set_name(&name);
            let Err(error) = work();
            self.send_failure(error);
            self.leave()
        });
        started.map(drop).during("start a thread").map_err(|error| {
            error.hint("use fewer copies, or raise the limit on processes (`ulimit -u`)")
        })
    }
}
