//! How far a quantile of B lies from that of A, and how sure that is.

use serde::Serialize;
use tactus_model::time::Nanos;
use tactus_stats::bootstrap::{Blocks, Unsupported};

use super::student;

/// The rounds that each side needs: one says nothing of how rounds differ.
pub const FEWEST_ROUNDS: usize = 2;
/// Comparisons must be the same each time they are made.
const SEED: u64 = 1993;
/// The confidence of the intervals is 1 minus this.
const ALPHA: f64 = 0.05;

/// A difference of B against A, with the range that holds the true one in 95 of
/// 100 repetitions of both measurements.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// B divided by A.
    pub ratio: f64,
    /// The lower end of the interval of `ratio`.
    pub ratio_low: f64,
    /// The upper end of the interval of `ratio`.
    pub ratio_high: f64,
    /// B minus A, in nanoseconds; negative where B is less.
    pub nanos: f64,
    /// The lower end of the interval of `nanos`: A times (`ratio_low` − 1).
    pub nanos_low: f64,
    /// The upper end of the interval of `nanos`.
    pub nanos_high: f64,
    /// The chance of a difference as great as this one where there is none, for
    /// this test alone.
    pub chance: f64,
}

/// Why a quantile of two cells is not compared.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, thiserror::Error)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum NotCompared {
    /// One side was measured in too few rounds.
    #[error(
        "rounds of {side} with samples: {rounds}, which says nothing of how rounds differ; measure it with --rounds 3"
    )]
    FewRounds {
        /// Which side.
        side: Side,
        /// Its rounds.
        rounds: usize,
    },
    /// The sample of one side does not support the quantile.
    #[error("{side}: {cause}")]
    Sample {
        /// Which side.
        side: Side,
        /// What is missing.
        #[source]
        cause: Unsupported,
    },
}

/// One of the two that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Side {
    /// The first, against which is compared.
    A,
    /// The second.
    B,
}

impl std::fmt::Display for Side {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::A => "A",
            Self::B => "B",
        })
    }
}

/// A quantile of one side, in logarithms, in which latencies differ by factors.
#[derive(Clone, Copy, Debug)]
struct Estimate {
    value: Nanos,
    /// The variance of its logarithm in repetitions of the measurement.
    variance: f64,
    rounds: usize,
}

/// Compares `quantiles` of the blocks of two cells.
///
/// Rounds are the unit: each side is drawn anew by [`Blocks::resampled`], rounds
/// first and runs of blocks within them. The variance of the logarithm of the drawn
/// quantiles, times R/(R − 1) for what drawing R rounds takes away, is that of the
/// estimate; the two sides' variances add up. The interval is that of Student's t
/// with the degrees of freedom of B. L. Welch, *The generalization of Student's
/// problem when several different population variances are involved* (1947), since
/// a variance known from few rounds is itself uncertain: percentiles of the drawn
/// quantiles alone would be much too narrow for three rounds.
pub(crate) fn differences(
    a: &Blocks,
    b: &Blocks,
    quantiles: &[f64],
) -> Vec<Result<Difference, NotCompared>> {
    let a = estimates(a, Side::A, quantiles);
    let b = estimates(b, Side::B, quantiles);
    a.into_iter().zip(b).map(|(a, b)| Ok(difference(a?, b?))).collect()
}

fn estimates(blocks: &Blocks, side: Side, quantiles: &[f64]) -> Vec<Result<Estimate, NotCompared>> {
    let rounds = blocks.rounds();
    if rounds < FEWEST_ROUNDS {
        return vec![Err(NotCompared::FewRounds { side, rounds }); quantiles.len()];
    }
    quantiles
        .iter()
        .zip(blocks.resampled(quantiles, SEED))
        .map(|(quantile, drawn)| {
            let drawn = drawn.map_err(|cause| NotCompared::Sample { side, cause })?;
            // Blocks that support a quantile are not empty.
            let value = blocks.quantile(*quantile).unwrap_or_default();
            let lost = rounds as f64 / (rounds - 1) as f64;
            let variance = variance_of_logarithms(&drawn) * lost + resolution_variance(value);
            Ok(Estimate { value, variance, rounds })
        })
        .collect()
}

/// The logarithm of a length; that of 1 ns for none, which has no logarithm.
fn logarithm(length: Nanos) -> f64 {
    (length.as_nanos().max(1) as f64).ln()
}

fn variance_of_logarithms(drawn: &[Nanos]) -> f64 {
    let count = drawn.len() as f64;
    let mean = drawn.iter().map(|length| logarithm(*length)).sum::<f64>() / count;
    let squares = drawn.iter().map(|length| (logarithm(*length) - mean).powi(2)).sum::<f64>();
    squares / (count - 1.0)
}

/// What telling lengths by buckets of 1 ns or 0.1 % adds to the variance: without
/// it, two cells of constant latency would differ for certain by a rounding.
fn resolution_variance(value: Nanos) -> f64 {
    let width = (1.0 / value.as_nanos().max(1) as f64).max(1e-3);
    width.powi(2) / 12.0
}

fn difference(a: Estimate, b: Estimate) -> Difference {
    let variance = a.variance + b.variance;
    let share = |side: Estimate| side.variance.powi(2) / (side.rounds - 1) as f64;
    let freedom = variance.powi(2) / (share(a) + share(b));
    let deviation = variance.sqrt();
    let logarithm = logarithm(b.value) - logarithm(a.value);
    let reach = student::critical(ALPHA, freedom) * deviation;
    let reference = a.value.as_nanos().max(1) as f64;
    let (ratio, low, high) =
        (logarithm.exp(), (logarithm - reach).exp(), (logarithm + reach).exp());
    let nanos = |ratio: f64| reference * (ratio - 1.0);
    Difference {
        ratio,
        ratio_low: low,
        ratio_high: high,
        nanos: b.value.as_nanos() as f64 - a.value.as_nanos() as f64,
        nanos_low: nanos(low),
        nanos_high: nanos(high),
        chance: student::chance_beyond(logarithm.abs() / deviation, freedom),
    }
}
