//! Threads as they appear in the scheduler's events.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::policy::RealtimePriority;

/// The kernel's thread number (`pid` in its events, the thread id of gettid(2)).
///
/// The idle threads of all CPUs share the number 0.
#[doc(alias = "pid")]
#[doc(alias = "tid")]
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct ThreadId(pub i32);

impl ThreadId {
    /// The idle thread of any CPU.
    #[doc(alias = "swapper")]
    pub const IDLE: Self = Self(0);

    /// Whether this is an idle thread.
    pub const fn is_idle(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The longest name of a thread in the kernel, in bytes (`TASK_COMM_LEN` less its end).
#[doc(alias = "TASK_COMM_LEN")]
pub const THREAD_NAME_MAX: usize = 15;

/// Whether `name`, which the kernel may have cut, is that of a thread or program called `wanted`.
pub fn is_thread_name(name: &str, wanted: &str) -> bool {
    name == wanted || wanted.as_bytes().get(..THREAD_NAME_MAX) == Some(name.as_bytes())
}

/// A process number (the thread group id of getpid(2)).
#[doc(alias = "tgid")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProcessId(pub i32);

impl fmt::Display for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The kernel's priority of a thread: a lower number runs first.
///
/// Below 0: deadline; 0 to 98: real-time, 99 minus the priority of sched(7); 100 to 139:
/// time-sharing, 120 plus the nice value (`include/linux/sched/prio.h`). A thread that holds a
/// priority-inheriting lock shows its inherited priority.
#[doc(alias = "prio")]
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Priority(pub i16);

/// A [`Priority`] in the terms of sched(7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PriorityClass {
    /// `SCHED_DEADLINE`, or the kernel's own stopper threads, which have the same priority.
    Deadline,
    /// `SCHED_FIFO` or `SCHED_RR`; the events do not distinguish them.
    Realtime(RealtimePriority),
    /// Time-sharing of any kind (`SCHED_OTHER`, `SCHED_BATCH`, `SCHED_IDLE`).
    Ordinary {
        /// −20 (most favoured) to 19.
        nice: i8,
    },
}

impl Priority {
    /// Converts the value of an event; a value outside the kernel's range is clamped.
    pub fn from_kernel(prio: i64) -> Self {
        Self(prio.clamp(-1, 139) as i16)
    }

    /// Whether it belongs to a time-sharing class.
    pub fn is_ordinary(self) -> bool {
        matches!(self.class(), PriorityClass::Ordinary { .. })
    }

    /// The scheduling class that the priority stands for.
    pub fn class(self) -> PriorityClass {
        match self.0 {
            ..0 => PriorityClass::Deadline,
            // 99 is not used by any thread; it would be real-time priority 0.
            prio @ 0..100 => RealtimePriority::new((99 - prio) as u8)
                .map_or(PriorityClass::Ordinary { nice: -20 }, PriorityClass::Realtime),
            prio => PriorityClass::Ordinary { nice: (prio.min(139) - 120) as i8 },
        }
    }
}

impl fmt::Display for PriorityClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deadline => f.pad("deadline"),
            Self::Realtime(priority) => f.pad(&format!("rt:{}", priority.get())),
            Self::Ordinary { nice: 0 } => f.pad("other"),
            Self::Ordinary { nice } => f.pad(&format!("other:{nice}")),
        }
    }
}

/// The state of a thread as it leaves the CPU (`prev_state` of `sched_switch`).
///
/// The bits are those of `TASK_REPORT` in `include/linux/sched.h`.
#[doc(alias = "prev_state")]
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct TaskState(pub u16);

impl TaskState {
    /// Preempted while runnable.
    pub const PREEMPTED: Self = Self(0x100);
    /// Asleep; a signal can wake it.
    pub const SLEEPING: Self = Self(0x01);
    /// Asleep; only the kernel can wake it.
    pub const UNINTERRUPTIBLE: Self = Self(0x02);
    /// Stopped by a signal.
    pub const STOPPED: Self = Self(0x04);
    /// Has exited and is gone (`EXIT_DEAD`).
    pub const DEAD: Self = Self(0x10);
    /// Has exited and was not yet waited for (`EXIT_ZOMBIE`).
    pub const ZOMBIE: Self = Self(0x20);

    /// Converts the value of an event; undefined upper bits are dropped.
    pub const fn from_kernel(state: i64) -> Self {
        Self((state & 0x1ff) as u16)
    }

    /// Whether the thread was still runnable: it was preempted or yielded.
    pub const fn is_runnable(self) -> bool {
        self.0 == 0 || self.0 & Self::PREEMPTED.0 != 0
    }

    /// Whether a signal or a tracer stopped it.
    pub const fn is_stopped(self) -> bool {
        self.0 & 0x0c != 0
    }

    /// Whether the thread has exited and never comes back.
    pub const fn is_dead(self) -> bool {
        self.0 & (Self::DEAD.0 | Self::ZOMBIE.0) != 0
    }

    /// The state's letter in ps(1) and in the kernel's own output.
    pub const fn letter(self) -> char {
        match self.0 & 0xff {
            0 => 'R',
            state if state & 0x01 != 0 => 'S',
            state if state & 0x02 != 0 => 'D',
            state if state & 0x04 != 0 => 'T',
            state if state & 0x08 != 0 => 't',
            state if state & 0x10 != 0 => 'X',
            state if state & 0x20 != 0 => 'Z',
            state if state & 0x40 != 0 => 'P',
            _ => 'I',
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_class(prio: i64, shown: &str) {
        assert_eq!(Priority::from_kernel(prio).class().to_string(), shown, "{prio}");
    }

    #[test]
    fn the_kernels_priority_is_shown_in_the_terms_of_sched() {
        check_class(-1, "deadline");
        check_class(9, "rt:90");
        check_class(98, "rt:1");
        check_class(120, "other");
        check_class(139, "other:19");
        check_class(100, "other:-20");
        check_class(99_999, "other:19");
    }

    #[test]
    fn a_preempted_thread_is_runnable_and_a_sleeping_one_is_not() {
        assert!(TaskState::from_kernel(0).is_runnable());
        assert!(TaskState::from_kernel(0x100).is_runnable());
        assert!(!TaskState::SLEEPING.is_runnable());
        assert_eq!(TaskState::PREEMPTED.letter(), 'R');
        assert_eq!(TaskState::UNINTERRUPTIBLE.letter(), 'D');
    }
}
