//! Where one copy works: what it is given, and how it says what it has done.

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
use crate::order::{Companion, News, TOLD_WHY, WorkerAnswer, WorkerOrder};
use crate::surroundings::Surroundings;

/// The place of one copy; shared by its threads.
#[derive(Debug)]
pub(crate) struct Site {
    order: WorkerOrder,
    /// What the copy is called.
    program: &'static str,
    counters: Counters,
    announced: AtomicBool,
    missing: Mutex<Vec<NotGranted>>,
}

impl Site {
    /// Takes the place that `order` describes.
    pub(crate) fn new(order: &WorkerOrder, missing: Vec<NotGranted>) -> Result<Self, LoadError> {
        let counters = Counters::inherit(order.task.counters, order.task.total())
            .during("find the counters of the load")?;
        // What the copy starts has no business with them.
        counters.set_inheritable(false).during("keep the counters of the load")?;
        Ok(Self {
            order: order.clone(),
            program: loads::program(&order.task.load_of(order.copy).kind),
            counters,
            announced: AtomicBool::new(false),
            missing: Mutex::new(missing),
        })
    }

    /// A path for a temporary file of this copy.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.path_of(self.order.copy, name)
    }

    fn path_of(&self, copy: u32, name: &str) -> PathBuf {
        self.directory().join(format!("{copy}-{name}"))
    }

    /// The directory of the load, which its copies share.
    pub(crate) fn directory(&self) -> &Path {
        &self.order.directory
    }

    /// How many copies there are of all loads that run side by side, this one included.
    pub(crate) fn copies(&self) -> u32 {
        self.order.task.total()
    }

    /// Where the display listens that runs beside this copy, if there is one.
    pub(crate) fn display(&self) -> Option<PathBuf> {
        let display = LoadKind::Builtin(BuiltinLoad::Display);
        let (_, copies) = self.order.task.parts().find(|(load, _)| load.kind == display)?;
        Some(self.path_of(copies.start, "display"))
    }

    /// Whether this copy, a display, is the one that the clients beside it choose.
    pub(crate) fn display_has_clients(&self) -> bool {
        let has_clients = self.order.task.parts().any(|(load, _)| loads::draws(&load.kind));
        has_clients && self.display() == Some(self.path("display"))
    }

    /// What a process is told that belongs to this copy.
    pub(crate) fn order_for(&self, companion: Companion) -> WorkerOrder {
        self.order.for_companion(companion)
    }

    /// Where the load runs.
    pub(crate) fn surroundings(&self) -> Surroundings {
        self.order.task.surroundings
    }

    /// The number of this copy, counted from 0.
    pub(crate) fn copy(&self) -> u32 {
        self.order.copy
    }

    /// What holds the load together.
    pub(crate) fn containment(&self) -> Containment {
        self.order.containment
    }

    /// Random numbers, other ones for each copy and the same ones in each run.
    pub(crate) fn random(&self) -> SplitMix64 {
        SplitMix64::new(u64::from(self.order.copy) + 1)
    }

    /// Notes something that was not granted; to be said before the first operation is done.
    pub(crate) fn shortfall(&self, shortfall: Shortfall) {
        let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        missing.push(NotGranted::Known(shortfall));
    }

    /// Counts what was done. The first operation tells the keeper that this copy works.
    pub(crate) fn did(&self, operations: u64, bytes: u64) {
        self.counters.copy(self.order.copy).add(operations, bytes);
        if operations > 0 && !self.announced.load(Ordering::Relaxed) {
            self.announce();
        }
    }

    /// Counts something else, by its number among those that the load's measure lists.
    pub(crate) fn did_other(&self, number: usize, count: u64) {
        self.counters.copy(self.order.copy).add_other(number, count);
    }

    /// Tells the keeper that this copy works, where operations cannot be counted.
    pub(crate) fn announce(&self) {
        if self.announced.swap(true, Ordering::Relaxed) {
            return;
        }
        self.counters.copy(self.order.copy).set_state(State::Running);
        let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        self.tell(News::Running { missing: std::mem::take(&mut *missing) });
    }

    /// Tells the keeper why this copy does not work any more.
    pub(crate) fn tell_end(&self, error: LoadError) {
        self.tell(News::Failed(error));
    }

    /// Ends this copy, which has told why, with all its threads, whatever they are doing.
    pub(crate) fn leave(&self) -> ! {
        std::process::exit(TOLD_WHY)
    }

    fn tell(&self, news: News) {
        // Without a keeper there is nobody left to tell, and the death signal is on its way.
        let _ = tactus_wire::answers().write(&WorkerAnswer { copy: self.order.copy, news });
    }

    /// Runs `work` in a thread of its own, for good; when it fails, so does the copy.
    ///
    /// The thread is named after the load and its `role` in it, as `net/sender`.
    pub(crate) fn spawn(
        &'static self,
        role: &str,
        work: impl FnOnce() -> Result<std::convert::Infallible, LoadError> + Send + 'static,
    ) -> Result<(), LoadError> {
        // The threads of a load use little of their stacks, and there may be many.
        const STACK: usize = 128 << 10;
        // A name has its limit, and the role tells a program's threads apart.
        let room = NAME_MAX.saturating_sub(role.len() + 1);
        let name = format!("{:.room$}/{role}", self.program);
        let started = std::thread::Builder::new().stack_size(STACK).spawn(move || {
            // By a wrong name it works all the same.
            let _ = thread::set_name(&name);
            let Err(error) = work();
            self.tell_end(error);
            self.leave()
        });
        started.map(drop).during("start a thread").map_err(|error| {
            error.hint("ask for fewer copies, or raise the limit on processes (`ulimit -u`)")
        })
    }
}
