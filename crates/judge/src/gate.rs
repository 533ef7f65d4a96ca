//! Whether a run meets given demands.
//!
//! Every demand is checked for every cell. If a sample is too small for a demand, the
//! report says so and the demand counts as not met, unless the caller allows it: a gate
//! must not pass because too little was measured.

pub mod junit;

#[cfg(test)]
pub(crate) mod tests;

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use tactus_model::format::{self, THIN_SPACE};
use tactus_model::origin::Precision;
use tactus_model::result::{Histogram, Measurement};
use tactus_model::run::Run;
use tactus_model::time::Nanos;
use tactus_stats::CellSummary;
use tactus_stats::bootstrap::Blocks;
use tactus_stats::cell::blocks_of_all_tasks;

use crate::compare::{Comparison, PairComparison, Verdict};
use crate::finding::{Finding, State};
use crate::purpose::{self, AtMost, Purpose, PurposeVerdict};
use crate::verdict::{self, Validity};

/// A latency that a share of the due times must not exceed; written as `99.9=80us`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuantileLimit {
    /// The share in percent, more than 0 and less than 100.
    pub percent: f64,
    /// The latency.
    pub limit: Nanos,
}

/// The error for a text that is not a quantile limit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a quantile limit: write a percentage between 0 and 100 and a duration, e.g. 99.9=80us"
)]
pub struct NotAQuantileLimit(String);

impl FromStr for QuantileLimit {
    type Err = NotAQuantileLimit;

    fn from_str(text: &str) -> Result<Self, NotAQuantileLimit> {
        let read = || {
            let (percent, limit) = text.split_once('=')?;
            let percent: f64 = percent.trim().trim_end_matches('%').trim().parse().ok()?;
            let limit = limit.trim().parse().ok()?;
            (percent > 0.0 && percent < 100.0).then_some(Self { percent, limit })
        };
        read().ok_or_else(|| NotAQuantileLimit(text.to_owned()))
    }
}

impl fmt::Display for QuantileLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}={}", self.percent, self.limit))
    }
}

/// A demand on every cell of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Demand {
    /// The maximum latency (*intended schedule*).
    Max(Nanos),
    /// The latency that a share of the due times must not exceed (*intended schedule*).
    Quantile(QuantileLimit),
    /// The maximum number of missed due times.
    Missed(u64),
    /// The maximum rate of deadline misses for a purpose.
    Purpose(Purpose, AtMost),
}

impl fmt::Display for Demand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Max(limit) => write!(f, "max at most {}", format::axis_length(*limit)),
            Self::Quantile(QuantileLimit { percent, limit }) => {
                write!(f, "{percent}{THIN_SPACE}% at most {}", format::axis_length(*limit))
            }
            Self::Missed(limit) => {
                write!(f, "at most {}", format::counted(*limit, "missed due time"))
            }
            Self::Purpose(purpose, limit) => {
                write!(f, "at most {limit} missed {}s for {purpose}", purpose.noun())
            }
        }
    }
}

/// The outcome of a demand on a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The demand is met.
    Met,
    /// The demand is not met.
    NotMet,
    /// The sample is too small to decide.
    Unsupported,
}

impl Outcome {
    /// The outcome in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::NotMet => "not met",
            Self::Unsupported => "unsupported",
        }
    }

    const fn of(met: bool) -> Self {
        if met { Self::Met } else { Self::NotMet }
    }
}

/// A demand on a cell and its outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Judgement {
    /// The name of the cell.
    pub cell: String,
    /// The demand.
    pub demand: String,
    /// The outcome.
    pub outcome: Outcome,
    /// Whether the gate counts it as met.
    pub passes: bool,
    /// The measured value; if the demand cannot be judged, the reason.
    pub found: String,
}

/// Every demand on every cell of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GateReport {
    /// The run.
    pub run: String,
    /// Cell by cell, in the order of the plan.
    pub judgements: Vec<Judgement>,
    /// What to change for better judgements, without repetition.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl GateReport {
    /// The number of judgements that do not pass.
    pub fn failures(&self) -> usize {
        self.judgements.iter().filter(|judgement| !judgement.passes).count()
    }

    /// Adds the demand that the validity of a run's figures is at least `wanted`.
    ///
    /// `which` names the run, e.g. `the run` or `the baseline`.
    pub fn demand_validity(&mut self, which: &str, verdict: &verdict::Verdict, wanted: Validity) {
        let grave = |finding: &&Finding| match wanted {
            Validity::Valid => finding.state < State::Unknown,
            Validity::WithWarnings | Validity::Invalid => finding.state == State::Invalidates,
        };
        let reasons: Vec<String> = verdict
            .findings
            .iter()
            .filter(grave)
            .map(|Finding { check, fact, .. }| format!("{check}: {fact}"))
            .collect();
        let found = match reasons.is_empty() {
            true => verdict.mark(),
            false => reasons.join("; "),
        };
        let demand = match wanted {
            Validity::Valid => "valid without warnings",
            Validity::WithWarnings | Validity::Invalid => "valid",
        };
        let outcome = Outcome::of(verdict.validity >= wanted);
        self.add(which, demand.to_owned(), (outcome, found), false);
    }

    fn add(
        &mut self,
        cell: &str,
        demand: String,
        (outcome, found): (Outcome, String),
        allow: bool,
    ) {
        let passes = match outcome {
            Outcome::Met => true,
            Outcome::NotMet => false,
            Outcome::Unsupported => allow,
        };
        let cell = cell.to_owned();
        self.judgements.push(Judgement { cell, demand, outcome, passes, found });
    }
}

/// Checks every demand for every cell of `run`. If a comparison of a baseline (A) with
/// the run (B) is given, also checks that the run is not worse.
///
/// With `allow_unsupported`, a demand that the sample cannot decide counts as met, but
/// never for a cell without a result.
pub fn judge(
    run: &Run,
    demands: &[Demand],
    against_baseline: Option<&Comparison>,
    allow_unsupported: bool,
) -> GateReport {
    let notes = demands.iter().flat_map(|demand| match demand {
        Demand::Purpose(purpose, _) => {
            purpose::other_intervals(&PurposeVerdict::of_run(run, *purpose))
        }
        Demand::Max(_) | Demand::Quantile(_) | Demand::Missed(_) => Vec::new(),
    });
    let mut report = GateReport {
        run: run.header.id.to_string(),
        judgements: Vec::new(),
        notes: notes.collect(),
    };
    for (cell, label) in run.header.plan.labels().iter().enumerate() {
        let basis = Basis::of(run, cell, label);
        for demand in demands {
            let judged = match &basis {
                Some(basis) => basis.judge(*demand),
                None => (Outcome::NotMet, no_result(run, cell)),
            };
            report.add(label, demand.to_string(), judged, allow_unsupported);
        }
        if let Some(comparison) = against_baseline {
            let pair = comparison.pairs.iter().find(|pair| pair.b.cell == cell);
            let (name, judged) = match pair {
                Some(pair) => (pair.a.run.as_str(), no_worse(pair)),
                None => ("the baseline", not_in_baseline()),
            };
            let demand = format!("no worse than {name}");
            report.add(label, demand, judged, allow_unsupported);
        }
    }
    report
}

fn no_result(run: &Run, cell: usize) -> String {
    let failure = run.failures.iter().find(|failure| failure.turn.cell == cell);
    let reason = failure.map_or("the cell was not measured", |failure| &failure.reason);
    format!("no result: {reason}")
}

fn not_in_baseline() -> (Outcome, String) {
    (Outcome::Unsupported, "the baseline has no cell with these settings".to_owned())
}

/// The measurements of a cell, by which demands are judged.
struct Basis<'r> {
    run: &'r Run,
    cell: usize,
    label: &'r str,
    summary: CellSummary,
    blocks: Blocks,
    rounds_planned: u32,
}

impl<'r> Basis<'r> {
    fn of(run: &'r Run, cell: usize, label: &'r str) -> Option<Self> {
        let measurements: Vec<&Measurement> = run.of_cell(cell).collect();
        let rounds: Vec<Vec<Histogram>> =
            measurements.iter().map(|measurement| blocks_of_all_tasks(measurement)).collect();
        (!measurements.is_empty()).then(|| Self {
            run,
            cell,
            label,
            summary: CellSummary::pool(&measurements),
            blocks: Blocks::new(&rounds),
            rounds_planned: run.header.plan.rounds,
        })
    }

    fn judge(&self, demand: Demand) -> (Outcome, String) {
        let (met, mut found, unsupported) = match demand {
            Demand::Purpose(purpose, limit) => return self.for_purpose(purpose, limit),
            Demand::Missed(limit) => {
                let missed = self.summary.accounting.missed;
                let intended = self.summary.accounting.intended;
                let found =
                    format!("{} missed of {}", format::count(missed), format::count(intended));
                (missed <= limit, found, None)
            }
            Demand::Max(limit) => match self.summary.max {
                Some(max) => (max <= limit, self.against(max, limit), None),
                None => (true, String::new(), Some("no wakeup was observed".to_owned())),
            },
            Demand::Quantile(QuantileLimit { percent, limit }) => {
                let quantile = percent / 100.0;
                let unsupported = self.blocks.supports(quantile).err();
                match self.summary.by_schedule.quantile(quantile) {
                    Some(figure) => (
                        figure <= limit,
                        self.against(figure, limit),
                        unsupported.map(|reason| format!("there are {reason}")),
                    ),
                    None => (true, String::new(), Some("no wakeup was observed".to_owned())),
                }
            }
        };
        // A figure beyond the limit fails even if the sample is small or incomplete.
        let unsupported = unsupported.or_else(|| self.incomplete(demand)).filter(|_| met);
        let outcome = match &unsupported {
            Some(reason) if found.is_empty() => {
                found.clone_from(reason);
                Outcome::Unsupported
            }
            Some(reason) => {
                found = format!("{found}, but {reason}");
                Outcome::Unsupported
            }
            None => Outcome::of(met),
        };
        (outcome, found)
    }

    /// Met if the upper bound of the interval is within the limit, not met if the lower
    /// bound is beyond it.
    fn for_purpose(&self, purpose: Purpose, limit: AtMost) -> (Outcome, String) {
        let Some(verdict) = PurposeVerdict::of(self.run, self.cell, self.label, purpose) else {
            return (Outcome::Unsupported, "nothing was due".to_owned());
        };
        let allowed = purpose.period().as_secs_f64() / limit.one_in().as_secs_f64();
        if verdict.chance_interval[0] > allowed {
            return (Outcome::NotMet, verdict.words);
        }
        if verdict.at_most_one_in < limit.one_in() {
            let missing = match verdict.missed.count {
                // By the rule of three, three times the duration without a miss.
                0 => format!(
                    "The sample is too small to confirm {limit}: measure for {} without a miss.",
                    format::span(limit.one_in().saturating_mul(3))
                ),
                _ => format!("The sample is too small to decide about {limit}: measure longer."),
            };
            return (Outcome::Unsupported, format!("{} {missing}", verdict.words));
        }
        match self.incomplete(Demand::Purpose(purpose, limit)) {
            Some(reason) => (Outcome::Unsupported, format!("{} But {reason}.", verdict.words)),
            None => (Outcome::Met, verdict.words),
        }
    }

    /// A latency with the known precision; if it reads like a limit that it does not equal, both
    /// exactly.
    fn against(&self, latency: Nanos, limit: Nanos) -> String {
        let text = match self.summary.precision {
            Some(precision) => format::latency_to(latency, precision.unit),
            None => format::latency(latency),
        };
        match latency != limit && text == format::latency(limit) {
            true => format!("{latency} (limit {limit})"),
            false => text,
        }
    }

    /// The reason why the whole sample is incomplete.
    fn incomplete(&self, demand: Demand) -> Option<String> {
        if let Some(reason) = self.summary.precision.and_then(|known| not_recorded(known, demand)) {
            return Some(reason.to_owned());
        }
        let (rounds, planned) = (self.summary.rounds, self.rounds_planned);
        let dropped = self.summary.accounting.dropped;
        if rounds < planned {
            Some(format!("only {rounds} of {planned} rounds have a result"))
        } else if dropped > 0 && !matches!(demand, Demand::Missed(_)) {
            Some(format!(
                "the latencies of {dropped} wakeups were dropped; measure with a higher `--sample-limit` or a shorter `--duration`"
            ))
        } else {
            None
        }
    }
}

/// The data for a demand that another program did not record.
fn not_recorded(precision: Precision, demand: Demand) -> Option<&'static str> {
    match demand {
        // Every tool reports the maximum latency of each task.
        Demand::Max(_) => None,
        _ if precision.missed_known => None,
        Demand::Missed(_) => Some("the measuring program does not count missed due times"),
        Demand::Quantile(_) | Demand::Purpose(..) => Some(
            "the measuring program does not count missed due times, so the intended schedule is unknown",
        ),
    }
}

/// A comparison that finds no difference is undecided if B may be greater than A by this factor.
const UNDECIDED: f64 = 2.0;

/// Judges a cell against its partner in the baseline, by the quantiles that both support: not met
/// if any is worse, otherwise unsupported if any is undecided.
fn no_worse(pair: &PairComparison) -> (Outcome, String) {
    let mut figures = Vec::new();
    let mut left_out = Vec::new();
    let (mut worse, mut undecided) = (false, false);
    for figure in &pair.quantiles {
        let percent = format::percentile(figure.quantile);
        match (&figure.difference, figure.verdict, &figure.not_compared) {
            (Some(difference), Some(verdict), _) => {
                let is_open =
                    verdict == Verdict::NoDifferenceFound && difference.ratio_high >= UNDECIDED;
                worse |= verdict == Verdict::Worse;
                undecided |= is_open;
                figures.push(format!(
                    "{percent}: {} ({:.2}×, {:.2}× to {:.2}×)",
                    if is_open { "undecided" } else { verdict.words() },
                    difference.ratio,
                    difference.ratio_low,
                    difference.ratio_high,
                ));
            }
            (_, _, Some(reason)) => left_out.push((percent, reason.to_string())),
            _ => {}
        }
    }
    if figures.is_empty() {
        let reason = left_out.into_iter().next().map_or_else(String::new, |(_, reason)| reason);
        return (Outcome::Unsupported, reason);
    }
    let mut found = figures.join("; ");
    for (percent, reason) in left_out {
        found.push_str(&format!("; {percent}: not compared, because {reason}"));
    }
    // Quantiles per wakeup do not contain missed due times, so they are listed separately.
    if pair.a.missed != Some(0) || pair.b.missed != Some(0) {
        let count = |missed: Option<u64>| missed.map_or("unknown".to_owned(), format::count);
        found.push_str(&format!(
            "; missed due times: {} → {}",
            count(pair.a.missed),
            count(pair.b.missed)
        ));
    }
    let outcome = match (worse, undecided) {
        (true, _) => Outcome::NotMet,
        (false, true) => Outcome::Unsupported,
        (false, false) => Outcome::Met,
    };
    if outcome == Outcome::Unsupported {
        found.push_str("; measure more rounds to decide");
    }
    (outcome, found)
}
