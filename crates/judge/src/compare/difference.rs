//! How far a quantile of B lies from that of A, and how sure that is.

use serde::Serialize;
use tactus_model::time::Nanos;
use tactus_stats::bootstrap::{Blocks, Unsupported};

use super::student;

/// The rounds that each side needs: one says nothing of how rounds differ.
pub const FEWEST_ROUNDS: usize = 2;
/// The confidence of the intervals is 1 minus this.
const ALPHA: f64 = 0.05;
/// The normal distribution's quantile of 80 %, the power that is usually asked for.
const POWER: f64 = 0.842;
/// More rounds than these nobody measures.
const MOST_ROUNDS: u32 = 1000;

/// A difference of B against A, with the range that holds the true one in 95 of
/// 100 repetitions of both measurements.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The quantile of A: the geometric mean of its rounds' quantiles, in nanoseconds.
    pub a: f64,
    /// The same of B.
    pub b: f64,
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
    /// About how many rounds of each side a difference as great as the margin needs to be
    /// found in four of five comparisons; `None` when more than 1000.
    pub rounds_for_margin: Option<u32>,
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
    /// One side is a file of another program.
    #[error(
        "{side} is one round that another program measured, which says nothing of how rounds differ; measure with it again, and take the files with tactus import --as-rounds"
    )]
    FewFiles {
        /// Which side.
        side: Side,
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

/// How the rounds of two cells lie to each other in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Design {
    /// They are cells of one run, whose rounds took turns: whatever became of the machine
    /// meanwhile befell both, so one variance holds for both.
    Interleaved,
    /// They are of two runs, one after the other.
    Apart,
}

/// What is known of one side.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    /// Its histograms, a stretch each, in rounds.
    pub(crate) blocks: Blocks,
    /// Latencies are told in multiples of this, rounded down.
    pub(crate) unit: Nanos,
    /// Whether another program measured it.
    pub(crate) imported: bool,
}

/// The rounds' quantiles of one side, in logarithms, in which latencies differ by factors.
#[derive(Clone, Copy, Debug)]
struct Estimate {
    mean: f64,
    /// The variance of one round.
    variance: f64,
    rounds: f64,
    /// By how much the true logarithm may lie above, since latencies are rounded down.
    rounded: f64,
}

/// Compares `quantiles` of two cells; figures that differ by less than `margin` are the same.
///
/// Rounds are the unit: the quantile is taken in each, and the means of their logarithms
/// are compared by Student's t. In one run, rounds take turns and one variance holds for
/// both sides; rounds of two runs have a variance each, and the degrees of freedom of B. L.
/// Welch, *The generalization of Student's problem when several different population
/// variances are involved* (1947). `docs/ci.md` tells how often that finds what
/// was planted, and calls different what is alike.
pub(crate) fn differences(
    a: &Sample,
    b: &Sample,
    quantiles: &[f64],
    design: Design,
    margin: f64,
) -> Vec<Result<Difference, NotCompared>> {
    quantiles
        .iter()
        .map(|quantile| {
            let (in_a, in_b) = (estimate(a, Side::A, *quantile)?, estimate(b, Side::B, *quantile)?);
            Ok(difference(in_a, in_b, design, margin))
        })
        .collect()
}

fn estimate(sample: &Sample, side: Side, quantile: f64) -> Result<Estimate, NotCompared> {
    let rounds = sample.blocks.rounds();
    if rounds < FEWEST_ROUNDS {
        return Err(match sample.imported {
            true => NotCompared::FewFiles { side },
            false => NotCompared::FewRounds { side, rounds },
        });
    }
    let found = sample.blocks.quantile_of_rounds(quantile);
    let found = found.map_err(|cause| NotCompared::Sample { side, cause })?;
    let logarithms: Vec<f64> = found.into_iter().map(logarithm).collect();
    let count = logarithms.len() as f64;
    let mean = logarithms.iter().sum::<f64>() / count;
    let squares: f64 = logarithms.iter().map(|value| (value - mean).powi(2)).sum();
    let variance = squares / (count - 1.0) + resolution_variance(mean);
    let rounded = match sample.unit.as_nanos() {
        0 | 1 => 0.0,
        unit => (unit as f64 / mean.exp()).ln_1p(),
    };
    Ok(Estimate { mean, variance, rounds: count, rounded })
}

/// The logarithm of a length; that of 1 ns for none, which has no logarithm.
fn logarithm(length: Nanos) -> f64 {
    (length.as_nanos().max(1) as f64).ln()
}

/// What telling lengths by buckets of 1 ns or 0.1 % adds to the variance: without
/// it, two cells of constant latency would differ for certain by a rounding.
fn resolution_variance(mean: f64) -> f64 {
    let width = (-mean).exp().max(1e-3);
    width.powi(2) / 12.0
}

fn difference(a: Estimate, b: Estimate, design: Design, margin: f64) -> Difference {
    let (variance, freedom) = match design {
        Design::Interleaved => pooled(a, b),
        Design::Apart => welch(a, b),
    };
    let deviation = variance.sqrt();
    let logarithm = b.mean - a.mean;
    let reach = student::critical(ALPHA, freedom) * deviation;
    // What was rounded down may have been as much more as the unit, on either side.
    let (low, high) = (logarithm - a.rounded - reach, logarithm + b.rounded + reach);
    let certain = if logarithm > 0.0 { logarithm - a.rounded } else { -logarithm - b.rounded };
    let reference = a.mean.exp();
    let nanos = |logarithm: f64| reference * (logarithm.exp() - 1.0);
    Difference {
        a: a.mean.exp(),
        b: b.mean.exp(),
        ratio: logarithm.exp(),
        ratio_low: low.exp(),
        ratio_high: high.exp(),
        nanos: nanos(logarithm),
        nanos_low: nanos(low),
        nanos_high: nanos(high),
        chance: student::chance_beyond(certain.max(0.0) / deviation, freedom),
        rounds_for_margin: rounds_for(margin, (a.variance + b.variance) / 2.0),
    }
}

/// The variance of the difference and its degrees of freedom where one variance holds for both.
fn pooled(a: Estimate, b: Estimate) -> (f64, f64) {
    let freedom = a.rounds + b.rounds - 2.0;
    let variance = ((a.rounds - 1.0) * a.variance + (b.rounds - 1.0) * b.variance) / freedom;
    (variance * (1.0 / a.rounds + 1.0 / b.rounds), freedom)
}

/// The same where each side has a variance of its own.
fn welch(a: Estimate, b: Estimate) -> (f64, f64) {
    let (of_a, of_b) = (a.variance / a.rounds, b.variance / b.rounds);
    let variance = of_a + of_b;
    let share = |of: f64, rounds: f64| of.powi(2) / (rounds - 1.0);
    (variance, variance.powi(2) / (share(of_a, a.rounds) + share(of_b, b.rounds)))
}

/// The rounds of each side by which a difference of `margin` is found in four of five
/// comparisons, by one test at [`ALPHA`], where a round has this variance.
fn rounds_for(margin: f64, variance: f64) -> Option<u32> {
    let wanted = margin.ln_1p();
    let finds = |rounds: u32| {
        let freedom = f64::from(2 * rounds - 2);
        let deviation = (2.0 * variance / f64::from(rounds)).sqrt();
        (student::critical(ALPHA, freedom) + POWER) * deviation <= wanted
    };
    // More rounds never find less, so the least number is found by halving.
    let (mut low, mut high) = (FEWEST_ROUNDS as u32, MOST_ROUNDS);
    if !finds(high) {
        return None;
    }
    while low < high {
        let middle = low.midpoint(high);
        if finds(middle) { high = middle } else { low = middle + 1 }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(mean: f64, variance: f64, rounds: f64) -> Estimate {
        Estimate { mean, variance, rounds, rounded: 0.0 }
    }

    #[test]
    fn the_two_tests_are_those_of_the_books() {
        // Equal numbers and variances: both tests have the same deviation and freedom.
        let (a, b) = (of(1.0, 0.04, 5.0), of(1.5, 0.04, 5.0));
        let ((pooled, freedom), (welch, of_welch)) = (pooled(a, b), welch(a, b));
        assert!((pooled - welch).abs() < 1e-12 && (freedom - of_welch).abs() < 1e-9);
        assert!((pooled - 0.016).abs() < 1e-12 && (freedom - 8.0).abs() < 1e-9);
        // t of 0.5 / √0.016 = 3.953 with eight degrees of freedom: 0.0042.
        let found = difference(a, b, Design::Interleaved, 0.05);
        assert!((found.chance - 0.0042).abs() < 2e-4, "{found:?}");
    }

    #[test]
    fn what_was_rounded_down_is_no_difference() {
        let rounded =
            |mean: f64| Estimate { rounded: (1000.0 / mean.exp()).ln_1p(), ..of(mean, 1e-6, 5.0) };
        let exact = of(12_900_f64.ln(), 1e-6, 5.0);
        let coarse = rounded(12_000_f64.ln());
        for found in [
            difference(coarse, exact, Design::Apart, 0.05),
            difference(exact, coarse, Design::Apart, 0.05),
        ] {
            assert!(found.ratio_low <= 1.0 && found.ratio_high >= 1.0, "{found:?}");
            assert!(found.chance > 0.5, "{found:?}");
        }
        let far = difference(coarse, of(14_000_f64.ln(), 1e-6, 5.0), Design::Apart, 0.05);
        assert!(far.ratio_low > 1.0 && far.chance < 0.05, "{far:?}");
    }

    #[test]
    fn more_variance_needs_more_rounds() {
        let needed: Vec<Option<u32>> = [0.001, 0.02, 0.1, 5.0]
            .map(|deviation: f64| rounds_for(0.05, deviation.powi(2)))
            .to_vec();
        assert_eq!(needed[0], Some(2));
        assert!(needed[1] > Some(2) && needed[1] < Some(10), "{needed:?}");
        // About 2 (1.96 + 0.842)² · 0.1² / 0.0488² = 66.
        assert!(needed[2].is_some_and(|rounds| (60..75).contains(&rounds)), "{needed:?}");
        assert_eq!(needed[3], None);
    }
}
