//! The difference between a quantile of B and that of A, with its confidence interval.

use serde::Serialize;
use statrs::distribution::ContinuousCDF;
use tactus_model::format;
use tactus_model::time::{Instant, Nanos, Realtime};
use tactus_stats::bootstrap::{Blocks, Unsupported};

use super::shift::{self, Shift};

/// The minimum number of rounds of each side; one round does not show how rounds differ.
pub const FEWEST_ROUNDS: usize = 2;
/// The confidence of the intervals is 1 minus this.
const ALPHA: f64 = 0.05;
/// The 80 % quantile of the normal distribution; 80 % is the customary power.
const POWER: f64 = 0.842;
/// The largest practical number of rounds.
const MOST_ROUNDS: u32 = 1000;

/// The difference of B against A, with its 95 % confidence interval.
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
    /// The p-value of this test alone, not adjusted for multiple comparisons.
    pub chance: f64,
    /// The approximate number of rounds on each side with which four of five comparisons find
    /// a difference as large as the margin; `None` if more than 1000.
    pub rounds_for_margin: Option<u32>,
}

/// The reason why a quantile of two cells is not compared.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, thiserror::Error)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum NotCompared {
    /// One side was measured in too few rounds.
    #[error(
        "{side} has {} with samples, which does not show how rounds differ; measure it with `--rounds 3`",
        only(*rounds)
    )]
    FewRounds {
        /// Which side.
        side: Side,
        /// Its rounds.
        rounds: usize,
    },
    /// One side is a single file of another program.
    #[error(
        "{side} is a single file of another program, which does not show how rounds differ; measure again with that program, and import the files with `tactus import --as-rounds`"
    )]
    FewFiles {
        /// Which side.
        side: Side,
    },
    /// The sample of one side does not support the quantile.
    #[error("{side} has {cause}")]
    Sample {
        /// Which side.
        side: Side,
        /// The reason.
        #[source]
        cause: Unsupported,
    },
}

/// A number of rounds that is too small, in words.
fn only(rounds: usize) -> String {
    match rounds {
        0 => "no round".to_owned(),
        _ => format!("only {}", format::counted(rounds as u64, "round")),
    }
}

/// A side of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Side {
    /// The first, the reference.
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

/// The order of the rounds of two cells in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Design {
    /// Both are cells of one run, whose rounds are interleaved. Drift affected both sides
    /// equally, so one variance holds for both.
    Interleaved,
    /// Both were measured in deterministic time, which the machine does not affect. Rounds
    /// differ only by their seeds, so one variance holds for both.
    Seeds,
    /// They belong to two runs, one after the other; the machine may have drifted in between.
    Apart,
}

/// The data of one side.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    /// Its histograms, one per block of time, by round.
    pub(crate) blocks: Blocks,
    /// The start of the window of each of these rounds, in order.
    pub(crate) opened: Vec<Instant<Realtime>>,
    /// The unit to which latencies are rounded down.
    pub(crate) unit: Nanos,
    /// Whether another program measured it.
    pub(crate) imported: bool,
}

/// The quantile in each round of one side, as logarithms, because latencies differ by factors.
#[derive(Clone, Debug)]
struct Estimate {
    logarithms: Vec<f64>,
    mean: f64,
    /// The amount by which the true logarithm may be greater, because latencies are rounded
    /// down.
    rounded: f64,
}

/// The order of the rounds of two sides in time.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Interleaving {
    /// The rounds of both sides alternate.
    Turns,
    /// The rounds of A, then those of B after a gap, in units of the spacing of rounds.
    AFirst(f64),
    /// The rounds of B, then those of A.
    BFirst(f64),
}

/// Compares `quantiles` of two cells; figures that differ by less than `margin` are the same.
///
/// The unit is a round: the quantile is computed in each, and the levels of their logarithms
/// are compared by Student's t (see `shift`). `docs/ci.md` shows how often this finds a
/// planted difference, and its rate of false alarms.
pub(crate) fn differences(
    a: &Sample,
    b: &Sample,
    quantiles: &[f64],
    design: Design,
    margin: f64,
) -> Vec<Result<Difference, NotCompared>> {
    let interleaving = match design {
        Design::Interleaved | Design::Seeds => Interleaving::Turns,
        Design::Apart => interleaving(&a.opened, &b.opened),
    };
    quantiles
        .iter()
        .map(|quantile| {
            let (in_a, in_b) = (estimate(a, Side::A, *quantile)?, estimate(b, Side::B, *quantile)?);
            Ok(difference(&in_a, &in_b, interleaving, margin))
        })
        .collect()
}

/// The order of two runs, and the gap between them in rounds.
///
/// A gap of hours does not imply that the level moved far, because a level does not
/// drift without limit. So a gap counts for at most as many rounds as the longer run has.
fn interleaving(a: &[Instant<Realtime>], b: &[Instant<Realtime>]) -> Interleaving {
    let (Some(first_a), Some(first_b)) = (a.first(), b.first()) else {
        return Interleaving::AFirst(1.0);
    };
    let gap = |earlier: &[Instant<Realtime>], later: Instant<Realtime>| {
        let between = earlier.last().map_or(Nanos::ZERO, |last| later - *last);
        let most = a.len().max(b.len()) as f64;
        let usual = usual_spacing(a).max(usual_spacing(b)).as_secs_f64();
        // Without known times, both are 0 and the result is a gap of one round.
        (between.as_secs_f64() / usual).max(1.0).min(most)
    };
    if first_b < first_a {
        Interleaving::BFirst(gap(b, *first_a))
    } else {
        Interleaving::AFirst(gap(a, *first_b))
    }
}

/// The median time between the starts of consecutive rounds.
fn usual_spacing(opened: &[Instant<Realtime>]) -> Nanos {
    let mut spacings: Vec<Nanos> = opened.windows(2).map(|pair| pair[1] - pair[0]).collect();
    spacings.sort_unstable();
    spacings.get(spacings.len() / 2).copied().unwrap_or_default()
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
    let mean = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
    let rounded = match sample.unit.as_nanos() {
        0 | 1 => 0.0,
        unit => (unit as f64 / mean.exp()).ln_1p(),
    };
    Ok(Estimate { logarithms, mean, rounded })
}

/// The logarithm of a duration in nanoseconds; 0 counts as 1 ns.
fn logarithm(duration: Nanos) -> f64 {
    (duration.as_nanos().max(1) as f64).ln()
}

/// The variance that buckets of 1 ns or 0.1 % add: without it, two cells of constant
/// latency would differ with certainty by a rounding error.
fn resolution_variance(mean: f64) -> f64 {
    let width = (-mean).exp().max(1e-3);
    width.powi(2) / 12.0
}

fn difference(a: &Estimate, b: &Estimate, interleaving: Interleaving, margin: f64) -> Difference {
    let resolution = (resolution_variance(a.mean) + resolution_variance(b.mean)) / 2.0;
    let (in_a, in_b) = (&a.logarithms, &b.logarithms);
    let (shift, sign) = match interleaving {
        Interleaving::Turns => (shift::within_run(in_a, in_b, resolution), 1.0),
        Interleaving::AFirst(gap) => (shift::between_runs(in_a, in_b, gap, resolution), 1.0),
        Interleaving::BFirst(gap) => (shift::between_runs(in_b, in_a, gap, resolution), -1.0),
    };
    // On either side, a value that was rounded down may be greater by up to the unit.
    let (below, above) = if sign > 0.0 { (a.rounded, b.rounded) } else { (b.rounded, a.rounded) };
    let (low, high) = shift.interval(ALPHA);
    let (low, high) = (low - below, high + above);
    let (low, high) = if sign > 0.0 { (low, high) } else { (-high, -low) };
    // The interval accounts for drift and may exclude the plain ratio. It is widened to contain
    // it, because a ratio outside its own interval would confuse readers.
    let logarithm = b.mean - a.mean;
    let (low, high) = (low.min(logarithm), high.max(logarithm));
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
        chance: shift.chance_of_none(-above, below),
        rounds_for_margin: rounds_for(margin, &shift),
    }
}

/// The number of rounds on each side with which one test at [`ALPHA`] finds a difference of
/// `margin` in four of five comparisons, if rounds scatter and drift like those of `shift`.
fn rounds_for(margin: f64, shift: &Shift) -> Option<u32> {
    let wanted = margin.ln_1p();
    let finds = |rounds: u32| {
        let freedom = f64::from(2 * rounds - 2);
        let deviation = shift.variance_with(rounds).sqrt();
        let critical = shift::student(freedom).inverse_cdf(1.0 - ALPHA / 2.0);
        (critical + POWER) * deviation <= wanted
    };
    // More rounds never find less, so bisection finds the least number.
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

    /// Rounds that alternate around `mean` with this deviation.
    fn of(mean: f64, deviation: f64, rounds: usize) -> Estimate {
        let scatter = deviation * ((rounds - 1) as f64 / rounds as f64).sqrt();
        let logarithms = (0..rounds).map(|k| mean + if k % 2 == 0 { scatter } else { -scatter });
        Estimate { logarithms: logarithms.collect(), mean, rounded: 0.0 }
    }

    #[test]
    fn rounding_down_is_not_a_difference() {
        let rounded =
            |mean: f64| Estimate { rounded: (1000.0 / mean.exp()).ln_1p(), ..of(mean, 1e-3, 6) };
        let exact = of(12_900_f64.ln(), 1e-3, 6);
        let coarse = rounded(12_000_f64.ln());
        for interleaving in
            [Interleaving::Turns, Interleaving::AFirst(1.0), Interleaving::BFirst(1.0)]
        {
            for (a, b) in [(&coarse, &exact), (&exact, &coarse)] {
                let found = difference(a, b, interleaving, 0.05);
                assert!(found.ratio_low <= 1.0 && found.ratio_high >= 1.0, "{found:?}");
                assert!(found.chance > 0.5, "{found:?}");
            }
            let far = difference(&coarse, &of(14_000_f64.ln(), 1e-3, 6), interleaving, 0.05);
            assert!(far.ratio_low > 1.0 && far.chance < 0.05, "{far:?}");
        }
    }

    #[test]
    fn the_order_of_two_runs_does_not_reverse_the_difference() {
        let (low, high) = (of(9.0, 0.02, 5), of(9.3, 0.02, 5));
        let there = difference(&low, &high, Interleaving::AFirst(2.0), 0.05);
        let back = difference(&low, &high, Interleaving::BFirst(2.0), 0.05);
        assert!(there.ratio > 1.3 && back.ratio > 1.3, "{there:?}, {back:?}");
        assert!(there.ratio_low < there.ratio && there.ratio < there.ratio_high);
        assert!(back.ratio_low < back.ratio && back.ratio < back.ratio_high);
        let reversed = difference(&high, &low, Interleaving::AFirst(2.0), 0.05);
        assert!((reversed.ratio.ln() + back.ratio.ln()).abs() < 1e-9);
        assert!((reversed.chance - back.chance).abs() < 1e-9);
    }

    #[test]
    fn a_gap_counts_for_at_most_the_rounds_of_a_run() {
        let run = |start: u64, rounds: u64| -> Vec<Instant<Realtime>> {
            (0..rounds).map(|round| Instant::from_nanos(start + 1000 * round)).collect()
        };
        let check = |a: Vec<_>, b: Vec<_>, expected| assert_eq!(interleaving(&a, &b), expected);
        check(run(0, 5), run(5000, 5), Interleaving::AFirst(1.0));
        check(run(0, 5), run(7000, 5), Interleaving::AFirst(3.0));
        check(run(0, 5), run(900_000, 7), Interleaving::AFirst(7.0));
        check(run(9000, 3), run(0, 5), Interleaving::BFirst(5.0));
        // Without times, or at the same time.
        check(
            vec![Instant::from_nanos(0); 3],
            vec![Instant::from_nanos(0); 3],
            Interleaving::AFirst(1.0),
        );
        check(run(0, 5), run(500, 5), Interleaving::AFirst(1.0));
    }

    #[test]
    fn more_variance_needs_more_rounds() {
        let needed: Vec<Option<u32>> = [0.001, 0.02, 0.1, 5.0]
            .map(|deviation: f64| {
                let rounds = of(9.0, deviation, 6).logarithms;
                rounds_for(0.05, &shift::within_run(&rounds, &rounds, 0.0))
            })
            .to_vec();
        assert_eq!(needed[0], Some(2));
        assert!(needed[1] > Some(2) && needed[1] < Some(10), "{needed:?}");
        // About 2 (1.96 + 0.842)² · 0.1² / 0.0488² = 66.
        assert!(needed[2].is_some_and(|rounds| (60..75).contains(&rounds)), "{needed:?}");
        assert_eq!(needed[3], None);
    }

    #[test]
    fn no_number_of_rounds_compensates_for_drift() {
        let walk: Vec<f64> = [9.0, 9.2, 9.5, 9.4, 9.7, 10.0, 10.4].to_vec();
        assert_eq!(rounds_for(0.05, &shift::between_runs(&walk, &walk, 1.0, 0.0)), None);
    }
}
