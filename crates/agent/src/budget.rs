//! The budget of CPU time: what is reduced when the agent uses more, and when it comes back.
//!
//! It reads no clock: the caller says how much time went by and what was used meanwhile.

use serde::Serialize;
use tactus_model::time::Nanos;

/// What runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// The probe at its rate, and the recorder.
    Full,
    /// The probe at its rate; nothing is recorded.
    Unrecorded,
    /// The probe with its interval doubled this number of times; nothing is recorded.
    Slow(u8),
}

impl Stage {
    /// Whether the recorder runs.
    pub const fn records(self) -> bool {
        matches!(self, Self::Full)
    }

    /// The probe's interval, if it is `full` at its full rate; at most [`INTERVAL_MAX`].
    pub fn interval(self, full: Nanos) -> Nanos {
        match self {
            Self::Full | Self::Unrecorded => full,
            Self::Slow(doublings) => full.saturating_mul(1 << doublings).min(INTERVAL_MAX),
        }
    }

    /// Its name in metrics and messages.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Unrecorded => "unrecorded",
            Self::Slow(_) => "slow",
        }
    }

    const fn below(self) -> Self {
        match self {
            Self::Full => Self::Unrecorded,
            Self::Unrecorded => Self::Slow(1),
            Self::Slow(doublings) if doublings < DOUBLINGS_MAX => Self::Slow(doublings + 1),
            slowest => slowest,
        }
    }

    const fn above(self) -> Self {
        match self {
            Self::Slow(doublings @ 2..) => Self::Slow(doublings - 1),
            Self::Slow(_) => Self::Unrecorded,
            Self::Unrecorded | Self::Full => Self::Full,
        }
    }
}

/// The longest interval of the probe.
pub const INTERVAL_MAX: Nanos = Nanos::from_secs(1);

const DOUBLINGS_MAX: u8 = 10;

/// The CPU time that was used since the last look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// By what runs all the time: the probe, the recording, the endpoint.
    pub running: Nanos,
    /// By reading, explaining and saving recordings.
    pub saving: Nanos,
}

/// How long what runs may exceed the share, as far as it was below before.
const RUNNING_REACH: f64 = 60.0;

/// The same for everything, saves included.
const TOTAL_REACH: f64 = 3600.0;

/// The allowance after a change, for what changing costs and to see its effect.
const AFTER_CHANGE: f64 = 20.0;

/// The first wait until more is tried.
const PAUSE: Nanos = Nanos::from_secs(60);

/// The longest wait until more is tried.
const PAUSE_MAX: Nanos = Nanos::from_secs(3600);

/// Keeps the CPU time of the agent within a share of one CPU.
///
/// Credit comes at the rate of the share and is used up by CPU time, as in a token bucket. Without
/// credit, the next lower stage begins. When a stage has lasted its pause and half of the credit is
/// there, the next higher stage is tried; each trial that fails doubles the pause, up to an hour.
#[derive(Clone, Debug)]
pub struct Budget {
    share: f64,
    stage: Stage,
    /// Seconds of CPU time for what runs.
    running: f64,
    /// Seconds of CPU time for everything.
    total: f64,
    since_change: Nanos,
    pause: Nanos,
    /// Whether the present stage was tried after a lower one.
    is_trial: bool,
}

impl Budget {
    /// A budget of this share of one CPU, e.g. 0.005.
    pub const fn new(share: f64) -> Self {
        Self {
            share,
            stage: Stage::Full,
            running: share * RUNNING_REACH,
            total: share * TOTAL_REACH / 6.0,
            since_change: Nanos::ZERO,
            pause: PAUSE,
            is_trial: false,
        }
    }

    /// The share of one CPU.
    pub const fn share(&self) -> f64 {
        self.share
    }

    /// What runs.
    pub const fn stage(&self) -> Stage {
        self.stage
    }

    /// Whether the budget has room for a save.
    pub fn may_save(&self) -> bool {
        self.total > 0.0
    }

    /// Whether even the least uses more than the share.
    pub fn is_exceeded(&self) -> bool {
        self.running < 0.0
    }

    /// How long until more is tried at the earliest; zero in the highest stage.
    pub fn next_trial(&self) -> Nanos {
        match self.stage {
            Stage::Full => Nanos::ZERO,
            _ => self.pause.saturating_sub(self.since_change),
        }
    }

    /// Takes what was used in `elapsed`; returns the stage if it changes. `slowest` says whether a
    /// stage is the last that makes a difference.
    pub fn observe(
        &mut self,
        elapsed: Nanos,
        used: Used,
        slowest: impl Fn(Stage) -> bool,
    ) -> Option<Stage> {
        let earned = self.share * elapsed.as_secs_f64();
        let (running, saving) = (used.running.as_secs_f64(), used.saving.as_secs_f64());
        let (running_max, total_max) = (self.share * RUNNING_REACH, self.share * TOTAL_REACH);
        // A debt has the same limit as a credit, or one busy day would cost the next.
        self.running = (self.running + earned - running).clamp(-running_max, running_max);
        self.total = (self.total + earned - running - saving).clamp(-total_max, total_max);
        self.since_change = self.since_change + elapsed;
        if self.is_trial && self.since_change >= PAUSE_MAX {
            (self.is_trial, self.pause) = (false, PAUSE);
        }
        if self.running < 0.0 && !slowest(self.stage) {
            if self.is_trial {
                self.pause = self.pause.saturating_mul(2).min(PAUSE_MAX);
            }
            return Some(self.change(self.stage.below(), false));
        }
        let is_time = self.since_change >= self.pause && self.running >= running_max / 2.0;
        (self.stage != Stage::Full && is_time).then(|| self.change(self.stage.above(), true))
    }

    fn change(&mut self, stage: Stage, is_trial: bool) -> Stage {
        (self.stage, self.is_trial, self.since_change) = (stage, is_trial, Nanos::ZERO);
        self.running = self.running.max(self.share * AFTER_CHANGE);
        stage
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: Nanos = Nanos::from_secs(1);
    const FULL: Nanos = Nanos::from_millis(10);

    fn slowest(stage: Stage) -> bool {
        stage.interval(FULL) >= INTERVAL_MAX
    }

    /// Runs for some seconds at these costs of the recorder and of a wakeup; returns the CPU time.
    fn run(budget: &mut Budget, seconds: u64, recorder: Nanos, wakeup: Nanos) -> Nanos {
        let mut sum = Nanos::ZERO;
        for _ in 0..seconds {
            let wakeups = SECOND.div_floor(budget.stage().interval(FULL));
            let recorder = if budget.stage().records() { recorder } else { Nanos::ZERO };
            let running = wakeup.saturating_mul(wakeups) + recorder;
            sum = sum + running;
            budget.observe(SECOND, Used { running, saving: Nanos::ZERO }, slowest);
        }
        sum
    }

    #[test]
    fn within_the_budget_nothing_is_reduced() {
        let mut budget = Budget::new(0.005);
        run(&mut budget, 100_000, Nanos::from_millis(2), Nanos::from_micros(20));
        assert_eq!(budget.stage(), Stage::Full);
        assert!(budget.may_save() && budget.next_trial() == Nanos::ZERO);
    }

    #[test]
    fn the_recorder_goes_first_and_comes_back_after_ever_longer_pauses() {
        let mut budget = Budget::new(0.005);
        let costly = Nanos::from_millis(50);
        run(&mut budget, 20, costly, Nanos::from_micros(10));
        assert_eq!(budget.stage(), Stage::Unrecorded);
        let hours = 6 * 3600;
        let used = run(&mut budget, hours, costly, Nanos::from_micros(10));
        assert!(used.as_secs_f64() < 0.005 * hours as f64, "{used}");
        assert!(budget.pause >= Nanos::from_secs(1800), "{}", budget.pause);
        run(&mut budget, 2 * 3600, Nanos::from_millis(1), Nanos::from_micros(10));
        assert_eq!((budget.stage(), budget.pause), (Stage::Full, PAUSE));
    }

    #[test]
    fn then_the_probe_becomes_slower_until_it_fits() {
        let mut budget = Budget::new(0.005);
        run(&mut budget, 600, Nanos::ZERO, Nanos::from_millis(1));
        assert!(matches!(budget.stage(), Stage::Slow(4 | 5)), "{:?}", budget.stage());
        run(&mut budget, 600, Nanos::ZERO, Nanos::from_millis(100));
        assert!(slowest(budget.stage()) && budget.is_exceeded());
        assert!(!budget.may_save());
    }

    #[test]
    fn saves_reduce_nothing_but_further_saves() {
        let mut budget = Budget::new(0.005);
        for _ in 0..100 {
            let used = Used { running: Nanos::from_millis(1), saving: Nanos::from_millis(400) };
            budget.observe(SECOND, used, slowest);
        }
        assert_eq!(budget.stage(), Stage::Full);
        assert!(!budget.may_save());
        run(&mut budget, 12_000, Nanos::from_millis(1), Nanos::ZERO);
        assert!(budget.may_save());
    }

    proptest! {
        /// Whatever things cost, the average stays within the share once the credit is used up,
        /// unless even the least costs more.
        #[test]
        fn the_average_is_within_the_share(
            recorder in 0_u64..200_000,
            wakeup in 0_u64..5_000,
        ) {
            let mut budget = Budget::new(0.005);
            let (recorder, wakeup) = (Nanos::from_micros(recorder), Nanos::from_micros(wakeup));
            run(&mut budget, 7200, recorder, wakeup);
            let hours = 12 * 3600;
            let used = run(&mut budget, hours, recorder, wakeup).as_secs_f64();
            prop_assert!(used <= 0.005 * f64::from(hours as u32) * 1.25, "{used}");
        }
    }
}
