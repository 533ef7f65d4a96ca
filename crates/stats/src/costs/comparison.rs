//! Whether two operations cost the same: one rule for changes of a setting and for ranks.

use super::CostSummary;
use super::resample::{Estimate, estimate};

/// Two costs beside each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Comparison {
    /// The second divided by the first.
    pub(super) ratio: Estimate,
    /// The relative difference below which two such measurements of the same thing stay in 95 of 100
    /// cases.
    pub(super) noise_floor: Option<f64>,
}

impl Comparison {
    /// Compares two costs; `None` if one is zero.
    pub(super) fn of(first: &CostSummary, second: &CostSummary) -> Option<Self> {
        let ratio = |costs: &[f64]| costs[1] / costs[0];
        let value = ratio(&[first.typical_ns, second.typical_ns]);
        let resamples = [&first.resamples, &second.resamples];
        let noise = first.noise_floor.zip(second.noise_floor);
        (value.is_finite() && value > 0.0).then(|| Self {
            ratio: estimate(value, &resamples, ratio),
            noise_floor: noise.map(|(first, second)| noise_of_both(first, second)),
        })
    }

    /// The same with the second cost multiplied by a factor.
    pub(super) fn scaled(self, factor: f64) -> Self {
        let Estimate { value, interval } = self.ratio;
        let ratio = Estimate {
            value: factor * value,
            interval: interval.map(|ends| ends.map(|end| factor * end)),
        };
        Self { ratio, ..self }
    }

    /// Whether the costs differ: the interval of the ratio excludes one, and the ratio exceeds what
    /// two measurements of the same thing differ by.
    pub(super) fn is_found(&self) -> bool {
        let ratio = self.ratio.value;
        let beyond = f64::max(ratio, 1.0 / ratio) - 1.0;
        self.ratio.excludes(1.0) && self.noise_floor.is_some_and(|noise| beyond > noise)
    }
}

/// The noise floor of two costs. Each one's own is that of two measurements of it, whose variances
/// add; so do those of one measurement of each.
fn noise_of_both(first: f64, second: f64) -> f64 {
    let squares = [first, second].map(|floor| floor.ln_1p().powi(2));
    (squares[0].midpoint(squares[1])).sqrt().exp_m1()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_noise_of_two_costs_lies_between_theirs() {
        assert!((noise_of_both(0.1, 0.1) - 0.1).abs() < 1e-12);
        let both = noise_of_both(0.086, 0.707);
        assert!((0.4..0.5).contains(&both), "{both}");
    }
}
