//! Upper confidence limits of quantiles by order statistics.
//!
//! The number of values at or below the quantile q of any continuous distribution is binomial. The
//! r-th smallest of n values therefore is at or above that quantile with the probability that at
//! most r − 1 of n values are below it (H. A. David and H. N. Nagaraja, *Order Statistics*, 3rd
//! edition, 2003, section 7.1). No shape of the distribution is assumed. Values are assumed to be
//! independent, so the limit is too low if high ones come in clusters of a length comparable to the
//! measurement; [`crate::bootstrap`] resamples blocks for that.

use serde::{Deserialize, Serialize};
use statrs::distribution::{Binomial, DiscreteCDF};
use tactus_model::time::Nanos;

/// A value that is at or above a quantile with some confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct UpperLimit {
    /// The value: one of the values measured.
    pub value: Nanos,
    /// The quantile, 0 to 1: the one asked for, or the highest that the number of values supports.
    pub quantile: f64,
    /// The confidence, 0 to 1.
    pub confidence: f64,
}

impl UpperLimit {
    /// The limit of `quantile` (0 to 1) from values in ascending order. With fewer values than
    /// [`fewest`], the limit is the maximum, and its quantile is lower than the one asked for.
    /// `None` without values.
    pub fn of(ascending: &[Nanos], quantile: f64, confidence: f64) -> Option<Self> {
        let max = *ascending.last()?;
        let count = ascending.len() as u64;
        if count < fewest(quantile, confidence) {
            let quantile = (1.0 - confidence).powf(1.0 / count as f64);
            return Some(Self { value: max, quantile, confidence });
        }
        let below = Binomial::new(quantile, count).ok()?;
        // The least rank with enough confidence; the last has it, since there are enough values.
        let (mut low, mut high) = (1, count);
        while low < high {
            let rank = low + (high - low) / 2;
            if below.cdf(rank - 1) >= confidence {
                high = rank;
            } else {
                low = rank + 1;
            }
        }
        Some(Self { value: ascending[(high - 1) as usize], quantile, confidence })
    }
}

/// The number of values from which their maximum is a limit of `quantile`: the least n with
/// 1 − qⁿ at or above the confidence.
pub fn fewest(quantile: f64, confidence: f64) -> u64 {
    let count = ((1.0 - confidence).ln() / quantile.ln()).ceil();
    // Impossible quantiles give no number, which no count of values reaches.
    if count.is_finite() && count >= 1.0 { count as u64 } else { u64::MAX }
}

#[cfg(test)]
mod tests {
    use tactus_model::random::SplitMix64;

    use super::*;

    fn values(count: u64) -> Vec<Nanos> {
        (1..=count).map(Nanos::from_nanos).collect()
    }

    #[test]
    fn the_number_of_values_is_that_of_the_tables() {
        // Wilks 1942: 59 values for 95 % at 95 %; 299 for 99 %.
        assert_eq!([0.95, 0.99, 0.999].map(|quantile| fewest(quantile, 0.95)), [59, 299, 2995]);
        assert_eq!(fewest(0.95, 0.99), 90);
        assert_eq!([fewest(1.0, 0.95), fewest(0.0, 0.95)], [u64::MAX, u64::MAX]);
    }

    #[test]
    fn the_maximum_is_the_limit_of_as_many_values_as_needed() {
        let limit = UpperLimit::of(&values(59), 0.95, 0.95).unwrap();
        assert_eq!((limit.value, limit.quantile), (Nanos::from_nanos(59), 0.95));
        // Wilks: the second greatest of 93.
        assert_eq!(UpperLimit::of(&values(93), 0.95, 0.95).unwrap().value.as_nanos(), 92);
        assert_eq!(UpperLimit::of(&values(92), 0.95, 0.95).unwrap().value.as_nanos(), 92);
    }

    #[test]
    fn too_few_values_limit_a_lower_quantile() {
        let limit = UpperLimit::of(&values(299), 0.999, 0.95).unwrap();
        assert_eq!(limit.value.as_nanos(), 299);
        assert!((limit.quantile - 0.99).abs() < 1e-4, "{limit:?}");
        assert_eq!(UpperLimit::of(&[], 0.5, 0.95), None);
    }

    #[test]
    fn a_limit_is_above_the_quantile_as_often_as_promised() {
        let mut random = SplitMix64::new(1994);
        let held = (0..400).filter(|_| {
            let mut drawn: Vec<Nanos> =
                (0..800).map(|_| Nanos::from_nanos(random.below(1_000_000))).collect();
            drawn.sort_unstable();
            UpperLimit::of(&drawn, 0.99, 0.95).unwrap().value >= Nanos::from_nanos(990_000)
        });
        let held = held.count();
        assert!((365..=399).contains(&held), "{held} of 400");
    }
}
