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
    /// The number of the watched thread, if that thread armed the timer itself and not
    /// an interrupt in its time.
    pub watched: Option<u16>,
    /// The function it will call.
    pub function: FunctionId,
    /// Whether the thread asked for a duration from then on, not for a time.
    #[doc(alias = "TIMER_ABSTIME")]
    pub is_relative: bool,
    /// The latest expiry, on the timer's own clock.
    pub expires: Nanos,
    /// The earliest expiry, on the timer's own clock.
    pub soft_expires: Nanos,
}

/// A high-resolution timer that is being served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerFire {
    /// The CPU that serves it.
    pub cpu: u32,
    /// The timer's address.
    pub timer: u64,
    /// The function it calls.
    pub function: FunctionId,
    /// When the interrupt or softirq that serves it was entered; equal to `entered_at`
    /// if that was not recorded.
    pub irq_at: Instant<Monotonic>,
    /// Where in the kernel the interrupt came, if call chains were recorded.
    pub irq_chain: Option<ChainId>,
    /// When the timer's function began.
    pub entered_at: Instant<Monotonic>,
    /// The time of the timer's own clock at which it was found expired.
    pub now: Nanos,
    /// How it was armed, if that was recorded.
    pub armed: Option<Armed>,
}

/// The bit of a timer's mode that makes its expiry relative (`HRTIMER_MODE_REL`).
pub(super) const RELATIVE: u8 = 1;

impl TimerFire {
    /// The maximum difference between a timer's own clock and the monotonic clock at
    /// which both count as the same: `now` is read between the interrupt's entry and
    /// the event, so a real difference between clocks is far larger.
    const SAME_CLOCK: u64 = 100_000_000;

    /// Converts an instant of the timer's own clock to the clock of the events.
    ///
    /// This is exact for `CLOCK_MONOTONIC`. For another clock, the offset follows from
    /// `now` and has an error of the time between reading `now` and the event.
    pub fn on_monotonic(&self, instant: Nanos) -> Instant<Monotonic> {
        let entered = self.entered_at.as_nanos();
        let now = self.now.as_nanos();
        if entered.abs_diff(now) <= Self::SAME_CLOCK {
            return Instant::from_nanos(instant.as_nanos());
        }
        let shifted = i128::from(instant.as_nanos()) + i128::from(entered) - i128::from(now);
        Instant::from_nanos(u64::try_from(shifted.max(0)).unwrap_or(u64::MAX))
    }

    /// The latest time at which the timer had to be served.
    pub fn expires(&self) -> Option<Instant<Monotonic>> {
        self.armed.map(|armed| self.on_monotonic(armed.expires))
    }

    /// The earliest time at which the timer could be served.
    pub fn soft_expires(&self) -> Option<Instant<Monotonic>> {
        self.armed.map(|armed| self.on_monotonic(armed.soft_expires))
    }

    /// The lateness of the timer.
    pub(super) fn overdue(&self) -> Option<Overdue> {
        let armed = self.armed?;
        let late = self.entered_at - self.on_monotonic(armed.expires.max(Nanos::ZERO));
        // No thread waited for a timer that was armed after its time.
        let waited = self.entered_at - armed.at;
        Some(Overdue { cpu: self.cpu, served: self.entered_at, late: late.min(waited) })
    }
}
