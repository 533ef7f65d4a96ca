//! Waits, reported as soon as they are over.

use tactus_model::recording::{About, Event, EventKind, Lost, NameId, Priority, ThreadId};
use tactus_model::time::{Instant, Monotonic, Nanos};

use crate::machine::{Absence, Machine, Observer};

/// A runqueue wait: a thread's wait for a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The thread.
    pub thread: ThreadId,
    /// Its name, from the switch to it.
    pub name: NameId,
    /// Its priority, from the same event.
    pub priority: Priority,
    /// When it should have run.
    pub from: Instant<Monotonic>,
    /// When it came to a CPU.
    pub to: Instant<Monotonic>,
}

impl Wait {
    /// The duration of the wait.
    pub fn length(&self) -> Nanos {
        self.to - self.from
    }

    /// The wait at the end of an absence that `event` ended; `None` if its beginning or
    /// end is not known, or if it began before `void_until`.
    pub(super) fn of(
        absence: &Absence,
        event: &Event,
        void_until: Instant<Monotonic>,
    ) -> Option<Self> {
        let EventKind::Switch { next_name, next_priority, .. } = event.kind else { return None };
        // A wait has no duration if the sched_switch event at its end is missing.
        if absence.back_at_min.is_some() {
            return None;
        }
        let from = absence.ready_at().filter(|from| *from >= void_until)?;
        let (thread, to) = (absence.thread, absence.back_at);
        Some(Self { thread, name: next_name, priority: next_priority, from, to })
    }
}

/// Reports every wait while events come in, as soon as the wait is over.
#[derive(Debug)]
pub struct WaitWatch {
    machine: Machine,
    /// A wait that began before this instant may have been several waits.
    void_until: Instant<Monotonic>,
}

impl WaitWatch {
    /// Makes the watch for a recording described by `about`.
    pub fn new(about: &About) -> Self {
        Self { machine: Machine::new(about), void_until: about.started }
    }

    /// Takes the next event; returns the wait that it ends, if any.
    pub fn event(&mut self, event: &Event) -> Option<Wait> {
        let mut ended = Ended(None);
        self.machine.step(event, &mut ended);
        Wait::of(&ended.0?, event, self.void_until)
    }

    /// Takes a loss of events.
    pub fn lost(&mut self, lost: &Lost) {
        self.void_until = self.void_until.max(lost.to);
        self.machine.lose(lost, &mut Ended(None));
    }
}

/// The absence that an event ended.
struct Ended(Option<Absence>);

impl Observer for Ended {
    fn absence(&mut self, absence: &Absence) {
        self.0 = Some(*absence);
    }
}
