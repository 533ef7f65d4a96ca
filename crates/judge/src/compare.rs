//! Two runs, or two cells, side by side: which quantiles differ, and how sure that is.
//!
//! Cells of the same settings are paired. [`Verdict`]s are given for every quantile
//! that both samples support, never from one round alone. Several quantiles and
//! cells are tested at once, so the chances of all of them are adjusted together
//! after Holm: when nothing differs anywhere, a comparison calls anything better or
//! worse with a chance of at most 5 %.

mod difference;
mod holm;
mod pairing;
mod student;

#[cfg(test)]
mod tests;

use serde::Serialize;
use tactus_model::result::{Histogram, Measurement};
use tactus_model::run::Run;
use tactus_model::time::Nanos;
use tactus_stats::bootstrap::Blocks;
use tactus_stats::cell::blocks_of_all_tasks;

use crate::verdict::{self, Validity};

pub use difference::{Difference, FEWEST_ROUNDS, NotCompared, Side};
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
    /// The latency that so many wakeups of A did not exceed (*per wakeup*).
    pub a: Option<Nanos>,
    /// The same of B.
    pub b: Option<Nanos>,
    /// How they differ; `None` where they are not compared.
    pub difference: Option<Difference>,
    /// The chance of such a difference where there is none, adjusted for all tests
    /// of the comparison.
    pub adjusted_chance: Option<f64>,
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
    /// Due times that were slept through, which quantiles *per wakeup* do not hold.
    pub missed: u64,
    /// Due times in all.
    pub intended: u64,
}

/// Two cells side by side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairComparison {
    /// The cell of A.
    pub a: ComparedCell,
    /// The cell of B.
    pub b: ComparedCell,
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
    let mut compared: Vec<PairComparison> = pairs
        .iter()
        .map(|pair| {
            let (in_a, in_b) = (measurements(a.run, pair.a), measurements(b.run, pair.b));
            PairComparison {
                a: compared_cell(a.run, pair.a, &in_a),
                b: compared_cell(b.run, pair.b, &in_b),
                quantiles: compare_blocks(&blocks(&in_a), &blocks(&in_b)),
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
        pairs: compared,
        only_a: alone(a, pairs.iter().map(|pair| pair.a).collect()),
        only_b: alone(b, pairs.iter().map(|pair| pair.b).collect()),
        facts: facts_that_differ(a.run, b.run),
    })
}

fn measurements(run: &Run, cell: usize) -> Vec<&Measurement> {
    run.of_cell(cell).collect()
}

fn blocks(measurements: &[&Measurement]) -> Blocks {
    let rounds: Vec<Vec<Histogram>> =
        measurements.iter().map(|measurement| blocks_of_all_tasks(measurement)).collect();
    Blocks::new(&rounds)
}

fn compared_cell(run: &Run, cell: usize, measurements: &[&Measurement]) -> ComparedCell {
    let accounting = || measurements.iter().map(|measurement| measurement.accounting());
    ComparedCell {
        run: run.header.id.to_string(),
        cell,
        label: run.header.plan.labels()[cell].clone(),
        rounds: measurements.len(),
        missed: accounting().map(|counts| counts.missed).sum(),
        intended: accounting().map(|counts| counts.intended).sum(),
    }
}

/// Compares each quantile of two cells, without verdicts, which need all tests of a comparison.
fn compare_blocks(a: &Blocks, b: &Blocks) -> Vec<QuantileComparison> {
    QUANTILES
        .into_iter()
        .zip(difference::differences(a, b, &QUANTILES))
        .map(|(quantile, difference)| QuantileComparison {
            quantile,
            a: a.quantile(quantile),
            b: b.quantile(quantile),
            difference: difference.ok(),
            adjusted_chance: None,
            verdict: None,
            not_compared: difference.err(),
        })
        .collect()
}

/// Gives each figure that was compared its verdict, by all tests together.
fn give_verdicts<'q>(figures: impl Iterator<Item = &'q mut QuantileComparison>, margin: f64) {
    let mut tests: Vec<(&mut QuantileComparison, Difference)> =
        figures.filter_map(|figure| figure.difference.map(|found| (figure, found))).collect();
    let chances: Vec<f64> = tests.iter().map(|(_, difference)| difference.chance).collect();
    for ((figure, difference), chance) in tests.iter_mut().zip(holm::adjusted(&chances)) {
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
    } else if chance > FALSE_ALARMS {
        Verdict::NoDifferenceFound
    } else if difference.ratio > 1.0 {
        Verdict::Worse
    } else {
        Verdict::Better
    }
}

/// The facts of kernel, processor, scheduling and cgroup in which two machines differ.
fn facts_that_differ(a: &Run, b: &Run) -> Vec<FactDiffers> {
    const DECIDING: [&str; 4] = ["Kernel", "Processor", "Scheduling", "Cgroup"];
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
