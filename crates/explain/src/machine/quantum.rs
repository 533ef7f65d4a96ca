//! Effective quanta: a thread's time on a CPU without a switch.

use tactus_model::recording::{NameId, Priority, TaskState, ThreadId};
use tactus_model::time::{Instant, Monotonic, Nanos};

use super::span::Activity;

/// The time from a thread's arrival on a CPU to its departure, whatever the reason.
///
/// The *effective quantum* of Etsion, Tsafrir and Feitelson (*Effects of clock resolution
/// on the scheduling of interactive and soft real-time processes*, 2003, section 4). It
/// includes interrupts that took the thread's time. The quanta of a CPU follow each other
/// without gaps or overlaps from the start of the recording to its end, except where
/// events were lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantum {
    /// The CPU.
    pub cpu: u32,
    /// The thread.
    pub thread: ThreadId,
    /// The thread's name.
    pub name: NameId,
    /// The thread's priority.
    pub priority: Priority,
    /// When it began.
    pub from: Instant<Monotonic>,
    /// When it ended.
    pub to: Instant<Monotonic>,
    /// Whether the switch to the thread was recorded; if not, the quantum may have
    /// begun at another time.
    pub began: bool,
    /// The latest time at which the thread came, if the sched_switch event is missing
    /// but everything before it was recorded. The thread came between `from` and this
    /// time.
    pub began_by: Option<Instant<Monotonic>>,
    /// How it ended; `None` if no sched_switch event for the end was recorded.
    pub left: Option<Leaving>,
}

impl Quantum {
    /// The recorded duration.
    pub fn length(&self) -> Nanos {
        self.to - self.from
    }

    /// Whether both ends were recorded.
    pub const fn is_whole(&self) -> bool {
        self.began && self.left.is_some()
    }
}

/// How a thread left a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaving {
    /// The state in which it left.
    pub state: TaskState,
    /// The thread that came in its place.
    pub next: ThreadId,
    /// The priority of the next thread.
    pub next_priority: Priority,
    /// When the next thread was woken; `None` if it had not slept.
    pub next_woken: Option<Instant<Monotonic>>,
    /// What the CPU did when the thread was first seen to be asked to reschedule;
    /// `None` if it was not asked.
    pub asked: Option<Activity>,
}
