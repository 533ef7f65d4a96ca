//! What a CPU does, and when.

use tactus_model::recording::{
    ChainId, Event, FunctionId, InterruptVector, NameId, Priority, Softirq, ThreadId,
};
use tactus_model::time::{Instant, Monotonic, Nanos};

/// What a CPU does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// Nothing: the CPU is idle.
    Idle {
        /// The number of the idle state; `None` while the idle thread runs on its way in
        /// or out.
        state: Option<u32>,
    },
    /// The CPU runs its thread.
    Thread,
    /// The CPU runs its thread, which frees memory before it gets some (direct reclaim).
    #[doc(alias = "mm_vmscan_direct_reclaim_begin")]
    Reclaim,
    /// The CPU serves an interrupt of its own.
    Vector(InterruptVector),
    /// The CPU serves a device.
    Irq {
        /// The interrupt's number.
        irq: i32,
        /// The name of the handler.
        name: NameId,
    },
    /// The CPU serves a softirq.
    Softirq(Softirq),
    /// The CPU runs the function of a high-resolution timer.
    Timer {
        /// The function.
        function: FunctionId,
    },
    /// The CPU runs the function of a jiffies timer.
    JiffyTimer {
        /// The function.
        function: FunctionId,
    },
}

impl Activity {
    /// Whether the CPU does nothing.
    pub const fn is_idle(self) -> bool {
        matches!(self, Self::Idle { .. })
    }

    /// Whether the CPU runs its thread.
    pub const fn is_thread(self) -> bool {
        matches!(self, Self::Thread | Self::Reclaim)
    }

    /// Whether this is a whole interrupt or softirq, not a part of one.
    pub const fn is_entry(self) -> bool {
        matches!(self, Self::Vector(_) | Self::Irq { .. } | Self::Softirq(_))
    }
}

/// An activity that is open on top of the current thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) activity: Activity,
    pub(super) from: Instant<Monotonic>,
    pub(super) chain: Option<ChainId>,
    /// Whether it runs in hard interrupt context.
    pub(super) hard: bool,
}

impl Span {
    pub(super) const fn of(event: &Event, at: Instant<Monotonic>, activity: Activity) -> Self {
        Self { activity, from: at, chain: event.chain, hard: event.context.in_hardirq() }
    }
}

/// A stretch of a CPU's time with one activity.
///
/// The slices of a CPU follow each other without gaps or overlaps, from its first event
/// to its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The CPU.
    pub cpu: u32,
    /// When it began.
    pub from: Instant<Monotonic>,
    /// When it ended.
    pub to: Instant<Monotonic>,
    /// The activity: the innermost open one.
    pub activity: Activity,
    /// The current thread, also while an interrupt took its time.
    pub thread: ThreadId,
    /// The thread's name.
    pub name: NameId,
    /// The thread's priority; the highest if it changed at an unknown time.
    pub priority: Priority,
    /// Its lower priority: before it was raised, or without what it inherits.
    pub base: Option<Priority>,
    /// When the thread came to the CPU.
    pub thread_since: Instant<Monotonic>,
    /// Whether the thread had been asked to reschedule.
    pub need_resched: bool,
    /// Where in the kernel the slice ended, if call chains were recorded.
    pub end_chain: Option<ChainId>,
}

impl Slice {
    /// The duration.
    pub fn length(&self) -> Nanos {
        self.to - self.from
    }
}
