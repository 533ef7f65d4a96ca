//! The shift of a cell's level between two sides, with its uncertainty.
//!
//! A machine drifts: the figures of its rounds follow a level that moves from round to
//! round. Cells of one run are interleaved, so the level is the same for both. Two runs
//! are measured one after the other: the level moves between them, which is not a
//! difference between the compared cells. The rounds themselves show how far the level
//! moves: without drift they scatter around one value, with drift neighbouring rounds are
//! more similar than distant ones.
//!
//! [`between_runs`] fits a local level model: a random walk observed with noise, with a
//! step where the second run starts (A. C. Harvey, *Forecasting, Structural Time Series
//! Models and the Kalman Filter*, 1989, sections 2.3 and 7.6). A few rounds do not show
//! well how much of their scatter is drift. So the model averages over [`DRIFTS`]: all are
//! equally likely before the rounds are observed, and are weighted afterwards by their
//! likelihood (J. A. Hoeting and others, *Bayesian model averaging: a tutorial*,
//! Statistical Science 14, 1999).

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The variance of the level's step between rounds, in units of the variance of a round's noise.
pub(crate) const DRIFTS: [f64; 5] = [0.0, 0.03, 0.1, 0.3, 1.0];

/// The distribution of the difference between two levels, as a mixture of parts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shift {
    parts: Vec<Part>,
    freedom: f64,
}

/// The distribution for one amount of drift: the difference minus `centre`, divided by
/// `deviation`, follows Student's distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Part {
    /// The probability of this amount of drift.
    share: f64,
    centre: f64,
    deviation: f64,
    /// The variances of the level's step and of a round's noise, of logarithms.
    step: f64,
    noise: f64,
}

impl Shift {
    /// The probability that the difference is less than `value`.
    fn below(&self, value: f64) -> f64 {
        let student = student(self.freedom);
        let below = |part: &Part| part.share * student.cdf((value - part.centre) / part.deviation);
        self.parts.iter().map(below).sum()
    }

    /// The p-value of the hypothesis that the true difference is between `least` (at most 0)
    /// and `greatest` (at least 0).
    pub(crate) fn chance_of_none(&self, least: f64, greatest: f64) -> f64 {
        let (below, above) = (self.below(greatest), 1.0 - self.below(least));
        (2.0 * below.min(above)).min(1.0)
    }

    /// The interval that contains the difference with a probability of 1 − `alpha`.
    pub(crate) fn interval(&self, alpha: f64) -> (f64, f64) {
        (self.exceeding(alpha / 2.0), self.exceeding(1.0 - alpha / 2.0))
    }

    /// The value that the difference is below with a probability of `chance`, by bisection
    /// between the quantiles of the parts.
    fn exceeding(&self, chance: f64) -> f64 {
        let reach = student(self.freedom).inverse_cdf(chance);
        let ends = self.parts.iter().map(|part| part.centre + reach * part.deviation);
        let (mut low, mut high) = ends
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), end| {
                (low.min(end), high.max(end))
            });
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if self.below(middle) < chance { low = middle } else { high = middle }
        }
        high
    }

    /// The variance of the difference with `rounds` rounds on each side.
    pub(crate) fn variance_with(&self, rounds: u32) -> f64 {
        let of_part = |part: &Part| {
            let ratio = part.step / part.noise;
            let last = pivots(rounds as usize - 1, ratio).last().unwrap_or(f64::INFINITY);
            part.share * part.noise * (2.0 + ratio - 2.0 / last)
        };
        self.parts.iter().map(of_part).sum()
    }
}

/// B minus A for interleaved rounds, with one level and one variance for both sides.
///
/// `resolution` is the variance that histogram buckets add to a round.
pub(crate) fn within_run(a: &[f64], b: &[f64], resolution: f64) -> Shift {
    let (of_a, of_b) = (a.len() as f64, b.len() as f64);
    let freedom = of_a + of_b - 2.0;
    let noise = (squares(a) + squares(b)) / freedom + resolution;
    let part = Part {
        share: 1.0,
        centre: mean(b) - mean(a),
        deviation: (noise * (1.0 / of_a + 1.0 / of_b)).sqrt(),
        step: 0.0,
        noise,
    };
    Shift { parts: vec![part], freedom }
}

/// B minus A for two runs: the rounds of A, then, after a gap of `gap` times the spacing of
/// rounds, those of B, each in order.
///
/// Differences of consecutive rounds (the drift's step plus the noise of both rounds) are
/// correlated only with their neighbours. They are eliminated from both ends towards the
/// difference between the runs, whose pivot is then the variance of the shift.
pub(crate) fn between_runs(a: &[f64], b: &[f64], gap: f64, resolution: f64) -> Shift {
    let freedom = (a.len() + b.len() - 2) as f64;
    let differences =
        |rounds: &[f64]| -> Vec<f64> { rounds.windows(2).map(|pair| pair[1] - pair[0]).collect() };
    let towards_b = differences(a);
    let towards_a: Vec<f64> = differences(b).into_iter().rev().collect();
    let between = b[0] - a[a.len() - 1];
    let found = DRIFTS.map(|drift| {
        let (of_a, of_b) = (Eliminated::of(&towards_b, drift), Eliminated::of(&towards_a, drift));
        let noise = (of_a.squares + of_b.squares) / freedom + resolution;
        let centre = between + of_a.carried + of_b.carried;
        let variance = 2.0 + drift * gap - of_a.removed - of_b.removed;
        let likelihood = -(of_a.logarithm + of_b.logarithm + freedom * noise.ln()) / 2.0;
        let deviation = (noise * variance).sqrt();
        (likelihood, Part { share: 0.0, centre, deviation, step: drift * noise, noise })
    });
    let greatest =
        found.iter().map(|(likelihood, _)| *likelihood).fold(f64::NEG_INFINITY, f64::max);
    let weights = found.map(|(likelihood, _)| (likelihood - greatest).exp());
    let all: f64 = weights.iter().sum();
    let parts = found.into_iter().zip(weights);
    let parts = parts.map(|((_, part), weight)| Part { share: weight / all, ..part }).collect();
    Shift { parts, freedom }
}

/// The state after eliminating the differences of one run's rounds one by one.
struct Eliminated {
    /// The sum of the squares, each divided by its pivot.
    squares: f64,
    /// The logarithm of the determinant of their covariance.
    logarithm: f64,
    /// Their prediction of the next difference.
    carried: f64,
    /// The reduction of its variance.
    removed: f64,
}

impl Eliminated {
    fn of(differences: &[f64], drift: f64) -> Self {
        let mut left = Self { squares: 0.0, logarithm: 0.0, carried: 0.0, removed: 0.0 };
        for (difference, pivot) in differences.iter().zip(pivots(differences.len(), drift)) {
            let surprise = difference + left.carried;
            left = Self {
                squares: left.squares + surprise.powi(2) / pivot,
                logarithm: left.logarithm + pivot.ln(),
                carried: surprise / pivot,
                removed: 1.0 / pivot,
            };
        }
        left
    }
}

/// Student's distribution with `freedom` degrees of freedom, which may be fractional.
pub(crate) fn student(freedom: f64) -> StudentsT {
    StudentsT::new(0.0, 1.0, freedom).expect("there are more rounds than sides")
}

/// The variances of differences of consecutive rounds, each given all earlier ones.
fn pivots(count: usize, drift: f64) -> impl Iterator<Item = f64> {
    let variance = 2.0 + drift;
    std::iter::successors(Some(variance), move |before| Some(variance - 1.0 / before)).take(count)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The sum of squares around the mean.
fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

#[cfg(test)]
mod tests;
