//! What a replay tells to whoever draws conclusions from it.

use tactus_model::recording::{ChainId, Priority, TaskState, ThreadId};
use tactus_model::time::{Instant, Monotonic, Nanos};

use super::quantum::Quantum;
use super::span::Slice;
use super::thread::{Waker, Waking};
use super::timer::TimerFire;

/// A conclusion that is drawn during the replay; by default it ignores everything.
///
/// Whatever is told is told once it is complete, so in the order of ends.
#[expect(unused_variables, reason = "the defaults ignore what they are told")]
pub trait Observer {
    /// A processor did one thing from here to there.
    fn slice(&mut self, slice: Slice) {}
    /// A thread left a processor, or nothing more is known of its stay.
    fn quantum(&mut self, quantum: &Quantum) {}
    /// It is not known who ran on a processor from here to there.
    fn unknown(&mut self, cpu: u32, from: Instant<Monotonic>, to: Instant<Monotonic>) {}
    /// A thread came back to a processor.
    fn absence(&mut self, absence: &Absence) {}
    /// A watched thread was woken while it still ran, so that it need not leave.
    fn woken_awake(&mut self, watched: u16, waking: &Waking) {}
    /// A high-resolution timer began to be served.
    fn fired(&mut self, fire: &TimerFire) {}
    /// A high-resolution timer was served late.
    fn overdue(&mut self, overdue: Overdue) {}
    /// A processor had no event for long.
    fn silence(&mut self, silence: Silence) {}
    /// A processor charged less time than went by.
    fn steal(&mut self, steal: Steal) {}
    /// A thread went to the queue of another processor.
    fn migration(&mut self, migration: Migration) {}
    /// A watched thread touched a page that was not there.
    fn fault(&mut self, fault: Fault) {}
    /// A watched thread is on a processor, no event told that it came, and nothing
    /// shows when: its wakeup is missing too.
    fn unaccounted(&mut self, watched: u16) {}
    /// A watched thread is about to return from the call it slept in.
    fn call_exit(&mut self, watched: u16, at: Instant<Monotonic>) {}
}

/// The time between a thread's leaving a processor and its coming to one again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Absence {
    /// The thread.
    pub thread: ThreadId,
    /// Its priority when it left.
    pub priority: Priority,
    /// Its number, when it is watched.
    pub watched: Option<u16>,
    /// When it left.
    pub left_at: Instant<Monotonic>,
    /// The processor it left.
    pub left_cpu: u32,
    /// In what state it left.
    pub left_state: TaskState,
    /// Where in the kernel it left, when call chains were recorded.
    pub left_chain: Option<ChainId>,
    /// How it was woken; none when it left while it could run.
    pub waking: Option<Waking>,
    /// When and on which processor's queue it was put, where that was recorded.
    pub queued: Option<(Instant<Monotonic>, u32)>,
    /// When it came back; while it is away, the end of time.
    pub back_at: Instant<Monotonic>,
    /// The processor it came back to.
    pub back_cpu: u32,
    /// Where no event told that it came back: the earliest moment at which it
    /// can have come. It came between this and `back_at`, when it was first heard.
    pub untold_since: Option<Instant<Monotonic>>,
}

impl Absence {
    /// Whether the thread had given up the processor of itself.
    pub const fn slept(&self) -> bool {
        !self.left_state.is_runnable()
    }

    /// Since when the thread ought to run: since it left when it did not sleep, since
    /// the timer was due by which it had itself woken, else since its wakeup; none
    /// where it slept and no event tells of its wakeup.
    pub fn ready_at(&self) -> Option<Instant<Monotonic>> {
        if !self.slept() {
            return Some(self.left_at);
        }
        let waking = self.waking?;
        let due = match waking.by {
            Waker::Timer(fire) if fire.armed.is_some_and(|armed| armed.by == self.thread) => {
                fire.expires()
            }
            _ => None,
        };
        // It may have been woken, and its timer due, while it was about to leave.
        Some(due.unwrap_or(waking.at).min(waking.at).max(self.left_at))
    }
}

/// A processor without events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silence {
    /// The processor.
    pub cpu: u32,
    /// Its last event before.
    pub from: Instant<Monotonic>,
    /// Its first event after.
    pub to: Instant<Monotonic>,
}

/// A timer that was served late: proof that its processor should have been heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overdue {
    /// The processor.
    pub cpu: u32,
    /// When the timer began to be served.
    pub served: Instant<Monotonic>,
    /// How late that was.
    pub late: Nanos,
}

/// Time that went by on a processor and was not charged to the thread that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steal {
    /// The processor.
    pub cpu: u32,
    /// When the thread had been charged before, or had come.
    pub from: Instant<Monotonic>,
    /// When it was charged.
    pub to: Instant<Monotonic>,
    /// How much was not charged, interrupts and softirqs not counted.
    pub amount: Nanos,
}

/// A thread that goes to another processor's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Migration {
    /// When.
    pub at: Instant<Monotonic>,
    /// The thread.
    pub thread: ThreadId,
    /// Where to.
    pub to_cpu: u32,
}

/// A page fault of a watched thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The thread's number.
    pub watched: u16,
    /// When it began to be served.
    pub at: Instant<Monotonic>,
}
