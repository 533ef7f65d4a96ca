//! Waits, told as soon as they are over.

use tactus_model::recording::{About, Event, EventKind, Lost, NameId, Priority, ThreadId};
use tactus_model::time::{Instant, Monotonic, Nanos};

use crate::machine::{Absence, Machine, Observer};

/// A thread's wait for a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The thread.
    pub thread: ThreadId,
    /// Its name, as the switch to it told.
    pub name: NameId,
    /// Its priority, likewise.
    pub priority: Priority,
    /// From when it ought to have run.
    pub from: Instant<Monotonic>,
    /// When it came to a processor.
    pub to: Instant<Monotonic>,
}

impl Wait {
    /// How long it was.
    pub fn length(&self) -> Nanos {
        self.to - self.from
    }

    /// The wait at the end of an absence that `event` ended; none where it is not
    /// known when it began or ended, or it began before `void_until`.
    pub(super) fn of(
        absence: &Absence,
        event: &Event,
        void_until: Instant<Monotonic>,
    ) -> Option<Self> {
        let EventKind::Switch { next_name, next_priority, .. } = event.kind else { return None };
        // A wait whose end is not told has no length.
        if absence.untold_since.is_some() {
            return None;
        }
        let from = absence.ready_at().filter(|from| *from >= void_until)?;
        let (thread, to) = (absence.thread, absence.back_at);
        Some(Self { thread, name: next_name, priority: next_priority, from, to })
    }
}

/// Tells of every wait while events come in, as soon as it is over.
#[derive(Debug)]
pub struct WaitWatch {
    machine: Machine,
    /// What began before this instant may have been several waits.
    void_until: Instant<Monotonic>,
}

impl WaitWatch {
    /// Makes the watch for a recording described by `about`.
    pub fn new(about: &About) -> Self {
        Self { machine: Machine::new(about), void_until: about.started }
    }

    /// Takes the next event; gives the wait that it ends, if it ends one.
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
