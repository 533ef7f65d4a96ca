//! Why a quantum ended.

use std::fmt;

use serde::{Deserialize, Serialize};
use tactus_model::recording::{Priority, SleepingCall, TaskState};

use crate::machine::{Leaving, Quantum};

/// Why a thread left its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "kebab-case")]
pub enum End {
    /// It went to sleep until something wakes it.
    Slept {
        /// The system call it slept in; `None` if that was not recorded.
        call: Option<SleepingCall>,
    },
    /// It waits for the kernel or a device in uninterruptible sleep.
    Blocked,
    /// A thread of a more urgent class took its place: a real-time or deadline
    /// thread with a higher priority.
    PreemptedByPriority,
    /// A thread that woke during the quantum took its place.
    PreemptedByWoken,
    /// The tick found that other threads had waited long enough.
    TickExpiry,
    /// Another thread took its place; the events do not show why.
    Preempted,
    /// The scheduler moved it to another CPU while it ran.
    Migrated,
    /// It yielded the CPU and could have gone on (sched_yield(2)).
    Yielded,
    /// A signal or a tracer stopped it.
    Stopped,
    /// It ended.
    Exited,
}

impl End {
    /// Why `quantum` ended as it did.
    ///
    /// `by_tick` says whether the thread was asked to reschedule in the tick, and
    /// `call` is the system call it was in. If a thread of the kernel's stopper class
    /// ended the quantum, the end counts as preemption by priority; only the caller can
    /// see whether the stopper then moved the thread.
    pub(super) fn of(
        quantum: &Quantum,
        leaving: &Leaving,
        by_tick: bool,
        call: Option<SleepingCall>,
    ) -> Self {
        let state = leaving.state;
        if state.is_dead() {
            return Self::Exited;
        }
        if state.is_stopped() {
            return Self::Stopped;
        }
        if !state.is_runnable() {
            return match state.0 & 0xff == TaskState::UNINTERRUPTIBLE.0 {
                true => Self::Blocked,
                false => Self::Slept { call },
            };
        }
        let was_made_to = state == TaskState::PREEMPTED || leaving.asked.is_some();
        if is_more_urgent(leaving.next_priority, quantum.priority) {
            Self::PreemptedByPriority
        } else if by_tick {
            Self::TickExpiry
        } else if was_made_to && leaving.next_woken.is_some_and(|woken| woken >= quantum.from) {
            Self::PreemptedByWoken
        } else if was_made_to {
            Self::Preempted
        } else {
            Self::Yielded
        }
    }
}

/// Whether the class of priority `next` alone puts it before priority `current`; nice
/// values of ordinary threads are weights, not ranks.
fn is_more_urgent(next: Priority, current: Priority) -> bool {
    const FIRST_ORDINARY: i16 = 100;
    next.0 < FIRST_ORDINARY && next < current
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slept { call: Some(call) } => write!(f, "slept in {call}"),
            Self::Slept { call: None } => f.write_str("slept"),
            Self::Blocked => f.write_str("blocked in the kernel"),
            Self::PreemptedByPriority => f.write_str("preempted by a higher priority"),
            Self::PreemptedByWoken => f.write_str("preempted by a thread that woke"),
            Self::TickExpiry => f.write_str("ended by the tick"),
            Self::Preempted => f.write_str("preempted by another thread"),
            Self::Migrated => f.write_str("moved to another CPU"),
            Self::Yielded => f.write_str("yielded"),
            Self::Stopped => f.write_str("stopped"),
            Self::Exited => f.write_str("exited"),
        }
    }
}
