//! What a replay reports to its observers.

use tactus_model::recording::{ChainId, Priority, TaskState, ThreadId};
use tactus_model::time::{Instant, Monotonic, Nanos};

use super::errand::Errand;
use super::quantum::Quantum;
use super::span::Slice;
use super::thread::{Waker, Waking};
use super::timer::{Armed, TimerFire};

/// Gives every method of [`Observer`] a default that ignores it, and two observers the method of
/// one: neither can be forgotten.
macro_rules! observer {
    (
        $(#[$about:meta])*
        pub trait Observer {
            $($(#[$doc:meta])* fn $name:ident(&mut self $(, $argument:ident: $type:ty)*);)*
        }
    ) => {
        $(#[$about])*
        #[expect(unused_variables, reason = "the defaults ignore their arguments")]
        pub trait Observer {
            $($(#[$doc])* fn $name(&mut self $(, $argument: $type)*) {})*
        }

        /// Both get everything; the first hears it first.
        impl<A: Observer, B: Observer> Observer for (&mut A, &mut B) {
            $(fn $name(&mut self $(, $argument: $type)*) {
                self.0.$name($($argument),*);
                self.1.$name($($argument),*);
            })*
        }
    };
}

observer! {
    /// Draws a conclusion during the replay; the default methods ignore everything. A pair of
    /// observers is an observer.
    ///
    /// The replay reports everything when it is complete, so in the order of ends.
    pub trait Observer {
        /// A CPU did one thing from here to there.
        fn slice(&mut self, slice: Slice);
        /// The priority of a thread changed while it was on a CPU; its slices show only the one
        /// with which it came.
        fn reranked(&mut self, reranked: Reranked);
        /// A thread left a CPU, or nothing more is known about its stay.
        fn quantum(&mut self, quantum: &Quantum);
        /// The current thread of a CPU is not known from `from` to `to`.
        fn unknown(&mut self, cpu: u32, from: Instant<Monotonic>, to: Instant<Monotonic>);
        /// A thread came back to a CPU.
        fn absence(&mut self, absence: &Absence);
        /// A watched thread was woken while it still ran, so it need not leave.
        fn woken_awake(&mut self, watched: u16, waking: &Waking);
        /// A high-resolution timer began to be served.
        fn fired(&mut self, fire: &TimerFire);
        /// A high-resolution timer was cancelled before it was served.
        fn cancelled(&mut self, armed: &Armed);
        /// A high-resolution timer was served late.
        fn overdue(&mut self, overdue: Overdue);
        /// A CPU had no event for long.
        fn silence(&mut self, silence: Silence);
        /// A CPU was charged less time than passed.
        fn steal(&mut self, steal: Steal);
        /// A thread went to the queue of another CPU.
        fn migration(&mut self, migration: Migration);
        /// A thread inherited a priority, or returned to its own.
        fn inheritance(&mut self, change: PriorityChange);
        /// A watched thread had a page fault.
        fn fault(&mut self, fault: Fault);
        /// A watched thread is on a CPU, but the sched_switch event is missing, and nothing
        /// shows when it came: its wakeup is missing too.
        fn unaccounted(&mut self, watched: u16);
        /// A watched thread is about to return from the call it slept in.
        fn call_exit(&mut self, watched: u16, at: Instant<Monotonic>);
    }
}

/// The time between a thread's departure from a CPU and its return to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Absence {
    /// The thread.
    pub thread: ThreadId,
    /// The priority when it left.
    pub priority: Priority,
    /// The number of the watched thread; `None` if the thread is not watched.
    pub watched: Option<u16>,
    /// When it left.
    pub left_at: Instant<Monotonic>,
    /// The CPU it left.
    pub left_cpu: u32,
    /// The state in which it left.
    pub left_state: TaskState,
    /// Where in the kernel it left, if call chains were recorded.
    pub left_chain: Option<ChainId>,
    /// What it was doing in the kernel.
    pub errand: Errand,
    /// How it was woken; `None` if it was runnable when it left.
    pub waking: Option<Waking>,
    /// When it was queued and on which CPU's runqueue, if that was recorded.
    pub queued: Option<(Instant<Monotonic>, u32)>,
    /// When it came back; the end of time while it is absent.
    pub back_at: Instant<Monotonic>,
    /// The CPU it came back to.
    pub back_cpu: u32,
    /// The earliest instant at which it can have come back if the sched_switch event is
    /// missing. It came between this instant and `back_at`, the time of its first event
    /// there.
    pub back_at_min: Option<Instant<Monotonic>>,
}

impl Absence {
    /// Whether the thread had given up the CPU itself.
    pub const fn slept(&self) -> bool {
        !self.left_state.is_runnable()
    }

    /// Whether the thread came back.
    pub fn is_over(&self) -> bool {
        self.back_at < Instant::from_nanos(u64::MAX)
    }

    /// Since when the thread should have run: since it left if it did not sleep; since
    /// its timer was due if a timer of its own woke it, without the slack that the kernel
    /// may add; otherwise since its wakeup. `None` if it slept and there is no wakeup event.
    pub fn ready_at(&self) -> Option<Instant<Monotonic>> {
        if !self.slept() {
            return Some(self.left_at);
        }
        let waking = self.waking?;
        let due = match waking.by {
            Waker::Timer(fire) if fire.armed.is_some_and(|armed| armed.by == self.thread) => {
                fire.soft_expires()
            }
            _ => None,
        };
        // It may have been woken, and its timer may have been due, while it was about
        // to leave.
        Some(due.unwrap_or(waking.at).min(waking.at).max(self.left_at))
    }
}

/// A CPU without events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silence {
    /// The CPU.
    pub cpu: u32,
    /// The last event before the silence.
    pub from: Instant<Monotonic>,
    /// The first event after the silence.
    pub to: Instant<Monotonic>,
}

/// A timer that was served late: proof that its CPU should have had events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overdue {
    /// The CPU.
    pub cpu: u32,
    /// When the timer began to be served.
    pub served: Instant<Monotonic>,
    /// The lateness.
    pub late: Nanos,
}

/// Time that passed on a CPU and was not charged to the current thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steal {
    /// The CPU.
    pub cpu: u32,
    /// The thread that was charged.
    pub thread: ThreadId,
    /// When the thread was last charged before, or came.
    pub from: Instant<Monotonic>,
    /// When it was charged.
    pub to: Instant<Monotonic>,
    /// The time that was not charged, without interrupts and softirqs.
    pub amount: Nanos,
}

/// A turn of a thread on a CPU in which its priority changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reranked {
    /// The CPU.
    pub cpu: u32,
    /// When the thread came to the CPU.
    pub since: Instant<Monotonic>,
    /// The priority of its slices, see [`Slice::priority`].
    pub priority: Priority,
    /// See [`Slice::base`].
    pub base: Option<Priority>,
}

/// A thread that moves to another CPU's runqueue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Migration {
    /// When.
    pub at: Instant<Monotonic>,
    /// The thread.
    pub thread: ThreadId,
    /// The target CPU.
    pub to_cpu: u32,
}

/// A thread inherits the priority of one that waits for its lock, or returns to its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriorityChange {
    /// When.
    pub at: Instant<Monotonic>,
    /// The thread.
    pub thread: ThreadId,
    /// Its priority from then on.
    pub priority: Priority,
}

/// A page fault of a watched thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The number of the watched thread.
    pub watched: u16,
    /// When it began to be served.
    pub at: Instant<Monotonic>,
}
