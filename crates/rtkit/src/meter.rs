//! When a thread has used its CPU time, and what happens then.
//!
//! A [`Meter`] reads no clock. It is informed when the thread has used its budget once more, and
//! decides. While a thread stays within its budget, nothing wakes up for it.

use tactus_model::time::{Instant, Monotonic, Nanos};

/// How often a thread may use up its budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// By how many more periods a thread may use up its budget than stay within it, before it loses
    /// its priority.
    pub periods: u32,
}

impl Default for Patience {
    /// A second of periods of 20 ms.
    fn default() -> Self {
        Self { periods: 50 }
    }
}

/// The priority of a thread with budget left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The one that it requested.
    Full,
    /// The lowest: it used up its budget in the period before, so it may delay no thread that
    /// does not.
    Probation,
}

/// What is to happen to the thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It keeps its priority, and begins a new period.
    Keep,
    /// It gets its full priority again, and begins a new period.
    Restore,
    /// It is an ordinary thread until this instant.
    Throttle(Instant<Monotonic>),
    /// It is an ordinary thread from now on.
    Demote,
}

/// The meter of one thread: the budget in every period.
///
/// In any stretch of time, the thread has its priority for at most the budget of each period that
/// begins within it, plus one; the delay of the notice is added.
#[derive(Debug)]
pub struct Meter {
    period: Nanos,
    patience: Patience,
    /// When the thread last had its whole budget.
    filled: Instant<Monotonic>,
    throttled_until: Option<Instant<Monotonic>>,
    level: Level,
    /// By how many more periods the thread has used up its budget than stayed within it.
    excess: u32,
    /// In how many periods it has used up its budget.
    throttled: u64,
}

impl Meter {
    /// A meter of a thread that has its whole budget now.
    pub const fn new(period: Nanos, patience: Patience, now: Instant<Monotonic>) -> Self {
        Self {
            period,
            patience,
            filled: now,
            throttled_until: None,
            level: Level::Full,
            excess: 0,
            throttled: 0,
        }
    }

    /// The thread has used its budget. A throttled thread uses CPU time of its own class, which
    /// does not count.
    pub fn used_up(&mut self, now: Instant<Monotonic>) -> Decision {
        if self.throttled_until.is_some() {
            return Decision::Keep;
        }
        let next = self.filled + self.period;
        if now >= next {
            self.filled = now;
            self.excess = self.excess.saturating_sub(1);
            return match std::mem::replace(&mut self.level, Level::Full) {
                Level::Full => Decision::Keep,
                Level::Probation => Decision::Restore,
            };
        }
        self.excess += 1;
        self.throttled += 1;
        if self.excess >= self.patience.periods {
            return Decision::Demote;
        }
        self.level = Level::Probation;
        self.throttled_until = Some(next);
        Decision::Throttle(next)
    }

    /// If the thread is throttled and its next period has begun: the level of the priority that
    /// it gets, with its whole budget.
    pub fn refill(&mut self, now: Instant<Monotonic>) -> Option<Level> {
        self.throttled_until.filter(|until| *until <= now)?;
        self.throttled_until = None;
        self.filled = now;
        Some(self.level)
    }

    /// When a throttled thread gets its budget.
    pub const fn due(&self) -> Option<Instant<Monotonic>> {
        self.throttled_until
    }

    /// The level of the thread's priority.
    pub const fn level(&self) -> Level {
        self.level
    }

    /// In how many periods the thread has used up its budget.
    pub const fn throttled(&self) -> u64 {
        self.throttled
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PERIOD: Nanos = Nanos::from_millis(20);

    fn at(milliseconds: u64) -> Instant<Monotonic> {
        Instant::from_nanos(milliseconds * 1_000_000)
    }

    fn meter(periods: u32) -> Meter {
        Meter::new(PERIOD, Patience { periods }, at(0))
    }

    #[test]
    fn a_thread_within_its_budget_keeps_its_priority() {
        let mut meter = meter(2);
        assert_eq!(meter.used_up(at(20)), Decision::Keep);
        assert_eq!(meter.used_up(at(45)), Decision::Keep);
        assert_eq!((meter.due(), meter.throttled()), (None, 0));
    }

    #[test]
    fn a_thread_that_uses_up_its_budget_is_ordinary_until_the_next_period() {
        let mut meter = meter(3);
        assert_eq!(meter.used_up(at(5)), Decision::Throttle(at(20)));
        assert_eq!(meter.used_up(at(12)), Decision::Keep, "CPU time of the ordinary class");
        assert_eq!(meter.refill(at(19)), None);
        assert_eq!(meter.refill(at(20)), Some(Level::Probation));
        // It behaves again.
        assert_eq!(meter.used_up(at(41)), Decision::Restore);
        assert_eq!(meter.level(), Level::Full);
        assert_eq!(meter.used_up(at(61)), Decision::Keep);
    }

    #[test]
    fn a_thread_that_uses_up_its_budget_again_and_again_is_demoted() {
        let mut meter = meter(3);
        assert_eq!(meter.used_up(at(5)), Decision::Throttle(at(20)));
        assert!(meter.refill(at(20)).is_some());
        assert_eq!(meter.used_up(at(25)), Decision::Throttle(at(40)));
        assert!(meter.refill(at(40)).is_some());
        assert_eq!(meter.used_up(at(45)), Decision::Demote);
        assert_eq!(meter.throttled(), 3);
    }

    proptest! {
        /// A thread that runs and sleeps as it likes has its priority for at most the budget of
        /// each period that begins within a window, plus one.
        #[test]
        fn no_thread_exceeds_its_budget(
            bursts in prop::collection::vec((0_u64..60, 0_u64..60), 1..20),
            budget in 1_u64..20,
        ) {
            let mut meter = meter(u32::MAX);
            // Milliseconds in which it ran with priority.
            let mut with_priority = Vec::new();
            let (mut now, mut used) = (0, 0);
            for (runs, sleeps) in bursts {
                for millisecond in 0..runs + sleeps {
                    if meter.refill(at(now)).is_some() {
                        used = 0;
                    }
                    if millisecond < runs && meter.due().is_none() {
                        with_priority.push(now);
                        used += 1;
                        if used == budget {
                            meter.used_up(at(now + 1));
                            used = 0;
                        }
                    }
                    now += 1;
                }
            }
            for (first, from) in with_priority.iter().enumerate() {
                for (ran, to) in (1_u64..).zip(&with_priority[first..]) {
                    let window = to + 1 - from;
                    prop_assert!(ran <= (window / 20 + 2) * budget, "{ran} ms of {window}");
                }
            }
        }
    }
}
