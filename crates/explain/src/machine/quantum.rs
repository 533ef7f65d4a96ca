//! Effective quanta: a thread's time on a processor without a switch.

use tactus_model::recording::{NameId, Priority, TaskState, ThreadId};
use tactus_model::time::{Instant, Monotonic, Nanos};

use super::span::Activity;

/// The time from a thread's coming to a processor to its leaving it, for whatever reason.
///
/// The *effective quantum* of Etsion, Tsafir and Feitelson (*Effects of clock
/// resolution on the scheduling of interactive and soft real-time processes*,
/// 2003, section 4). Interrupts that took its time are in it. The quanta of a
/// processor follow each other without gap or overlap from the start of the
/// recording to its end, except where events were lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantum {
    /// The processor.
    pub cpu: u32,
    /// The thread.
    pub thread: ThreadId,
    /// The thread's name.
    pub name: NameId,
    /// The thread's priority.
    pub priority: Priority,
    /// From when.
    pub from: Instant<Monotonic>,
    /// Until when.
    pub to: Instant<Monotonic>,
    /// Whether the switch to the thread was recorded; if not, the quantum may
    /// have begun at another time.
    pub began: bool,
    /// Where the switch to the thread was not recorded and all before it was: when it
    /// had come at the latest. It came between `from` and this.
    pub began_by: Option<Instant<Monotonic>>,
    /// How it ended; none where no switch was recorded that ended it.
    pub left: Option<Leaving>,
}

impl Quantum {
    /// How long it was, so far as it was recorded.
    pub fn length(&self) -> Nanos {
        self.to - self.from
    }

    /// Whether both its ends were recorded.
    pub const fn is_whole(&self) -> bool {
        self.began && self.left.is_some()
    }
}

/// How a thread left a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaving {
    /// In what state.
    pub state: TaskState,
    /// Who came in its place.
    pub next: ThreadId,
    /// The priority of who came.
    pub next_priority: Priority,
    /// When who came had been woken; none where it had not slept.
    pub next_woken: Option<Instant<Monotonic>>,
    /// What the processor did when the thread was first seen to be asked to give
    /// way; none where it was not asked.
    pub asked: Option<Activity>,
}
