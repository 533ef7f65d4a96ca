//! High-resolution timers: armed, and served.

use tactus_model::recording::{ChainId, FunctionId, ThreadId};
use tactus_model::time::{Instant, Monotonic, Nanos};

use super::observer::Overdue;

/// A high-resolution timer that was armed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Armed {
    /// When it was armed.
    pub at: Instant<Monotonic>,
    /// The thread that was current.
    pub by: ThreadId,
    /// The thread's number, when it is watched and armed the timer itself, not
    /// an interrupt in its time.
    pub watched: Option<u16>,
    /// What it will call.
    pub function: FunctionId,
    /// When it must have expired, on the timer's own clock.
    pub expires: Nanos,
    /// When it may expire at the earliest, on the timer's own clock.
    pub soft_expires: Nanos,
}

/// A high-resolution timer that is being served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerFire {
    /// The processor that serves it.
    pub cpu: u32,
    /// The timer's address.
    pub timer: u64,
    /// What is called.
    pub function: FunctionId,
    /// When the interrupt or softirq was entered that serves it; the same as
    /// `entered_at` where that was not recorded.
    pub irq_at: Instant<Monotonic>,
    /// Where in the kernel the interrupt came, when call chains were recorded.
    pub irq_chain: Option<ChainId>,
    /// When the timer's function began.
    pub entered_at: Instant<Monotonic>,
    /// The time of the timer's own clock by which it was found to have expired.
    pub now: Nanos,
    /// How it had been armed, where that was recorded.
    pub armed: Option<Armed>,
}

impl TimerFire {
    /// How far the timer's own clock may differ from the monotonic one and still
    /// be taken for it: `now` is read between the interrupt's entry and the
    /// event, so a real difference of clocks is far larger.
    const SAME_CLOCK: u64 = 100_000_000;

    /// An instant of the timer's own clock on the clock of the events.
    ///
    /// A timer of `CLOCK_MONOTONIC` is told exactly. For another clock the
    /// origin follows from `now`, which is as far off as `now` lies before the event.
    pub fn on_monotonic(&self, instant: Nanos) -> Instant<Monotonic> {
        let entered = self.entered_at.as_nanos();
        let now = self.now.as_nanos();
        if entered.abs_diff(now) <= Self::SAME_CLOCK {
            return Instant::from_nanos(instant.as_nanos());
        }
        let shifted = i128::from(instant.as_nanos()) + i128::from(entered) - i128::from(now);
        Instant::from_nanos(u64::try_from(shifted.max(0)).unwrap_or(u64::MAX))
    }

    /// When the timer had to be served at the latest.
    pub fn expires(&self) -> Option<Instant<Monotonic>> {
        self.armed.map(|armed| self.on_monotonic(armed.expires))
    }

    /// When the timer could be served at the earliest.
    pub fn soft_expires(&self) -> Option<Instant<Monotonic>> {
        self.armed.map(|armed| self.on_monotonic(armed.soft_expires))
    }

    /// How late the timer is served.
    pub(super) fn overdue(&self) -> Option<Overdue> {
        let armed = self.armed?;
        let late = self.entered_at - self.on_monotonic(armed.expires.max(Nanos::ZERO));
        // A timer armed after its time was never waited for.
        let waited = self.entered_at - armed.at;
        Some(Overdue { cpu: self.cpu, served: self.entered_at, late: late.min(waited) })
    }
}
