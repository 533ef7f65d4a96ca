//! The generalised Pareto distribution, the limit distribution of excesses over a high
//! threshold.
//!
//! J. Pickands, *Statistical inference using extreme order statistics*, Annals of Statistics 3
//! (1975): for almost every distribution of latencies, the excesses over a high enough
//! threshold are distributed as H(y) = 1 − (1 + ξ y/σ)^(−1/ξ).
//!
//! It is fitted by maximum likelihood in Grimshaw's form (*Computing maximum likelihood
//! estimates for the generalized Pareto distribution*, Technometrics 35, 1993): over β = ξ/σ
//! alone, since for a given β the other parameter follows. The other parameter here is the
//! reciprocal scale s = 1/σ, which avoids a division by zero at ξ = 0 (the exponential
//! distribution).

use serde::Serialize;

use super::search::greatest;

/// The minimum shape considered.
///
/// Below it the likelihood is irregular (R. L. Smith, *Maximum likelihood estimation in a class
/// of nonregular cases*, Biometrika 72, 1985). A tail that ends more abruptly is fitted with
/// this shape, which overestimates its latencies.
pub const LEAST_SHAPE: f64 = -0.5;
/// The maximum shape considered; from here on a tail has no mean.
pub const GREATEST_SHAPE: f64 = 1.0;

/// The distribution of the excesses over a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GeneralisedPareto {
    /// ξ: below zero the tail is bounded, at zero it falls exponentially, above zero as a power
    /// law.
    pub shape: f64,
    /// σ, in the unit of the excesses; positive.
    pub scale: f64,
}

impl GeneralisedPareto {
    /// The excess that is exceeded with probability `chance` (0 to 1).
    pub fn exceeded_with(self, chance: f64) -> f64 {
        let decades = -chance.ln();
        self.scale
            * if self.is_exponential() {
                decades
            } else {
                (self.shape * decades).exp_m1() / self.shape
            }
    }

    /// The logarithm of the probability of exceeding `excess`.
    pub fn log_chance_beyond(self, excess: f64) -> f64 {
        if self.is_exponential() {
            return -excess / self.scale;
        }
        let inside = self.shape * excess / self.scale;
        if inside <= -1.0 { f64::NEG_INFINITY } else { -inside.ln_1p() / self.shape }
    }

    fn is_exponential(self) -> bool {
        self.shape.abs() < 1e-9
    }

    /// Fits the distribution to `excesses`, which are at least two and all positive, with a
    /// shape between [`LEAST_SHAPE`] and [`GREATEST_SHAPE`].
    pub fn fit(excesses: &[f64]) -> Self {
        let sums = Sums::of(excesses);
        let best = sums.search(0.0, |sums, beta| sums.unconstrained(beta));
        Self { shape: best.beta / best.rate, scale: best.rate.recip() }
    }

    /// The standard error of a shape fitted to `count` excesses (Smith, see [`LEAST_SHAPE`]).
    pub fn shape_error(self, count: usize) -> f64 {
        (1.0 + self.shape) / (count as f64).sqrt()
    }
}

/// Parameters with their log-likelihood.
#[derive(Clone, Copy, Debug)]
pub(super) struct Likely {
    pub(super) beta: f64,
    /// s, the reciprocal scale.
    pub(super) rate: f64,
    pub(super) log_likelihood: f64,
}

/// Excesses with the sums that the likelihood needs.
#[derive(Debug)]
pub(super) struct Sums<'a> {
    excesses: &'a [f64],
    pub(super) count: f64,
    sum: f64,
    greatest: f64,
    middle: f64,
}

/// The sums that the likelihood needs at one β.
#[derive(Clone, Copy, Debug)]
pub(super) struct AtBeta {
    /// Σ ln(1 + βy).
    pub(super) logarithms: f64,
    /// The same divided by β; Σ y if β is zero.
    pub(super) weighted: f64,
}

impl<'a> Sums<'a> {
    pub(super) fn of(excesses: &'a [f64]) -> Self {
        let mut ordered = excesses.to_vec();
        let middle = ordered.len() / 2;
        let (_, middle, _) = ordered.select_nth_unstable_by(middle, f64::total_cmp);
        Self {
            excesses,
            count: excesses.len() as f64,
            sum: excesses.iter().sum(),
            greatest: excesses.iter().copied().fold(0.0, f64::max),
            middle: *middle,
        }
    }

    pub(super) fn at(&self, beta: f64) -> AtBeta {
        let logarithms: f64 = self.excesses.iter().map(|excess| (beta * excess).ln_1p()).sum();
        // If β is negligible relative to the excesses, the limit of the quotient is exact
        // enough.
        let weighted =
            if (beta * self.greatest).abs() < 1e-9 { self.sum } else { logarithms / beta };
        AtBeta { logarithms, weighted }
    }

    /// The maximum likelihood at a β: n ln s − Σ ln(1 + βy) − s Σ ln(1 + βy)/β.
    pub(super) fn unconstrained(&self, beta: f64) -> Likely {
        let AtBeta { logarithms, weighted } = self.at(beta);
        let rate = (self.count / weighted).max(least_rate(beta));
        let log_likelihood = self.count * rate.ln() - logarithms - rate * weighted;
        Likely { beta, rate, log_likelihood }
    }

    /// The most likely parameters, with `at` giving those of one β. All excesses and `beyond`
    /// must be possible.
    pub(super) fn search(&self, beyond: f64, at: impl Fn(&Self, f64) -> Likely) -> Likely {
        // β ranges from just above −1/M, where the maximum excess is the end of the tail, to
        // where the shape exceeds its limit; in geometric steps, since its magnitude is
        // unknown.
        let end = self.greatest.max(beyond).recip();
        let least = (1e-7 * end).ln();
        let most = (60.0 / self.middle.max(1e-6 * self.greatest) + end).ln();
        greatest(least, most, |place| {
            let likely = at(self, place.exp() - end);
            (likely.log_likelihood, likely)
        })
    }
}

/// The minimum s for which the shape β/s stays within its limits.
pub(super) fn least_rate(beta: f64) -> f64 {
    (beta / GREATEST_SHAPE).max(beta / LEAST_SHAPE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Draw;

    #[test]
    fn the_fit_recovers_the_true_parameters() {
        for (seed, shape) in [-0.3, 0.0, 0.2, 0.6].into_iter().enumerate() {
            let truth = GeneralisedPareto { shape, scale: 7_000.0 };
            let mut draw = Draw::new(seed as u64);
            let excesses: Vec<f64> =
                (0..20_000).map(|_| truth.exceeded_with(draw.uniform())).collect();
            let found = GeneralisedPareto::fit(&excesses);
            let error = truth.shape_error(excesses.len());
            assert!((found.shape - shape).abs() < 4.0 * error, "{shape}: {found:?}");
            assert!((found.scale / truth.scale - 1.0).abs() < 0.05, "{shape}: {found:?}");
        }
    }

    #[test]
    fn probability_and_excess_are_inverse_functions() {
        for shape in [-0.4, -1e-12, 0.0, 1e-6, 0.5, 1.0] {
            let tail = GeneralisedPareto { shape, scale: 3.0 };
            for chance in [1.0, 0.5, 1e-3, 1e-6] {
                let back = tail.log_chance_beyond(tail.exceeded_with(chance)).exp();
                assert!((back / chance - 1.0).abs() < 1e-6, "{shape}, {chance}: {back}");
            }
        }
    }

    #[test]
    fn no_neighbour_is_more_likely_than_the_fit() {
        let mut draw = Draw::new(8);
        let truth = GeneralisedPareto { shape: 0.3, scale: 10.0 };
        let excesses: Vec<f64> = (0..80).map(|_| truth.exceeded_with(draw.uniform())).collect();
        let likelihood = |tail: GeneralisedPareto| -> f64 {
            // The density is the exceedance probability divided by σ + ξy.
            let of = |y: &f64| tail.log_chance_beyond(*y) - (tail.scale + tail.shape * y).ln();
            excesses.iter().map(of).sum()
        };
        let fit = GeneralisedPareto::fit(&excesses);
        for (shape, scale) in [(1e-3, 1.0), (-1e-3, 1.0), (0.0, 1.001), (0.0, 0.999)] {
            let other = GeneralisedPareto { shape: fit.shape + shape, scale: fit.scale * scale };
            assert!(likelihood(other) < likelihood(fit), "{other:?} against {fit:?}");
        }
    }
}
