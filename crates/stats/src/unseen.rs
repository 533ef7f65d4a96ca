//! What may be said of events of which none was seen.
//!
//! When none was seen in N independent trials, the rate of such events is below
//! 3/N with 95 % confidence: a greater rate would have shown none with a
//! probability of less than (1 − 3/N)ᴺ ≈ e⁻³ ≈ 0.05 (the *rule of three*: Hanley
//! and Lippman-Hand, *If nothing goes wrong, is everything all right?*, JAMA 249,
//! 1983).
//!
//! Wakeups are not independent: what delays one often delays its neighbours, so
//! the bound over wakeups is too low when late ones come in bursts. Stretches of
//! time ([`crate::summary::block_length`]) are more nearly so, and the same rule
//! over them speaks of the share of stretches that hold such an event. Neither
//! bound holds under conditions that were not measured.

use serde::Serialize;

/// The rate of an unseen event is below 3/N with 95 % confidence, if the trials were independent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct UnseenBound {
    /// In how many trials it was not seen.
    pub trials: u64,
    /// The share of trials that it stays below, 0 to 1.
    pub rate: f64,
}

impl UnseenBound {
    /// The confidence of the bound.
    pub const CONFIDENCE: f64 = 0.95;

    /// The bound after an event was seen in none of `trials`; `None` when fewer
    /// than four bound nothing.
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
