//! Two runs, or two cells, side by side: which quantiles differ, and how sure that is.
//!
//! Cells of the same settings are paired. [`Verdict`]s are given for every quantile
//! that both samples support, never from one round alone. Several quantiles and
//! cells are tested at once, so the chances of all of them are adjusted together
//! after Hochberg: when nothing differs anywhere, a comparison calls anything better or
//! worse with a chance of at most 5 %.

mod difference;
mod hochberg;
mod pairing;
mod shift;

#[cfg(test)]
mod tests;

use serde::Serialize;
use tactus_model::cell::Cell;
use tactus_model::origin::{Origin, Precision};
use tactus_model::result::{Histogram, Measurement};
use tactus_model::run::Run;
use tactus_model::time::Nanos;
use tactus_stats::bootstrap::Blocks;
use tactus_stats::cell::blocks_of_all_tasks;

use crate::verdict::{self, Validity};

use difference::Sample;
pub use difference::{Design, Difference, FEWEST_ROUNDS, NotCompared, Side};
pub(crate) use hochberg::adjusted;
pub use pairing::{Incomparable, Selection, SettingDiffers, UnknownCell, find_cell};

/// The quantiles that are compared.
pub const QUANTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];
/// The chance of any false alarm in a comparison.
pub const FALSE_ALARMS: f64 = 0.05;

/// How a comparison is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CompareOptions {
    /// Figures that differ by less than this share count as the same.
    pub margin: f64,
    /// Compare what measures different things.
    pub force: bool,
}

impl Default for CompareOptions {
    fn default() -> Self {
        Self { margin: 0.05, force: false }
    }
}

/// What is said of a quantile of B against that of A.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// B is less, by the tests of the whole comparison together.
    Better,
    /// B is greater, by the tests of the whole comparison together.
    Worse,
    /// The interval lies within the margin.
    Same,
    /// Neither a difference nor equivalence could be shown.
    NoDifferenceFound,
}

impl Verdict {
    /// The verdict in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Same => "the same",
            Self::NoDifferenceFound => "no difference found",
        }
    }
}

/// A quantile of both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QuantileComparison {
    /// The share of wakeups, 0 to 1.
    pub quantile: f64,
    /// The latency that so many wakeups of A did not exceed (*per wakeup*): the geometric
    /// mean over rounds where it is compared, else that of all rounds together.
    pub a: Option<Nanos>,
    /// The same of B.
    pub b: Option<Nanos>,
    /// How they differ; `None` where they are not compared.
    pub difference: Option<Difference>,
    /// The chance of such a difference where there is none, adjusted for all tests
    /// of the comparison.
    pub adjusted_chance: Option<f64>,
    /// The units that latencies of A and of B are told in, rounded down; 1 ns for our own.
    pub units: [Nanos; 2],
    /// What follows; `None` where they are not compared.
    pub verdict: Option<Verdict>,
    /// Why they are not compared, where they are not.
    pub not_compared: Option<NotCompared>,
}

/// A cell as a side of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ComparedCell {
    /// Its run.
    pub run: String,
    /// Its index in the plan of its run.
    pub cell: usize,
    /// Its name among the cells of its run.
    pub label: String,
    /// The rounds that yielded a result.
    pub rounds: usize,
    /// Due times that were slept through, which quantiles *per wakeup* do not hold; `None`
    /// where another program measured that does not count them.
    pub missed: Option<u64>,
    /// Due times in all, as far as they are known.
    pub intended: u64,
    /// The other program that measured it, where one did.
    pub measured_by: Option<String>,
}

/// Two cells side by side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairComparison {
    /// The cell of A.
    pub a: ComparedCell,
    /// The cell of B.
    pub b: ComparedCell,
    /// The settings that are known of one side only, or of none.
    pub unknown: Vec<String>,
    /// Each of [`QUANTILES`].
    pub quantiles: Vec<QuantileComparison>,
}

/// A fact in which the machines of two runs differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FactDiffers {
    /// What the fact is about, and its name.
    pub fact: String,
    /// Its value in A.
    pub a: String,
    /// Its value in B.
    pub b: String,
}

/// How far a side of a comparison can be relied on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SideValidity {
    /// Its run.
    pub run: String,
    /// What its verdict comes to.
    pub validity: Validity,
    /// What invalidates it, in a line; `None` where nothing does.
    pub why_invalid: Option<String>,
}

impl SideValidity {
    fn of(run: &Run) -> Self {
        let verdict = verdict::verdict(run);
        let why = verdict.why_invalid();
        Self {
            run: run.header.id.to_string(),
            validity: verdict.validity,
            why_invalid: Some(why).filter(|why| !why.is_empty()),
        }
    }
}

/// Two runs or cells side by side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// How far A can be relied on.
    pub a: SideValidity,
    /// How far B can be relied on.
    pub b: SideValidity,
    /// The share below which figures count as the same.
    pub margin: f64,
    /// How the rounds of both lie to each other in time.
    pub design: Design,
    /// The cells that were paired.
    pub pairs: Vec<PairComparison>,
    /// Cells of A without a partner in B.
    pub only_a: Vec<String>,
    /// Cells of B without a partner in A.
    pub only_b: Vec<String>,
    /// What differs between the machines, as far as it decides timing.
    pub facts: Vec<FactDiffers>,
}

impl Comparison {
    /// Whether any figure is worse.
    pub fn any_worse(&self) -> bool {
        let mut figures = self.pairs.iter().flat_map(|pair| &pair.quantiles);
        figures.any(|figure| figure.verdict == Some(Verdict::Worse))
    }

    /// How many tests were made.
    pub fn tests(&self) -> usize {
        let figures = self.pairs.iter().flat_map(|pair| &pair.quantiles);
        figures.filter(|figure| figure.difference.is_some()).count()
    }

    /// The most rounds of each side that any figure without a verdict would need for a
    /// difference as great as the margin to be found: `None` where every figure has a
    /// verdict, and `Some(None)` where more than anybody measures are needed.
    pub fn rounds_for_margin(&self) -> Option<Option<u32>> {
        let figures = self.pairs.iter().flat_map(|pair| &pair.quantiles);
        let open = figures
            .filter(|figure| figure.verdict == Some(Verdict::NoDifferenceFound))
            .filter_map(|figure| figure.difference)
            .map(|difference| difference.rounds_for_margin);
        // Without a limit is more than any number.
        open.max_by_key(|rounds| rounds.unwrap_or(u32::MAX))
    }
}

/// Compares B with A.
///
/// # Errors
/// They have no cell in common, or measure different things and `options.force` is not set.
pub fn compare(
    a: Selection<'_>,
    b: Selection<'_>,
    options: &CompareOptions,
) -> Result<Comparison, Incomparable> {
    let pairs = pairing::pairs(a, b, options.force)?;
    let design = match a.run.header.id == b.run.header.id {
        _ if [a, b].iter().all(|side| verdict::is_exact(side.run)) => Design::Seeds,
        true => Design::Interleaved,
        false => Design::Apart,
    };
    let mut compared: Vec<PairComparison> = pairs
        .iter()
        .map(|pair| {
            let (in_a, in_b) = (measurements(a.run, pair.a), measurements(b.run, pair.b));
            PairComparison {
                a: compared_cell(a.run, pair.a, &in_a),
                b: compared_cell(b.run, pair.b, &in_b),
                unknown: unknown(
                    &a.run.header.plan.cells[pair.a],
                    &b.run.header.plan.cells[pair.b],
                ),
                quantiles: compare_samples(&sample(&in_a), &sample(&in_b), design, options.margin),
            }
        })
        .collect();
    give_verdicts(compared.iter_mut().flat_map(|pair| &mut pair.quantiles), options.margin);
    let alone = |side: Selection<'_>, taken: Vec<usize>| -> Vec<String> {
        let labels = side.run.header.plan.labels().into_iter().enumerate();
        let alone = labels.filter(|(cell, _)| side.cell.is_none() && !taken.contains(cell));
        alone.map(|(_, label)| label).collect()
    };
    Ok(Comparison {
        a: SideValidity::of(a.run),
        b: SideValidity::of(b.run),
        margin: options.margin,
        design,
        pairs: compared,
        only_a: alone(a, pairs.iter().map(|pair| pair.a).collect()),
        only_b: alone(b, pairs.iter().map(|pair| pair.b).collect()),
        facts: facts_that_differ(a.run, b.run),
    })
}

fn measurements(run: &Run, cell: usize) -> Vec<&Measurement> {
    run.of_cell(cell).collect()
}

fn sample(measurements: &[&Measurement]) -> Sample {
    let mut in_time = measurements.to_vec();
    in_time.sort_by_key(|measurement| measurement.started);
    let (opened, rounds): (Vec<_>, Vec<Vec<Histogram>>) = in_time
        .into_iter()
        .map(|measurement| (measurement.started, blocks_of_all_tasks(measurement)))
        .filter(|(_, blocks)| blocks.iter().any(|block| block.count > 0))
        .unzip();
    let precision = precision(measurements);
    Sample {
        blocks: Blocks::new(&rounds),
        opened,
        unit: precision.map_or(Nanos::from_nanos(1), |precision| precision.unit),
        imported: precision.is_some(),
    }
}

fn precision(measurements: &[&Measurement]) -> Option<Precision> {
    measurements.iter().filter_map(|found| found.precision).reduce(Precision::and)
}

/// The settings that are not known of both cells.
fn unknown(a: &Cell, b: &Cell) -> Vec<String> {
    let names = a.settings().map(|(name, _)| name);
    names.filter(|name| !(a.knows(name) && b.knows(name))).map(str::to_owned).collect()
}

fn compared_cell(run: &Run, cell: usize, measurements: &[&Measurement]) -> ComparedCell {
    let accounting = || measurements.iter().map(|measurement| measurement.accounting());
    ComparedCell {
        run: run.header.id.to_string(),
        cell,
        label: run.header.plan.labels()[cell].clone(),
        rounds: measurements.len(),
        missed: precision(measurements)
            .is_none_or(|precision| precision.missed_known)
            .then(|| accounting().map(|counts| counts.missed).sum()),
        intended: accounting().map(|counts| counts.intended).sum(),
        measured_by: run.header.origin.as_ref().map(Origin::program),
    }
}

/// Compares each quantile of two cells, without verdicts, which need all tests of a comparison.
fn compare_samples(a: &Sample, b: &Sample, design: Design, margin: f64) -> Vec<QuantileComparison> {
    QUANTILES
        .into_iter()
        .zip(difference::differences(a, b, &QUANTILES, design, margin))
        .map(|(quantile, difference)| QuantileComparison {
            quantile,
            a: difference
                .map_or_else(|_| a.blocks.quantile(quantile), |found| Some(length(found.a))),
            b: difference
                .map_or_else(|_| b.blocks.quantile(quantile), |found| Some(length(found.b))),
            difference: difference.ok(),
            adjusted_chance: None,
            units: [a.unit, b.unit],
            verdict: None,
            not_compared: difference.err(),
        })
        .collect()
}

/// The nearest length, which a cast saturates at.
fn length(nanos: f64) -> Nanos {
    Nanos::from_nanos(nanos.round() as u64)
}

/// Gives each figure that was compared its verdict, by all tests together.
fn give_verdicts<'q>(figures: impl Iterator<Item = &'q mut QuantileComparison>, margin: f64) {
    let mut tests: Vec<(&mut QuantileComparison, Difference)> =
        figures.filter_map(|figure| figure.difference.map(|found| (figure, found))).collect();
    let chances: Vec<f64> = tests.iter().map(|(_, difference)| difference.chance).collect();
    for ((figure, difference), chance) in tests.iter_mut().zip(adjusted(&chances)) {
        figure.adjusted_chance = Some(chance);
        figure.verdict = Some(verdict(difference, chance, margin));
    }
}

/// Equivalence comes first: a difference that is certain and smaller than the
/// margin is one that does not matter.
fn verdict(difference: &Difference, chance: f64, margin: f64) -> Verdict {
    let within = 1.0 / (1.0 + margin)..=1.0 + margin;
    if within.contains(&difference.ratio_low) && within.contains(&difference.ratio_high) {
        Verdict::Same
    } else if chance > FALSE_ALARMS || (difference.ratio_low..=difference.ratio_high).contains(&1.0)
    {
        Verdict::NoDifferenceFound
    } else if difference.ratio > 1.0 {
        Verdict::Worse
    } else {
        Verdict::Better
    }
}

/// The facts of kernel, CPU, scheduling and cgroup in which two machines differ.
fn facts_that_differ(a: &Run, b: &Run) -> Vec<FactDiffers> {
    const DECIDING: [&str; 4] = ["Kernel", "CPU", "Scheduling", "Cgroup"];
    let (a, b) = (a.header.facts_before.rows(), b.header.facts_before.rows());
    a.into_iter()
        .zip(b)
        .filter(|(a, b)| DECIDING.contains(&a.group) && a.value != b.value)
        // Directories of cgroups name sessions and say nothing of the machine.
        .filter(|(a, _)| !a.name.ends_with("directory"))
        .map(|(a, b)| FactDiffers {
            fact: format!("{} {}", a.group.to_lowercase(), a.name),
            a: a.value,
            b: b.value,
        })
        .collect()
}
