//! Whether two operations cost the same: one rule for changes of a setting and for ranks.
//!
//! Two costs differ if two intervals of their ratio exclude one: that of pairs, since processes of a
//! round were measured close to each other, and that of independent measurements, since few pairs can
//! agree by chance. The second follows from the intervals of both costs (G. Y. Zou and A. Donner,
//! *Construction of confidence limits about effect measures: a general approach*, Statistics in
//! Medicine 27, 2008). So a cost that is sometimes much higher is still dearer than one that never is.

use super::CostSummary;
use super::resample::{Estimate, estimate};

/// Two costs beside each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Comparison {
    /// The second divided by the first, with the interval of pairs.
    pub(super) ratio: Estimate,
    /// The relative difference that independent measurements of both can have by chance, by how far
    /// their intervals reach towards each other. `None` if one has no interval.
    pub(super) noise: Option<f64>,
}

impl Comparison {
    /// Compares a cost with another, which is multiplied by a factor; `None` if one is zero.
    pub(super) fn of(first: &CostSummary, second: &CostSummary, factor: f64) -> Option<Self> {
        let ratio = |costs: &[f64]| factor * costs[1] / costs[0];
        let value = ratio(&[first.typical_ns, second.typical_ns]);
        let noise = match value < 1.0 {
            true => noise(second, first),
            false => noise(first, second),
        };
        (value.is_finite() && value > 0.0).then(|| Self {
            ratio: estimate(value, &[&first.resamples, &second.resamples], ratio),
            noise,
        })
    }

    /// Whether the costs differ.
    pub(super) fn is_found(&self) -> bool {
        let ratio = self.ratio.value;
        let apart = f64::max(ratio, 1.0 / ratio) - 1.0;
        self.ratio.excludes(1.0) && self.noise.is_some_and(|noise| apart > noise)
    }
}

/// The distance from the lower cost up to the end of its interval and from the higher down to that of
/// its own, which are independent; in logarithms, as a share.
fn noise(lower: &CostSummary, higher: &CostSummary) -> Option<f64> {
    let up = (lower.interval?[1] / lower.typical_ns).ln();
    let down = (higher.typical_ns / higher.interval?[0]).ln();
    Some(up.hypot(down).exp_m1())
}

#[cfg(test)]
mod tests {
    use tactus_model::cost::Family;

    use super::*;
    use crate::costs::tests::row;

    fn cost(cell: usize, typical: f64, interval: [f64; 2]) -> CostSummary {
        let cost = row(cell, Family::Trap, &[], typical).cost;
        CostSummary { interval: Some(interval), ..cost }
    }

    #[test]
    fn what_is_sometimes_much_dearer_is_dearer() {
        let steady = cost(0, 17.4, [17.0, 17.6]);
        let unsteady = cost(1, 27.7, [26.6, 4_000.0]);
        let found = Comparison::of(&steady, &unsteady, 1.0).unwrap();
        assert!(found.is_found() && found.noise.unwrap() < 0.05, "{found:?}");
        let reversed = Comparison::of(&unsteady, &steady, 1.0).unwrap();
        assert!(reversed.is_found() && reversed.noise == found.noise);
        let other = cost(2, 20.0, [16.0, 21.0]);
        assert!(!Comparison::of(&steady, &other, 1.0).unwrap().is_found());
    }

    #[test]
    fn a_factor_decides_which_is_dearer() {
        let (first, second) = (cost(0, 10.0, [9.0, 30.0]), cost(1, 20.0, [19.0, 20.5]));
        assert!(!Comparison::of(&first, &second, 1.0).unwrap().is_found());
        assert!(Comparison::of(&first, &second, 0.25).unwrap().is_found());
    }
}
