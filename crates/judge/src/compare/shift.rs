//! By how much the level of a cell differs between two sides, and how sure that is.
//!
//! A machine drifts: what its rounds come to follows a level that moves from round to
//! round, by little or much. Cells of one run take turns, so that the level is the same
//! for both. Rounds of two runs are one after the other: the level has moved between
//! them, and that is no difference of what is compared. How far it moves is told by the
//! rounds themselves: those of a machine that stands still scatter about one value, those of one
//! that drifts are more alike the nearer they are.
//!
//! [`between_runs`] takes the rounds for a local level model: a random walk, seen with
//! noise, and a step where the second run begins (A. C. Harvey, *Forecasting, Structural Time Series
//! Models and the Kalman Filter*, 1989, sections 2.3 and 7.6). A few rounds cannot tell well how
//! much of their scatter is drift. So each of [`DRIFTS`] is taken to be as likely as the
//! others before the rounds are seen, and counts afterwards as much as they speak for it (J. A. Hoeting and
//! others, *Bayesian model averaging: a tutorial*, Statistical Science 14, 1999).

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The variance of a step of the level from one round to the next, in variances of a round's noise.
pub(crate) const DRIFTS: [f64; 5] = [0.0, 0.03, 0.1, 0.3, 1.0];

/// What is known of the difference of two levels: one of several may hold.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shift {
    parts: Vec<Part>,
    freedom: f64,
}

/// What is known where one amount of drift holds: the difference less `centre`, divided by
/// `deviation`, follows Student's distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Part {
    /// How likely it is.
    share: f64,
    centre: f64,
    deviation: f64,
    /// The variance of a step of the level and of a round's noise, in logarithms.
    step: f64,
    noise: f64,
}

impl Shift {
    /// The chance that the difference is less than `length`.
    fn below(&self, length: f64) -> f64 {
        let student = student(self.freedom);
        let below = |part: &Part| part.share * student.cdf((length - part.centre) / part.deviation);
        self.parts.iter().map(below).sum()
    }

    /// The chance of a difference as great as this one where the true one lies between
    /// `least` (at most 0) and `greatest` (at least 0).
    pub(crate) fn chance_of_none(&self, least: f64, greatest: f64) -> f64 {
        let (below, above) = (self.below(greatest), 1.0 - self.below(least));
        (2.0 * below.min(above)).min(1.0)
    }

    /// The range in which the difference lies with a probability of 1 − `alpha`.
    pub(crate) fn interval(&self, alpha: f64) -> (f64, f64) {
        (self.exceeding(alpha / 2.0), self.exceeding(1.0 - alpha / 2.0))
    }

    /// The length that the difference is less than with a probability of `chance`, by halving
    /// between what the parts say, each for itself.
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

    /// How far the difference would scatter with so many rounds of each side, as a variance.
    pub(crate) fn variance_with(&self, rounds: u32) -> f64 {
        let of_part = |part: &Part| {
            let ratio = part.step / part.noise;
            let last = pivots(rounds as usize - 1, ratio).last().unwrap_or(f64::INFINITY);
            part.share * part.noise * (2.0 + ratio - 2.0 / last)
        };
        self.parts.iter().map(of_part).sum()
    }
}

/// B less A where the rounds of both took turns, so that one level and one variance hold for both.
///
/// `resolution` is what telling lengths by buckets adds to the variance of a round.
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

/// B less A where the rounds of A were followed by those of B, in the order of each, `gap`
/// times as long after as a round follows another.
///
/// Differences of rounds that follow each other have a covariance that is zero beyond
/// neighbours: the drift's step, and the noise of both. They are eliminated from both ends towards
/// the one that lies between the runs, whose pivot is then the variance of the shift.
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

/// What is left of the differences of one run's rounds when they are eliminated one after the other.
struct Eliminated {
    /// Their squares, each by its pivot.
    squares: f64,
    /// The logarithm of their covariance's determinant.
    logarithm: f64,
    /// What they say of the next difference.
    carried: f64,
    /// What they take off its variance.
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

/// Student's distribution with `freedom` degrees of freedom, which need not be whole.
pub(crate) fn student(freedom: f64) -> StudentsT {
    StudentsT::new(0.0, 1.0, freedom).expect("there are more rounds than sides")
}

/// The variances of differences of rounds that follow each other, each given those before it.
fn pivots(count: usize, drift: f64) -> impl Iterator<Item = f64> {
    let variance = 2.0 + drift;
    std::iter::successors(Some(variance), move |before| Some(variance - 1.0 / before)).take(count)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The sum of squares about the mean.
fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

#[cfg(test)]
mod tests;
