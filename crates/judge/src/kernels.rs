//! Whether a kernel is worse than another, from one run in exact time that holds both.
//!
//! In exact time the same kernel gives the same figures to the byte, and a seed in place of
//! another changes which paths meet, not how long they are. So lengths of paths that every
//! seed gave alike are compared exactly: a difference beyond the [`Allowance`] is one,
//! without chance. What differs from seed to seed (tails always do: one seed's maximum
//! means nothing) is compared by the ranks of the seeds, and the chances of all these tests
//! are adjusted together after Hochberg, so that of two kernels that are alike anything
//! is called different with a chance of at most [`GateOptions::false_alarms`].

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

/// What counts as a difference, and which differences a gate refuses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GateOptions {
    /// Differences up to this are none.
    pub allowance: Allowance,
    /// The chance that kernels that are alike are called different in anything that is
    /// compared by ranks, 0 to 1.
    pub false_alarms: f64,
    /// Ask only for paths that every seed gave alike, for which a few seeds are enough; others
    /// are compared where the seeds allow it.
    pub paths_only: bool,
    /// Refuse what became shorter or rarer too.
    pub refuse_any_difference: bool,
}

impl GateOptions {
    /// The chance of a false alarm unless told otherwise: of a hundred changes that change
    /// nothing, one is refused.
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

/// A kernel of a gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KernelSide {
    /// As it was asked for, with what was added to its command line.
    pub kernel: String,
    /// The release in its file's header, once it was measured.
    pub release: Option<String>,
    /// The SHA-256 digest of its file, once it was measured.
    pub sha256: Option<String>,
}

/// What all seeds gave under one kernel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Seeds {
    /// How many there are.
    pub count: usize,
    /// The least figure of a seed.
    pub least: f64,
    /// The median over seeds; of an even number the mean of the middle two.
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

    /// Whether every seed gave the same, to within `allowed`.
    fn are_alike(&self, allowed: f64) -> bool {
        self.greatest - self.median <= allowed && self.median - self.least <= allowed
    }
}

/// How a figure was compared.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum Method {
    /// Every seed of a kernel gave the same.
    Exact,
    /// By the ranks of the seeds.
    Ranks {
        /// The chance of ranks so far apart under kernels that are alike.
        chance: f64,
        /// The same, adjusted for all tests of the gate.
        adjusted_chance: f64,
    },
}

/// What is said of a figure under the kernel against the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It is greater: the path is longer, the tail later, the event more frequent.
    Greater,
    /// It is less.
    Less,
    /// Every seed gave the same under both, to within what is allowed.
    Same,
    /// The ranks of the seeds show no difference beyond what is allowed.
    NoDifferenceFound,
    /// With so few seeds no difference, however great, could be told from chance.
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
    /// Which.
    pub figure: Figure,
    /// Whether it is a path's length or a tail's.
    pub kind: Kind,
    /// What the seeds gave under the baseline.
    pub baseline: Seeds,
    /// What they gave under the kernel.
    pub kernel: Seeds,
    /// By how much the medians may differ: the allowance, and what counting whole operations
    /// and interrupts leaves open.
    pub allowed: f64,
    /// How they were compared.
    pub method: Method,
    /// What follows.
    pub verdict: Verdict,
}

impl FigureComparison {
    /// The medians' difference as a share of the baseline's; `None` where that is zero.
    pub fn change(&self) -> Option<f64> {
        let (from, to) = (self.baseline.median, self.kernel.median);
        (from != 0.0).then(|| to / from - 1.0)
    }
}

impl FigureComparison {
    /// Whether every seed of one kernel lies beyond all of the other, and beyond what is allowed.
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
    /// Its figures; none where there is nothing to compare.
    pub figures: Vec<FigureComparison>,
    /// Why there is nothing to compare, where that is so: a turn gave no result.
    pub not_measured: Option<String>,
}

/// Two kernels, cell by cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelComparison {
    /// The run that holds both.
    pub run: String,
    /// The kernel against which is compared.
    pub baseline: KernelSide,
    /// The kernel that is judged.
    pub kernel: KernelSide,
    /// Millions of instructions a second of the machine's time.
    pub mips: u32,
    /// How many seeds each cell was to be measured under, and the plan's own.
    pub seeds: u32,
    /// The seed of the plan, from which those of all turns follow.
    pub seed: u64,
    /// What counts as no difference.
    pub allowance: Allowance,
    /// The chance of a false alarm of all comparisons by ranks together.
    pub false_alarms: f64,
    /// The cells in the order of the plan.
    pub cells: Vec<CellComparison>,
}

/// Why a run does not compare two kernels.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAGate {
    /// Its cells are not the same ones under two kernels.
    #[error(
        "{0} does not hold the same cells under one kernel and then under another; `tactus lab gate` measures such runs"
    )]
    NotTwoKernels(String),
    /// Time passed otherwise.
    #[error(
        "{0} was not measured in exact time, so that its figures are those of the host too; `tactus lab gate` measures in exact time"
    )]
    NotExact(String),
}

/// The plan of a gate: the cells of the baseline, then the same under the kernel.
///
/// Both may be the same kernel: then it is the gate that is judged.
pub fn plan(mut baseline: Plan, kernel: Plan) -> Plan {
    baseline.cells.extend(kernel.cells);
    baseline
}

/// Compares the kernels of a run whose plan is one of [`plan`].
///
/// # Errors
/// It is another plan.
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

/// The guests of cells that differ by their kernels alone.
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

/// Why a pair of cells cannot be compared: every seed must have given a result, since those
/// that did are no longer chosen by chance.
fn not_measured(run: &Run, pair: [usize; 2]) -> Option<String> {
    let failure = run.failures.iter().find(|failure| pair.contains(&failure.turn.cell));
    if let Some(failure) = failure {
        return Some(failure.reason.clone());
    }
    let planned = run.header.plan.rounds;
    let fewest = pair.map(|cell| run.of_cell(cell).count() as u32).into_iter().min()?;
    (fewest < planned).then(|| format!("{fewest} of {planned} seeds were measured"))
}

/// The figures that both cells have under every seed, not yet concluded from.
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

/// Compares what seeds gave. A verdict from ranks waits for [`conclude`].
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
    let is_exact = kind == Kind::Path && from.are_alike(allowed) && to.are_alike(allowed);
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

/// Concludes from ranks, all figures of a gate together.
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

/// What became of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Nothing that is refused was found.
    Passes,
    /// Something that is refused was found.
    Refused,
    /// Nothing was found, and not everything could be compared.
    CannotTell,
}

impl KernelComparison {
    /// What the gate answers.
    pub fn answer(&self, options: &GateOptions) -> Answer {
        let judgements = self.judgements(options);
        if judgements.iter().any(|judgement| judgement.outcome == Outcome::NotMet) {
            Answer::Refused
        } else if judgements.iter().any(|judgement| !judgement.passes) {
            Answer::CannotTell
        } else {
            Answer::Passes
        }
    }

    /// Every figure of every cell as a demand, for `--json` and JUnit.
    pub fn report(&self, options: &GateOptions) -> GateReport {
        GateReport { run: self.run.clone(), judgements: self.judgements(options) }
    }

    fn judgements(&self, options: &GateOptions) -> Vec<Judgement> {
        let wanted = if options.refuse_any_difference { "as" } else { "no greater than" };
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
                    // Where only paths that are the same in every seed are asked for, nothing
                    // is asked of the others unless no seed of one reaches those of the other.
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

/// A comparison in a line: `3 504 → 3 921 instructions (+11.9%): greater, in every seed`.
fn found(figure: &FigureComparison) -> String {
    let FigureComparison { baseline, kernel, method, verdict, .. } = figure;
    let unit = if figure.figure.is_in_instructions() { "instructions" } else { "times" };
    let change = figure.change().map(|change| format!(" ({:+.1}%)", change * 100.0));
    let how = match method {
        Method::Exact => "in every seed".to_owned(),
        Method::Ranks { adjusted_chance, .. } => {
            format!("by the ranks of {} seeds, {}", kernel.count, chance_in_words(*adjusted_chance))
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

/// A chance with three decimals: `chance 0.012`.
pub fn chance_in_words(chance: f64) -> String {
    match chance < 0.001 {
        true => "chance below 0.001".to_owned(),
        false => format!("chance {chance:.3}"),
    }
}
