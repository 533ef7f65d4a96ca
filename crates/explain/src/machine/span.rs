//! What a processor does at a time, and from when to when.

use tactus_model::recording::{
    ChainId, Event, FunctionId, InterruptVector, NameId, Priority, Softirq, ThreadId,
};
use tactus_model::time::{Instant, Monotonic, Nanos};

/// What a processor does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// Nothing: it is idle, in the state of this number where it is in one.
    Idle {
        /// The idle state's number; none while the idle thread runs on its way in or out.
        state: Option<u32>,
    },
    /// It runs its thread.
    Thread,
    /// It serves an interrupt of the processor itself.
    Vector(InterruptVector),
    /// It serves a device.
    Irq {
        /// The interrupt's number.
        irq: i32,
        /// Who handles it.
        name: NameId,
    },
    /// It serves a softirq.
    Softirq(Softirq),
    /// It runs the function of a high-resolution timer.
    Timer {
        /// What is called.
        function: FunctionId,
    },
    /// It runs the function of a timer of jiffies.
    JiffyTimer {
        /// What is called.
        function: FunctionId,
    },
}

impl Activity {
    /// Whether it is the serving of an interrupt or a softirq as a whole, not a
    /// part of one.
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
    /// Whether it runs in hardware-interrupt context.
    pub(super) hard: bool,
}

impl Span {
    pub(super) const fn of(event: &Event, at: Instant<Monotonic>, activity: Activity) -> Self {
        Self { activity, from: at, chain: event.chain, hard: event.context.in_hardirq() }
    }
}

/// A stretch of a processor's time in which it did one thing.
///
/// The slices of a processor follow each other without gap or overlap, from
/// its first event to its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The processor.
    pub cpu: u32,
    /// From when.
    pub from: Instant<Monotonic>,
    /// Until when.
    pub to: Instant<Monotonic>,
    /// What it did: the innermost of what was open.
    pub activity: Activity,
    /// The thread that was current, also under an interrupt that took its time.
    pub thread: ThreadId,
    /// The thread's name.
    pub name: NameId,
    /// The thread's priority.
    pub priority: Priority,
    /// When the thread had come to the processor.
    pub thread_since: Instant<Monotonic>,
    /// Whether the thread had been asked to give way.
    pub need_resched: bool,
    /// Where in the kernel the slice ended, when call chains were recorded.
    pub end_chain: Option<ChainId>,
}

impl Slice {
    /// How long it was.
    pub fn length(&self) -> Nanos {
        self.to - self.from
    }
}
