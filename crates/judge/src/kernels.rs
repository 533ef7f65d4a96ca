//! Whether one kernel is worse than another, from one run of both in deterministic time.
//!
//! In deterministic (instruction-counted) time, the same kernel yields the same figures to
//! the byte. Another seed changes which code paths coincide, not their length. So path
//! lengths that are equal for all seeds are compared exactly: a difference beyond the
//! [`Allowance`] is real, without a statistical test. Figures that differ between seeds
//! (tails always do: the maximum of one seed means nothing) are compared by the ranks of
//! the seeds. The p-values of all these tests are adjusted for multiple comparisons by
//! Hochberg's method, so that for two equal kernels the probability of any reported
//! difference is at most [`GateOptions::false_alarms`].

mod allowance;
mod figure;
mod ranks;

#[cfg(test)]
mod tests;

use serde::Serialize;
use tactus_model::cell::Cell;
use tactus_model::experiment::Plan;
use tactus_model::format;
use tactus_model::guest::{Guest, GuestTime, Speed};
use tactus_model::label::labels;
use tactus_model::result::Measurement;
use tactus_model::run::Run;

pub use allowance::{Allowance, NotAnAllowance};
pub use figure::{Figure, Kind};

use crate::compare::adjusted;
use crate::gate::{GateReport, Judgement, Outcome};

/// The definition of a difference, and which differences a gate refuses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GateOptions {
    /// Differences up to this count as the same.
    pub allowance: Allowance,
    /// The probability, 0 to 1, of any false alarm among all comparisons by ranks of equal
    /// kernels.
    pub false_alarms: f64,
    /// Require only paths that are equal for all seeds, for which a few seeds are enough;
    /// other paths are compared if there are enough seeds.
    pub paths_only: bool,
    /// Also refuse figures that became less.
    pub refuse_any_difference: bool,
}

impl GateOptions {
    /// The default probability of a false alarm: the gate refuses one in a hundred changes
    /// that have no effect.
    pub const FALSE_ALARMS: f64 = 0.01;
}

impl Default for GateOptions {
    fn default() -> Self {
        Self {
            allowance: Allowance::DEFAULT,
            false_alarms: Self::FALSE_ALARMS,
            paths_only: false,
            refuse_any_difference: false,
        }
    }
}

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

    /// Whether all seeds have the same figure within `allowed`.
    fn are_equal(&self, allowed: f64) -> bool {
        self.greatest - self.median <= allowed && self.median - self.least <= allowed
    }
}

/// The method of comparison.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum Method {
    /// Exact, because all seeds of a kernel have the same figure.
    Exact,
    /// By the ranks of the seeds.
    Ranks {
        /// The p-value of the ranks.
        chance: f64,
        /// The p-value, adjusted for all tests of the gate.
        adjusted_chance: f64,
    },
}

/// The verdict on a figure under the kernel against the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Greater: a longer path, a later tail, or a more frequent event.
    Greater,
    /// Less.
    Less,
    /// All seeds have the same figure under both kernels, within the allowance.
    Same,
    /// The ranks of the seeds show no difference beyond the allowance.
    NoDifferenceFound,
    /// With so few seeds, not even the greatest difference would be significant.
    TooFewSeeds,
}

impl Verdict {
    /// The verdict in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Greater => "greater",
            Self::Less => "less",
            Self::Same => "the same",
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
    /// The method of comparison.
    pub method: Method,
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

impl FigureComparison {
    /// Whether the ranges of both kernels' seeds are further apart than `allowed`.
    fn lies_apart(&self) -> bool {
        let (from, to) = (&self.baseline, &self.kernel);
        to.least - from.greatest > self.allowed || from.least - to.greatest > self.allowed
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
    /// The probability of any false alarm among all comparisons by ranks.
    pub false_alarms: f64,
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

/// The plan of a gate: the cells under the baseline, then the same cells under the kernel.
///
/// Both may be the same kernel, which tests the gate itself.
pub fn plan(mut baseline: Plan, kernel: Plan) -> Plan {
    baseline.cells.extend(kernel.cells);
    baseline
}

/// Compares the kernels of a run with a plan by [`plan`].
///
/// # Errors
/// The run has another kind of plan.
pub fn compare(run: &Run, options: &GateOptions) -> Result<KernelComparison, NotAGate> {
    let plan = &run.header.plan;
    let id = || run.header.id.to_string();
    let (before, after) = plan.cells.split_at(plan.cells.len() / 2);
    let [from, to] = two_kernels(before, after).ok_or_else(|| NotAGate::NotTwoKernels(id()))?;
    let (GuestTime::Exact(speed), GuestTime::Exact(_)) = (from.time, to.time) else {
        return Err(NotAGate::NotExact(id()));
    };
    let figures = |cell: usize| figures(run, [cell, cell + before.len()], speed, options);
    let mut cells: Vec<CellComparison> = labels(before)
        .into_iter()
        .enumerate()
        .map(|(cell, label)| match not_measured(run, [cell, cell + before.len()]) {
            None => CellComparison { cell: label, figures: figures(cell), not_measured: None },
            reason => CellComparison { cell: label, figures: Vec::new(), not_measured: reason },
        })
        .collect();
    conclude(cells.iter_mut().flat_map(|cell| &mut cell.figures).collect(), options);
    Ok(KernelComparison {
        run: id(),
        baseline: side(run, from, 0..before.len()),
        kernel: side(run, to, before.len()..plan.cells.len()),
        mips: speed.mips(),
        seeds: plan.rounds,
        seed: plan.seed,
        allowance: options.allowance,
        false_alarms: options.false_alarms,
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

/// The figures that both cells have for every seed. Verdicts by ranks are not final.
fn figures(
    run: &Run,
    pair: [usize; 2],
    speed: Speed,
    options: &GateOptions,
) -> Vec<FigureComparison> {
    Figure::ALL
        .into_iter()
        .filter(|figure| !(options.paths_only && figure.kind() == Kind::Tail))
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
            compared(figure, &baseline, &kernel, options.allowance, grain)
        })
        .collect()
}

/// Compares the figures of the seeds. [`conclude`] completes verdicts by ranks.
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
    let kind = figure.kind();
    let is_exact = kind == Kind::Path && from.are_equal(allowed) && to.are_equal(allowed);
    let (method, verdict) = if is_exact {
        let difference = to.median - from.median;
        let verdict = match difference.abs() > allowed {
            true => direction(difference > 0.0),
            false => Verdict::Same,
        };
        (Method::Exact, verdict)
    } else {
        let chances = ranks::chances(baseline, kernel, allowed);
        let chance = chances.either();
        (Method::Ranks { chance, adjusted_chance: chance }, direction(chances.is_above()))
    };
    Some(FigureComparison { figure, kind, baseline: from, kernel: to, allowed, method, verdict })
}

const fn direction(is_greater: bool) -> Verdict {
    if is_greater { Verdict::Greater } else { Verdict::Less }
}

/// Completes the verdicts by ranks, for all figures of a gate together.
fn conclude(figures: Vec<&mut FigureComparison>, options: &GateOptions) {
    let mut by_ranks: Vec<(&mut FigureComparison, f64)> = figures
        .into_iter()
        .filter_map(|figure| match figure.method {
            Method::Ranks { chance, .. } => Some((figure, chance)),
            Method::Exact => None,
        })
        .collect();
    let tests = by_ranks.len() as f64;
    let adjusted = adjusted(&by_ranks.iter().map(|(_, chance)| *chance).collect::<Vec<_>>());
    for ((figure, chance), adjusted_chance) in by_ranks.iter_mut().zip(adjusted) {
        figure.method = Method::Ranks { chance: *chance, adjusted_chance };
        let least = ranks::least_chance(figure.baseline.count, figure.kernel.count);
        if adjusted_chance > options.false_alarms {
            figure.verdict = match least * tests > options.false_alarms {
                true => Verdict::TooFewSeeds,
                false => Verdict::NoDifferenceFound,
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
    /// The decision of the gate.
    pub fn decision(&self, options: &GateOptions) -> Decision {
        let judgements = self.judgements(options);
        if judgements.iter().any(|judgement| judgement.outcome == Outcome::NotMet) {
            Decision::Refused
        } else if judgements.iter().any(|judgement| !judgement.passes) {
            Decision::Undecided
        } else {
            Decision::Passes
        }
    }

    /// Every figure of every cell as a demand, for `--json` and JUnit.
    pub fn report(&self, options: &GateOptions) -> GateReport {
        GateReport {
            run: self.run.clone(),
            judgements: self.judgements(options),
            notes: Vec::new(),
        }
    }

    fn judgements(&self, options: &GateOptions) -> Vec<Judgement> {
        let wanted = if options.refuse_any_difference { "the same as" } else { "no greater than" };
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
                    let outcome = outcome(figure.verdict, options);
                    // If only paths that are equal for all seeds are required, other paths pass
                    // unless the seeds of both kernels lie apart.
                    let allow = options.paths_only
                        && outcome == Outcome::Unsupported
                        && !figure.lies_apart();
                    Judgement {
                        cell: cell.cell.clone(),
                        demand: format!(
                            "{} {wanted} under {}",
                            figure.figure, self.baseline.kernel
                        ),
                        outcome,
                        passes: outcome == Outcome::Met || allow,
                        found: found(figure),
                    }
                });
                unmeasured.into_iter().chain(compared).collect::<Vec<_>>()
            })
            .collect()
    }
}

const fn outcome(verdict: Verdict, options: &GateOptions) -> Outcome {
    match verdict {
        Verdict::Greater => Outcome::NotMet,
        Verdict::Less if options.refuse_any_difference => Outcome::NotMet,
        Verdict::Less | Verdict::Same | Verdict::NoDifferenceFound => Outcome::Met,
        Verdict::TooFewSeeds => Outcome::Unsupported,
    }
}

/// A comparison in one line: `3 504 → 3 921 instructions (+11.9%): greater, in every seed`.
fn found(figure: &FigureComparison) -> String {
    let FigureComparison { baseline, kernel, method, verdict, .. } = figure;
    let unit = if figure.figure.is_in_instructions() { "instructions" } else { "times" };
    let change = figure.change().map(|change| format!(" ({:+.1}%)", change * 100.0));
    let how = match method {
        Method::Exact => "in every seed".to_owned(),
        Method::Ranks { adjusted_chance, .. } => {
            format!("by ranks of {} seeds, {}", kernel.count, chance_in_words(*adjusted_chance))
        }
    };
    format!(
        "{} → {} {unit}{}: {}, {how}",
        format::count(baseline.median.round() as u64),
        format::count(kernel.median.round() as u64),
        change.unwrap_or_default(),
        verdict.words()
    )
}

/// A p-value with three decimals: `p = 0.012`.
pub fn chance_in_words(chance: f64) -> String {
    match chance < 0.001 {
        true => "p < 0.001".to_owned(),
        false => format!("p = {chance:.3}"),
    }
}
