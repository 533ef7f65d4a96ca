//! The bound on the rate of events that did not occur.
//!
//! If an event did not occur in N independent trials, its rate is below 3/N with 95 %
//! confidence: at a higher rate, no occurrence would have a probability of less than (1 − 3/N)ᴺ
//! ≈ e⁻³ ≈ 0.05 (the *rule of three*: Hanley and Lippman-Hand, *If nothing goes wrong, is
//! everything all right?*, JAMA 249, 1983).
//!
//! Wakeups are not independent: a disturbance often delays several neighbours, so the bound
//! over wakeups is too low if late wakeups come in bursts. Blocks of time
//! ([`crate::summary::block_length`]) are closer to independent, and the same rule over them
//! bounds the share of blocks that contain such an event. Neither bound applies to conditions
//! that were not measured.

use serde::Serialize;

/// The rate of an event that did not occur is below 3/N with 95 % confidence, if the trials are
/// independent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct UnseenBound {
    /// The number of trials without the event.
    pub trials: u64,
    /// The upper bound of its rate, 0 to 1.
    pub rate: f64,
}

impl UnseenBound {
    /// The confidence of the bound.
    pub const CONFIDENCE: f64 = 0.95;

    /// The bound after an event occurred in none of `trials`; `None` for fewer than four
    /// trials, which bound nothing.
    pub fn after(trials: u64) -> Option<Self> {
        (trials > 3).then(|| Self { trials, rate: 3.0 / trials as f64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_is_never_below_the_exact_one() {
        for trials in [4, 5, 10, 1_000, 100_000_000] {
            let bound = UnseenBound::after(trials).unwrap();
            let exact = 1.0 - (1.0 - UnseenBound::CONFIDENCE).powf(1.0 / trials as f64);
            assert!(bound.rate >= exact && bound.rate < 1.5 * exact, "{trials}: {exact}");
        }
    }

    #[test]
    fn three_trials_bound_nothing() {
        assert_eq!(UnseenBound::after(3), None);
        assert_eq!(UnseenBound::after(0), None);
    }
}
