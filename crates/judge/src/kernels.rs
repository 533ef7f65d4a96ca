//! Whether one kernel is worse than another, from one run of both in deterministic time.
//!
//! In deterministic (instruction-counted) time, the same kernel with the same seed yields the
//! same figures to the byte. Another seed changes which code paths coincide. So all figures are
//! compared by the ranks of their seeds, a path that is the same for every seed too: that a few
//! seeds agree does not show that all do. Differences within the [`Allowance`] are ignored. The
//! p-values of all figures are adjusted for multiple comparisons by Hochberg's method, so that
//! for two equal kernels the probability of any reported difference is at most
//! [`GateRule::false_alarms`].
//!
//! Both kernels have the same seeds, but the ranks do not pair them: one instruction more changes
//! what coincides, and the signs of ten pairs have a p-value of at least 0.002, which no adjustment
//! survives. What a seed has in common under both kernels, the due times of its wakeups, makes
//! the ranks more alike than those of independent seeds, so false alarms become rarer.

mod figure;
mod ranks;

#[cfg(test)]
mod tests;

use serde::Serialize;
use tactus_model::cell::Cell;
use tactus_model::experiment::Plan;
use tactus_model::format;
use tactus_model::gate_rule::{Allowance, GateRule};
use tactus_model::guest::{Guest, GuestTime, Speed};
use tactus_model::label::labels;
use tactus_model::result::{Failure, Measurement};
use tactus_model::run::Run;

pub use figure::{Figure, Kind};

use crate::compare::adjusted;
use crate::gate::{GateReport, Judgement, Outcome};
use crate::verdict::needed_third_boot;

/// One of the two kernels of a gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KernelSide {
    /// The kernel in the plan's notation, with the additions to its command line.
    pub kernel: String,
    /// The release in the header of its file, if it was measured.
    pub release: Option<String>,
    /// The SHA-256 digest of its file, if it was measured.
    pub sha256: Option<String>,
}

/// The figures of all seeds under one kernel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Seeds {
    /// The number of seeds.
    pub count: usize,
    /// The least figure of a seed.
    pub least: f64,
    /// The median over seeds; for an even number, the mean of the middle two.
    pub median: f64,
    /// The greatest figure of a seed.
    pub greatest: f64,
}

impl Seeds {
    fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (least, greatest) = (*sorted.first()?, *sorted.last()?);
        let count = sorted.len();
        let median = f64::midpoint(sorted[(count - 1) / 2], sorted[count / 2]);
        Some(Self { count, least, median, greatest })
    }

    /// Whether all seeds of both kernels have the same figure within `allowed`.
    fn are_equal(&self, other: &Self, allowed: f64) -> bool {
        self.greatest.max(other.greatest) - self.least.min(other.least) <= allowed
    }

    /// The range in which the figures of all seeds lie; `None` if they are the same.
    pub fn range(&self) -> Option<[f64; 2]> {
        (self.least != self.greatest).then_some([self.least, self.greatest])
    }
}

/// The verdict on a figure under the kernel against the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Greater: a longer path, a later tail, or a more frequent event.
    Greater,
    /// Less.
    Less,
    /// All seeds have the same figure under both kernels.
    Same,
    /// The same, but for a difference within the allowance.
    WithinAllowance,
    /// The ranks of the seeds show no difference beyond the allowance.
    NoDifferenceFound,
    /// With so few seeds, not even the greatest difference would be found.
    TooFewSeeds,
}

impl Verdict {
    /// The verdict in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Greater => "greater",
            Self::Less => "less",
            Self::Same => "the same",
            Self::WithinAllowance => "within the allowance",
            Self::NoDifferenceFound => "no difference found",
            Self::TooFewSeeds => "too few seeds",
        }
    }
}

/// A figure of one cell under both kernels.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FigureComparison {
    /// The figure.
    pub figure: Figure,
    /// Whether it is a path or a tail.
    pub kind: Kind,
    /// The seeds under the baseline.
    pub baseline: Seeds,
    /// The seeds under the kernel.
    pub kernel: Seeds,
    /// The permitted difference of the medians: the allowance plus the uncertainty of counting
    /// whole operations and interrupts.
    pub allowed: f64,
    /// The p-value of the ranks of the seeds.
    pub chance: f64,
    /// The p-value, adjusted for all figures of the gate.
    pub adjusted_chance: f64,
    /// The verdict.
    pub verdict: Verdict,
}

impl FigureComparison {
    /// The difference of the medians relative to the baseline; `None` if the baseline is 0.
    pub fn change(&self) -> Option<f64> {
        let (from, to) = (self.baseline.median, self.kernel.median);
        (from != 0.0).then(|| to / from - 1.0)
    }
}

/// A cell under both kernels.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellComparison {
    /// Its name among the cells of one kernel.
    pub cell: String,
    /// Its figures; empty if there is nothing to compare.
    pub figures: Vec<FigureComparison>,
    /// The reason if there is nothing to compare: a turn without a result.
    pub not_measured: Option<String>,
}

/// Two kernels, cell by cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelComparison {
    /// The run of both.
    pub run: String,
    /// The reference kernel.
    pub baseline: KernelSide,
    /// The judged kernel.
    pub kernel: KernelSide,
    /// The speed of the guest's time, in millions of instructions per second.
    pub mips: u32,
    /// The planned number of seeds for each cell.
    pub seeds: u32,
    /// The seed of the plan, from which the seeds of all turns are derived.
    pub seed: u64,
    /// Differences up to this count as the same.
    pub allowance: Allowance,
    /// The probability of any false alarm among all comparisons.
    pub false_alarms: f64,
    /// How many turns needed a third boot, because the outputs of the first two differed.
    pub third_boots: u64,
    /// Why only paths were compared although tails were wanted, if so.
    pub tails_left_out: Option<String>,
    /// The cells in the order of the plan.
    pub cells: Vec<CellComparison>,
}

/// The reason why a run does not compare two kernels.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAGate {
    /// Its cells are not the same cells under two kernels.
    #[error(
        "{0} does not contain the same cells under two kernels; `tactus lab gate` measures such runs"
    )]
    NotTwoKernels(String),
    /// It was not measured in deterministic time.
    #[error(
        "{0} was not measured in deterministic time, so the host affects its figures; `tactus lab gate` measures in deterministic time"
    )]
    NotExact(String),
}

/// The plan of a gate with this rule: the cells under the baseline, then the same cells under the
/// kernel.
///
/// Both may be the same kernel, which tests the gate itself.
pub fn plan(baseline: Plan, kernel: Plan, rule: GateRule) -> Plan {
    let cells = baseline.cells.into_iter().chain(kernel.cells).collect();
    Plan { cells, gate: Some(rule), ..baseline }
}

/// The reason why a gate cannot find any difference.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error(
    "{seeds} seeds cannot show a difference in one of {figures} figures with at most {} % of false alarms; {needed} can",
    .false_alarms * 100.0
)]
pub struct TooFewSeeds {
    /// The planned seeds.
    pub seeds: u32,
    /// The compared figures, at most.
    pub figures: usize,
    /// The probability of any false alarm.
    pub false_alarms: f64,
    /// The least number of seeds that can.
    pub needed: u32,
}

/// Checks that a plan by [`plan`] has enough seeds to find a difference in a single figure.
///
/// # Errors
/// It has too few.
pub fn check_seeds(plan: &Plan, rule: &GateRule) -> Result<(), TooFewSeeds> {
    let cells = &plan.cells[..plan.cells.len() / 2];
    let of_cell = |cell: &Cell| {
        Figure::ALL
            .into_iter()
            .filter(|figure| figure.is_wanted(rule) && figure.may_have(cell))
            .count()
    };
    let figures = cells.iter().map(of_cell).sum();
    let false_alarms = rule.false_alarms;
    let suffice = |seeds: u32| can_decide(seeds as usize, seeds as usize, figures, false_alarms);
    let needed = (1..).find(|seeds| suffice(*seeds)).unwrap_or(u32::MAX);
    match plan.rounds < needed {
        true => Err(TooFewSeeds { seeds: plan.rounds, figures, false_alarms, needed }),
        false => Ok(()),
    }
}

/// Whether the seeds of two sides can show a difference in one of `figures`.
fn can_decide(baseline: usize, kernel: usize, figures: usize, false_alarms: f64) -> bool {
    ranks::least_chance(baseline, kernel) * figures as f64 <= false_alarms
}

/// Why a gate with this rule compares only the paths of a plan by [`plan`]: its seeds suffice
/// for these, but not for tails too. `None` if it compares all, or cannot decide at all.
fn tails_left_out(plan: &Plan, rule: &GateRule) -> Option<TooFewSeeds> {
    let paths = GateRule { paths_only: true, ..*rule };
    let few = check_seeds(plan, rule).err()?;
    check_seeds(plan, &paths).is_ok().then_some(few)
}

/// Compares the kernels of a run with a plan by [`plan`]. If its seeds suffice for paths but not for
/// tails, tails are left out.
///
/// # Errors
/// The run has another kind of plan.
pub fn compare(run: &Run, rule: &GateRule) -> Result<KernelComparison, NotAGate> {
    let plan = &run.header.plan;
    let id = || run.header.id.to_string();
    let (before, after) = plan.cells.split_at(plan.cells.len() / 2);
    let [from, to] = two_kernels(before, after).ok_or_else(|| NotAGate::NotTwoKernels(id()))?;
    let (GuestTime::Exact(speed), GuestTime::Exact(_)) = (from.time, to.time) else {
        return Err(NotAGate::NotExact(id()));
    };
    let left_out = tails_left_out(plan, rule);
    let rule = &GateRule { paths_only: rule.paths_only || left_out.is_some(), ..*rule };
    let figures = |cell: usize| figures(run, [cell, cell + before.len()], speed, rule);
    let mut cells: Vec<CellComparison> = labels(before)
        .into_iter()
        .enumerate()
        .map(|(cell, label)| match not_measured(run, [cell, cell + before.len()]) {
            None => CellComparison { cell: label, figures: figures(cell), not_measured: None },
            reason => CellComparison { cell: label, figures: Vec::new(), not_measured: reason },
        })
        .collect();
    conclude(cells.iter_mut().flat_map(|cell| &mut cell.figures).collect(), rule);
    Ok(KernelComparison {
        run: id(),
        baseline: side(run, from, 0..before.len()),
        kernel: side(run, to, before.len()..plan.cells.len()),
        mips: speed.mips(),
        seeds: plan.rounds,
        seed: plan.seed,
        allowance: rule.allowance,
        false_alarms: rule.false_alarms,
        third_boots: run.measurements.iter().filter(|found| needed_third_boot(found)).count()
            as u64,
        tails_left_out: left_out.map(|few| format!("tails were left out: {few}")),
        cells,
    })
}

/// The guests of two lists of cells that differ only by their kernels.
fn two_kernels<'c>(before: &'c [Cell], after: &'c [Cell]) -> Option<[&'c Guest; 2]> {
    let [from, to] = [before.first()?.target.guest()?, after.first()?.target.guest()?];
    let are_paired = before.len() == after.len()
        && before.iter().zip(after).all(|(one, other)| {
            let same = Cell { target: one.target.clone(), ..other.clone() } == *one;
            same && one.target.guest() == Some(from) && other.target.guest() == Some(to)
        });
    are_paired.then_some([from, to])
}

fn side(run: &Run, guest: &Guest, cells: std::ops::Range<usize>) -> KernelSide {
    let account = run
        .measurements
        .iter()
        .filter(|measurement| cells.contains(&measurement.turn.cell))
        .find_map(|measurement| measurement.guest.as_ref());
    KernelSide {
        kernel: guest.kernel.to_string(),
        release: account.and_then(|account| account.kernel_release.clone()),
        sha256: account.map(|account| account.kernel_sha256.clone()),
    }
}

/// The reason why a pair of cells cannot be compared. Every seed must have a result, because
/// the remaining seeds would not be a random selection.
fn not_measured(run: &Run, pair: [usize; 2]) -> Option<String> {
    let failure = run.failures.iter().find(|failure| pair.contains(&failure.turn.cell));
    if let Some(failure) = failure {
        return Some(failure.reason.clone());
    }
    let planned = run.header.plan.rounds;
    let fewest = pair.map(|cell| run.of_cell(cell).count() as u32).into_iter().min()?;
    (fewest < planned).then(|| format!("{fewest} of {planned} seeds were measured"))
}

/// The figures that both cells have for every seed. Their verdicts are not final.
fn figures(run: &Run, pair: [usize; 2], speed: Speed, rule: &GateRule) -> Vec<FigureComparison> {
    Figure::ALL
        .into_iter()
        .filter(|figure| figure.is_wanted(rule))
        .filter_map(|figure| {
            let values = pair.map(|cell| {
                let probe = run.header.plan.cells[cell].probe.kind();
                let of = |measurement: &Measurement| figure.of(measurement, probe, speed);
                run.of_cell(cell).map(of).collect::<Option<Vec<f64>>>()
            });
            let [Some(baseline), Some(kernel)] = values else { return None };
            let both: Vec<&Measurement> =
                pair.into_iter().flat_map(|cell| run.of_cell(cell)).collect();
            let grain = figure::grain(figure, &both);
            compared(figure, &baseline, &kernel, rule.allowance, grain)
        })
        .collect()
}

/// Compares the figures of the seeds. [`conclude`] completes the verdict.
fn compared(
    figure: Figure,
    baseline: &[f64],
    kernel: &[f64],
    allowance: Allowance,
    grain: f64,
) -> Option<FigureComparison> {
    let (from, to) = (Seeds::of(baseline)?, Seeds::of(kernel)?);
    let allowed = grain * from.median
        + match figure.is_in_instructions() {
            true => allowance.of(from.median),
            false => allowance.of_times(from.median),
        };
    let chances = ranks::chances(baseline, kernel, allowed);
    let chance = chances.either();
    let verdict = match (from.are_equal(&to, 0.0), from.are_equal(&to, allowed)) {
        (true, _) => Verdict::Same,
        (false, true) => Verdict::WithinAllowance,
        (false, false) => direction(chances.is_above()),
    };
    let (kind, adjusted_chance) = (figure.kind(), chance);
    let (baseline, kernel) = (from, to);
    Some(FigureComparison {
        figure,
        kind,
        baseline,
        kernel,
        allowed,
        chance,
        adjusted_chance,
        verdict,
    })
}

const fn direction(is_greater: bool) -> Verdict {
    if is_greater { Verdict::Greater } else { Verdict::Less }
}

/// Completes the verdicts, for all figures of a gate together.
fn conclude(figures: Vec<&mut FigureComparison>, rule: &GateRule) {
    let tests = figures.len();
    let adjusted = adjusted(&figures.iter().map(|figure| figure.chance).collect::<Vec<_>>());
    for (figure, adjusted_chance) in figures.into_iter().zip(adjusted) {
        figure.adjusted_chance = adjusted_chance;
        let is_equal = matches!(figure.verdict, Verdict::Same | Verdict::WithinAllowance);
        let is_open = !is_equal && adjusted_chance > rule.false_alarms;
        if is_open {
            let seeds = (figure.baseline.count, figure.kernel.count);
            figure.verdict = match can_decide(seeds.0, seeds.1, tests, rule.false_alarms) {
                true => Verdict::NoDifferenceFound,
                false => Verdict::TooFewSeeds,
            };
        }
    }
}

/// The decision of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// No refused difference was found.
    Passes,
    /// A refused difference was found.
    Refused,
    /// No refused difference was found, but not everything could be compared.
    Undecided,
}

impl KernelComparison {
    /// The first turn of the baseline in this run that gave no result.
    pub fn baseline_failure<'r>(&self, run: &'r Run) -> Option<&'r Failure> {
        run.failures.iter().find(|failure| failure.turn.cell < self.cells.len())
    }

    /// The decision of the gate.
    pub fn decision(&self, rule: &GateRule) -> Decision {
        let judgements = self.judgements(rule);
        if judgements.iter().any(|judgement| judgement.outcome == Outcome::NotMet) {
            Decision::Refused
        } else if judgements.iter().any(|judgement| !judgement.passes) {
            Decision::Undecided
        } else {
            Decision::Passes
        }
    }

    /// Every figure of every cell as a demand, for `--json` and JUnit.
    pub fn report(&self, rule: &GateRule) -> GateReport {
        GateReport { run: self.run.clone(), judgements: self.judgements(rule), notes: self.notes() }
    }

    /// What else is known about the comparison, in sentences: tails that were left out, and turns that
    /// needed a third boot.
    pub fn notes(&self) -> Vec<String> {
        let boots = (self.third_boots > 0).then(|| {
            format!(
                "{} needed a third boot, since the outputs of two boots differed; two equal outputs \
                 count",
                format::counted(self.third_boots, "turn")
            )
        });
        self.tails_left_out.clone().into_iter().chain(boots).collect()
    }

    fn judgements(&self, rule: &GateRule) -> Vec<Judgement> {
        let wanted = if rule.refuse_any_difference { "the same as" } else { "no greater than" };
        self.cells
            .iter()
            .flat_map(|cell| {
                let unmeasured = cell.not_measured.as_ref().map(|reason| Judgement {
                    cell: cell.cell.clone(),
                    demand: "a result".to_owned(),
                    outcome: Outcome::Unsupported,
                    passes: false,
                    found: reason.clone(),
                });
                let compared = cell.figures.iter().map(|figure| {
                    let outcome = outcome(figure.verdict, rule);
                    Judgement {
                        cell: cell.cell.clone(),
                        demand: format!(
                            "{} {wanted} under {}",
                            figure.figure, self.baseline.kernel
                        ),
                        outcome,
                        passes: outcome == Outcome::Met,
                        found: found(figure),
                    }
                });
                unmeasured.into_iter().chain(compared).collect::<Vec<_>>()
            })
            .collect()
    }
}

const fn outcome(verdict: Verdict, rule: &GateRule) -> Outcome {
    match verdict {
        Verdict::Greater => Outcome::NotMet,
        Verdict::Less if rule.refuse_any_difference => Outcome::NotMet,
        Verdict::Less | Verdict::Same | Verdict::WithinAllowance | Verdict::NoDifferenceFound => {
            Outcome::Met
        }
        Verdict::TooFewSeeds => Outcome::Unsupported,
    }
}

/// A comparison in one line: `3 504 → 3 921 instructions (+11.9 %): greater, 10 seeds, p < 0.001`.
fn found(figure: &FigureComparison) -> String {
    let FigureComparison { baseline, kernel, adjusted_chance, .. } = figure;
    let unit = if figure.figure.is_in_instructions() { "instructions" } else { "times" };
    let change = figure.change().map(|change| format!(" ({})", format::signed_percent(change)));
    format!(
        "{} → {} {unit}{}: {}, {} seeds, {}",
        format::count(baseline.median.round() as u64),
        format::count(kernel.median.round() as u64),
        change.unwrap_or_default(),
        figure.verdict.words(),
        kernel.count,
        chance_in_words(*adjusted_chance)
    )
}

/// A p-value with three decimals: `p = 0.012`.
pub fn chance_in_words(chance: f64) -> String {
    match chance < 0.001 {
        true => "p < 0.001".to_owned(),
        false => format!("p = {chance:.3}"),
    }
}
