//! Comparisons of two runs or two cells: which quantiles differ, and with what confidence.
//!
//! Cells with the same settings are paired. Every quantile that both samples support
//! gets a [`Verdict`], never from a single round. Several quantiles and cells are
//! tested at once, so their p-values are adjusted for multiple comparisons by
//! Hochberg's method: if nothing differs, a comparison reports anything as better or
//! worse with a probability of at most 5 %.

mod difference;
mod hochberg;
mod pairing;
mod shift;

#[cfg(test)]
mod tests;

use serde::Serialize;
use tactus_model::cell::Cell;
use tactus_model::facts::FactRow;
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
pub use pairing::{Incomparable, Selection, SettingDiffers};

/// The compared quantiles.
pub const QUANTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];
/// The probability of at least one false alarm in a comparison.
pub const FALSE_ALARMS: f64 = 0.05;

/// Options of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CompareOptions {
    /// Figures that differ by less than this share count as the same.
    pub margin: f64,
    /// Compare cells even if they measure different things.
    pub force: bool,
}

impl Default for CompareOptions {
    fn default() -> Self {
        Self { margin: 0.05, force: false }
    }
}

/// The verdict on a quantile of B against that of A.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// B is less, after adjustment for all tests of the comparison.
    Better,
    /// B is greater, after adjustment for all tests of the comparison.
    Worse,
    /// The interval lies within the margin.
    Same,
    /// The data show neither a difference nor equivalence.
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
    /// The latency that this share of the wakeups of A did not exceed (*per wakeup*): the
    /// geometric mean over rounds if it is compared, otherwise the quantile of all rounds
    /// together.
    pub a: Option<Nanos>,
    /// The same of B.
    pub b: Option<Nanos>,
    /// The difference; `None` if they are not compared.
    pub difference: Option<Difference>,
    /// The p-value, adjusted for all tests of the comparison.
    pub adjusted_chance: Option<f64>,
    /// The units to which latencies of A and of B are rounded down; 1 ns for our own.
    pub units: [Nanos; 2],
    /// The verdict; `None` if they are not compared.
    pub verdict: Option<Verdict>,
    /// The reason if they are not compared.
    pub not_compared: Option<NotCompared>,
}

/// A cell on one side of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ComparedCell {
    /// Its run.
    pub run: String,
    /// Its index in the plan of its run.
    #[serde(rename = "number", serialize_with = "tactus_model::address::counted_from_one")]
    pub cell: usize,
    /// Its name among the cells of its run.
    pub label: String,
    /// The number of rounds with a result.
    pub rounds: usize,
    /// Missed due times, which quantiles *per wakeup* do not contain; `None` if the
    /// measuring program does not count them.
    pub missed: Option<u64>,
    /// All due times, as far as known.
    pub intended: u64,
    /// The program that measured it, if it was not Tactus.
    pub measured_by: Option<String>,
}

/// Two cells side by side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairComparison {
    /// The cell of A.
    pub a: ComparedCell,
    /// The cell of B.
    pub b: ComparedCell,
    /// The settings that are known for only one side, or for neither.
    pub unknown: Vec<String>,
    /// Each of [`QUANTILES`].
    pub quantiles: Vec<QuantileComparison>,
}

/// A fact in which the machines of two runs differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FactDiffers {
    /// Its group and name.
    pub fact: String,
    /// Its value in A.
    pub a: String,
    /// Its value in B.
    pub b: String,
}

/// The validity of one side of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SideValidity {
    /// Its run.
    pub run: String,
    /// The validity of its figures.
    pub validity: Validity,
    /// The reasons why it is invalid, in one line; `None` if it is not.
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
    /// The validity of A.
    pub a: SideValidity,
    /// The validity of B.
    pub b: SideValidity,
    /// The share below which figures count as the same.
    pub margin: f64,
    /// The order of the rounds of both sides in time.
    pub design: Design,
    /// The paired cells.
    pub pairs: Vec<PairComparison>,
    /// Cells of A without a partner in B.
    pub only_a: Vec<String>,
    /// Cells of B without a partner in A.
    pub only_b: Vec<String>,
    /// The facts that affect timing and differ between the machines.
    pub facts: Vec<FactDiffers>,
}

impl Comparison {
    /// Whether any figure is worse.
    pub fn any_worse(&self) -> bool {
        let mut figures = self.pairs.iter().flat_map(|pair| &pair.quantiles);
        figures.any(|figure| figure.verdict == Some(Verdict::Worse))
    }

    /// The number of tests.
    pub fn tests(&self) -> usize {
        let figures = self.pairs.iter().flat_map(|pair| &pair.quantiles);
        figures.filter(|figure| figure.difference.is_some()).count()
    }

    /// The number of rounds on each side with which all figures without a verdict would show
    /// a difference as large as the margin: `None` if every figure has a verdict, and
    /// `Some(None)` if the number is impractical.
    pub fn rounds_for_margin(&self) -> Option<Option<u32>> {
        let figures = self.pairs.iter().flat_map(|pair| &pair.quantiles);
        let open = figures
            .filter(|figure| figure.verdict == Some(Verdict::NoDifferenceFound))
            .filter_map(|figure| figure.difference)
            .map(|difference| difference.rounds_for_margin);
        // An impractical number counts as the largest.
        open.max_by_key(|rounds| rounds.unwrap_or(u32::MAX))
    }
}

/// Compares B with A.
///
/// # Errors
/// The sides have no cell in common, or they measure different things and `options.force`
/// is not set.
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

/// The settings that are not known for both cells.
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

/// Compares each quantile of two cells. Verdicts follow later, because they need all tests
/// of a comparison.
fn compare_samples(a: &Sample, b: &Sample, design: Design, margin: f64) -> Vec<QuantileComparison> {
    QUANTILES
        .into_iter()
        .zip(difference::differences(a, b, &QUANTILES, design, margin))
        .map(|(quantile, difference)| QuantileComparison {
            quantile,
            a: difference
                .map_or_else(|_| a.blocks.quantile(quantile), |found| Some(nearest(found.a))),
            b: difference
                .map_or_else(|_| b.blocks.quantile(quantile), |found| Some(nearest(found.b))),
            difference: difference.ok(),
            adjusted_chance: None,
            units: [a.unit, b.unit],
            verdict: None,
            not_compared: difference.err(),
        })
        .collect()
}

/// The nearest duration; the cast saturates.
fn nearest(nanos: f64) -> Nanos {
    Nanos::from_nanos(nanos.round() as u64)
}

/// Sets the verdict of each compared figure, adjusted for all tests.
fn give_verdicts<'q>(figures: impl Iterator<Item = &'q mut QuantileComparison>, margin: f64) {
    let mut tests: Vec<(&mut QuantileComparison, Difference)> =
        figures.filter_map(|figure| figure.difference.map(|found| (figure, found))).collect();
    let chances: Vec<f64> = tests.iter().map(|(_, difference)| difference.chance).collect();
    for ((figure, difference), chance) in tests.iter_mut().zip(adjusted(&chances)) {
        figure.adjusted_chance = Some(chance);
        figure.verdict = Some(verdict(difference, chance, margin));
    }
}

/// Equivalence comes first: a certain difference that is smaller than the margin does
/// not matter.
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

/// The facts about kernel, CPU, scheduling and cgroup in which two machines differ.
fn facts_that_differ(a: &Run, b: &Run) -> Vec<FactDiffers> {
    const DECIDING: [&str; 4] = ["Kernel", "CPU", "Scheduling", "Cgroup"];
    let (a, b) = (a.header.facts_before.rows(), b.header.facts_before.rows());
    a.into_iter()
        .zip(b)
        .filter(|(a, b)| DECIDING.contains(&a.group) && a.value != b.value)
        // An unknown fact may be equal.
        .filter(|(a, b)| [a, b].iter().all(|row| row.value != FactRow::UNKNOWN))
        // Directories of cgroups name sessions and do not describe the machine.
        .filter(|(a, _)| !a.name.ends_with("directory"))
        .map(|(a, b)| FactDiffers {
            fact: format!("{} {}", a.group.to_lowercase(), a.name),
            a: a.value,
            b: b.value,
        })
        .collect()
}
