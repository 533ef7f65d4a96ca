//! Machines that measured the same experiment: ranked by a figure, which of them are outliers, and what
//! changed on each since its run before.
//!
//! With at least [`FEWEST_FOR_SCORES`] machines, an outlier is one whose modified z-score of the logarithm of
//! the figure exceeds [`SCORE_LIMIT`] (B. Iglewicz and D. C. Hoaglin, *How to Detect and Handle
//! Outliers*, 1993, section 3.3), which does not depend on the outliers themselves. With fewer, it is a machine
//! whose 95 % interval lies apart from those of all others, which overlap each other.

use std::collections::BTreeMap;

use serde::Serialize;
use tactus_model::run::{Run, RunId};
use tactus_model::time::{Instant, Nanos, Realtime};
use tactus_stats::Interval;

use crate::compare::{
    CompareOptions, Comparison, FactDiffers, Incomparable, NotCompared, PairComparison, Selection,
    Verdict, compare,
};
use crate::history::{Figure, RunFigures, Value};
use crate::verdict::Validity;

/// The least number of machines whose scores are computed.
pub const FEWEST_FOR_SCORES: usize = 5;
/// The least number of machines of which one can be an outlier.
pub const FEWEST: usize = 3;
/// The modified z-score beyond which a machine is an outlier.
pub const SCORE_LIMIT: f64 = 3.5;
/// An outlier differs by more than this share: equal machines have very small deviations.
pub const MARGIN: f64 = 0.05;

/// With at most this many rounds, the spread between rounds is known so badly that intervals of changes
/// can be much too narrow.
pub const FEW_ROUNDS: usize = 2;

/// Makes the median absolute deviation an estimate of the standard deviation of a normal distribution.
const OF_MEDIAN_DEVIATION: f64 = 0.6745;
/// The same for the mean absolute deviation, used if more than half of the values are equal.
const OF_MEAN_DEVIATION: f64 = 0.797_885;

/// On which side of the others a machine lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// Its figure is less.
    Faster,
    /// Its figure is greater.
    Slower,
}

impl Side {
    /// The side in a word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
        }
    }
}

/// Why a machine is an outlier.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Outlier {
    /// The side on which it lies.
    pub side: Side,
    /// Its modified z-score; `None` if intervals decided, or if all other machines have one figure.
    pub score: Option<f64>,
}

/// A figure against that of the run before.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// The label of the cell.
    pub cell: String,
    /// The share of wakeups, 0 to 1.
    pub quantile: f64,
    /// The figure divided by that of the run before.
    pub ratio: f64,
    /// The 95 % interval of `ratio`.
    pub interval: [f64; 2],
    /// Whether it changed.
    pub verdict: Verdict,
}

/// What changed on a machine since its run before.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum Drift {
    /// There is no run before.
    First,
    /// The run before cannot be compared.
    NotCompared {
        /// The run before.
        since: RunId,
        /// The reason.
        reason: String,
    },
    /// Both runs were compared.
    Compared {
        /// The run before.
        since: RunId,
        /// The ranked figure of the ranked cell; `None` if it is not compared.
        ranked: Option<Change>,
        /// The fewest rounds of a compared cell in either run.
        rounds: usize,
        /// The number of figures that were compared.
        figures: usize,
        /// The other figures that are better or worse, adjusted for all tests of this machine.
        changes: Vec<Change>,
        /// Whether every figure that is neither better nor worse is the same within the margin.
        others_same: bool,
        /// The facts about kernel, CPU and scheduling that differ.
        facts: Vec<FactDiffers>,
    },
}

/// A machine with its figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MachineResult {
    /// Its name.
    pub machine: String,
    /// Its run.
    pub run: RunId,
    /// When the run began.
    pub began: Instant<Realtime>,
    /// The model of its CPU.
    pub cpu: Option<String>,
    /// The release of its kernel.
    pub kernel: Option<String>,
    /// Whether the figures of the run are valid.
    pub validity: Validity,
    /// The verdict on the run in one or two words.
    pub verdict: String,
    /// The label of the cell with the figure.
    pub cell: Option<String>,
    /// The figure; `None` if the samples do not support it.
    pub figure: Option<Value>,
    /// Why it is an outlier, if it is one.
    pub outlier: Option<Outlier>,
    /// What changed since its run before.
    pub drift: Drift,
}

impl MachineResult {
    /// Takes the figure of a run: that of the cell with the index `cell`, or the greatest of all cells.
    pub fn of(
        machine: String,
        run: &Run,
        before: Option<&Run>,
        wanted_figure: Figure,
        cell: Option<usize>,
    ) -> Self {
        let figures = RunFigures::of(run);
        let wanted = cell.and_then(|cell| run.header.plan.labels().into_iter().nth(cell));
        let labels = figures.cells.iter().map(|(label, _)| label);
        let known = labels
            .filter(|label| wanted.as_ref().is_none_or(|wanted| wanted == *label))
            .filter_map(|label| Some((label.clone(), figures.figure(label, wanted_figure)?)));
        let found = known.max_by_key(|(_, found)| found.value);
        let (cell, figure) =
            found.map_or((wanted, None), |(label, found)| (Some(label), Some(found)));
        let wanted = Wanted { cell: cell.as_deref(), quantile: wanted_figure.quantile() };
        let drift = before.map_or(Drift::First, |before| drift(before, run, wanted));
        Self {
            machine,
            run: run.header.id.clone(),
            began: run.header.created,
            cpu: figures.cpu,
            kernel: figures.place.kernel,
            validity: figures.validity,
            verdict: figures.mark,
            cell,
            figure,
            outlier: None,
            drift,
        }
    }
}

/// Machines in the order of a figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ranking {
    /// The name of the experiment.
    pub experiment: String,
    /// The figure.
    pub figure: Figure,
    /// Whether the figure is that of the worst cell of each machine.
    pub of_worst_cell: bool,
    /// The machines, that with the least figure first; those without the figure last.
    pub machines: Vec<MachineResult>,
    /// The machines that were to be measured and have no run, with the reasons.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub missing: BTreeMap<String, String>,
}

impl Ranking {
    /// Ranks machines, and finds the outliers.
    pub fn of(
        experiment: String,
        figure: Figure,
        of_worst_cell: bool,
        mut machines: Vec<MachineResult>,
    ) -> Self {
        let key = |result: &MachineResult| {
            let value = result.figure.map(|figure| figure.value);
            (value.is_none(), value, result.machine.clone())
        };
        machines.sort_by_key(key);
        let values: Vec<Value> = machines.iter().filter_map(|result| result.figure).collect();
        for (result, outlier) in machines.iter_mut().zip(outliers(&values)) {
            result.outlier = outlier;
        }
        Self { experiment, figure, of_worst_cell, machines, missing: BTreeMap::new() }
    }

    /// The machines that have the figure.
    pub fn ranked(&self) -> impl Iterator<Item = &MachineResult> {
        self.machines.iter().filter(|result| result.figure.is_some())
    }
}

/// Which of these figures of machines are outliers.
pub fn outliers(values: &[Value]) -> Vec<Option<Outlier>> {
    match values.len() {
        FEWEST_FOR_SCORES.. => by_score(values),
        FEWEST.. => by_interval(values),
        _ => vec![None; values.len()],
    }
}

fn by_score(values: &[Value]) -> Vec<Option<Outlier>> {
    // A latency of 0 has no logarithm; no clock distinguishes it from 1 ns.
    let logarithms: Vec<f64> =
        values.iter().map(|value| (value.value.as_nanos().max(1) as f64).ln()).collect();
    let middle = median(&logarithms);
    let deviations: Vec<f64> = logarithms.iter().map(|value| (value - middle).abs()).collect();
    let (of_median, mean) =
        (median(&deviations), deviations.iter().sum::<f64>() / deviations.len() as f64);
    let scale =
        if of_median > 0.0 { OF_MEDIAN_DEVIATION / of_median } else { OF_MEAN_DEVIATION / mean };
    let outlier = |value: &f64| {
        let distance = value - middle;
        // With equal figures, the scale is infinite and no distance exceeds the margin.
        let is_far = distance.abs() > (1.0 + MARGIN).ln() && distance.abs() * scale > SCORE_LIMIT;
        let side = if distance > 0.0 { Side::Slower } else { Side::Faster };
        is_far.then_some(Outlier { side, score: Some(distance * scale) })
    };
    logarithms.iter().map(outlier).collect()
}

fn by_interval(values: &[Value]) -> Vec<Option<Outlier>> {
    let intervals: Option<Vec<Interval>> = values.iter().map(|value| value.interval).collect();
    let Some(intervals) = intervals else { return vec![None; values.len()] };
    let is_beyond =
        |far: Nanos, near: Nanos| far.as_nanos() as f64 > near.as_nanos() as f64 * (1.0 + MARGIN);
    let outlier = |own: usize| {
        let others = || {
            intervals.iter().enumerate().filter(move |(index, _)| *index != own).map(|(_, it)| it)
        };
        let (lows, highs) = (|| others().map(|it| it.low), || others().map(|it| it.high));
        if lows().max()? > highs().min()? {
            // The others differ from each other too.
            return None;
        }
        let side = if is_beyond(intervals[own].low, highs().max()?) {
            Side::Slower
        } else if is_beyond(lows().min()?, intervals[own].high) {
            Side::Faster
        } else {
            return None;
        };
        Some(Outlier { side, score: None })
    };
    (0..intervals.len()).map(outlier).collect()
}

/// The median of values, of which there is at least one.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted[upper]
    } else {
        f64::midpoint(sorted[upper - 1], sorted[upper])
    }
}

/// The figure by which machines are ranked.
#[derive(Clone, Copy, Debug)]
struct Wanted<'w> {
    cell: Option<&'w str>,
    /// `None` for the maximum, which has no interval and is not compared.
    quantile: Option<f64>,
}

impl Wanted<'_> {
    fn is(self, change: &Change) -> bool {
        self.cell == Some(change.cell.as_str()) && self.quantile == Some(change.quantile)
    }
}

/// Compares a run with the run before it on the same machine.
fn drift(before: &Run, run: &Run, wanted: Wanted<'_>) -> Drift {
    let whole = |run| Selection { run, cell: None };
    let since = before.header.id.clone();
    let options = CompareOptions::default();
    match compare(whole(before), whole(run), &options) {
        Ok(comparison) => drift_of(since, comparison, wanted),
        Err(error) => Drift::NotCompared { since, reason: reason(&error) },
    }
}

fn reason(error: &Incomparable) -> String {
    match error {
        Incomparable::NoCommonCell { .. } => "no cell has the same settings as then".to_owned(),
        other => other.to_string(),
    }
}

fn drift_of(since: RunId, comparison: Comparison, wanted: Wanted<'_>) -> Drift {
    let verdicts = |pair: &PairComparison| -> Vec<Change> {
        let changes = pair.quantiles.iter().filter_map(|figure| {
            let (difference, verdict) = (figure.difference?, figure.verdict?);
            Some(Change {
                cell: pair.b.label.clone(),
                quantile: figure.quantile,
                ratio: difference.ratio,
                interval: [difference.ratio_low, difference.ratio_high],
                verdict,
            })
        });
        changes.collect()
    };
    let all: Vec<Change> = comparison.pairs.iter().flat_map(verdicts).collect();
    if all.is_empty() {
        let mut reasons = comparison.pairs.iter().flat_map(|pair| &pair.quantiles);
        let reason = reasons.find_map(|figure| figure.not_compared);
        let reason =
            reason.map_or_else(|| "no figure has samples in both runs".to_owned(), in_words);
        return Drift::NotCompared { since, reason };
    }
    let figures = all.len();
    let ranked = all.iter().find(|change| wanted.is(change)).cloned();
    let (mut changes, others): (Vec<Change>, Vec<Change>) = all
        .into_iter()
        .partition(|change| matches!(change.verdict, Verdict::Better | Verdict::Worse));
    changes.retain(|change| !wanted.is(change));
    let compared = comparison
        .pairs
        .iter()
        .filter(|pair| pair.quantiles.iter().any(|figure| figure.difference.is_some()));
    Drift::Compared {
        since,
        ranked,
        rounds: compared.map(|pair| pair.a.rounds.min(pair.b.rounds)).min().unwrap_or(0),
        figures,
        others_same: others.iter().all(|change| change.verdict == Verdict::Same),
        changes,
        facts: comparison.facts,
    }
}

/// Why figures are not compared, in words about time instead of sides.
fn in_words(reason: NotCompared) -> String {
    match reason {
        NotCompared::FewRounds { .. } => {
            "one of both runs has a single round, which does not show how rounds differ; measure with `--rounds 3`"
                .to_owned()
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(micros: u64, spread: Option<u64>) -> Value {
        let interval = spread.map(|spread| Interval {
            low: Nanos::from_micros(micros - spread),
            high: Nanos::from_micros(micros + spread),
        });
        Value { value: Nanos::from_micros(micros), interval }
    }

    fn sides(values: &[Value]) -> Vec<Option<Side>> {
        outliers(values).into_iter().map(|found| found.map(|outlier| outlier.side)).collect()
    }

    #[test]
    fn planted_outliers_are_found_among_many_machines_and_no_others() {
        let mut values: Vec<Value> = (0..20).map(|index| value(100 + index % 7, None)).collect();
        assert_eq!(sides(&values), [None; 20]);
        values[3] = value(400, None);
        values[11] = value(20, None);
        let found = sides(&values);
        assert_eq!(found[3], Some(Side::Slower));
        assert_eq!(found[11], Some(Side::Faster));
        assert_eq!(found.iter().flatten().count(), 2);
        let score = outliers(&values)[3].unwrap().score.unwrap();
        assert!(score > SCORE_LIMIT, "{score}");
    }

    #[test]
    fn equal_machines_are_no_outliers_and_differences_within_the_margin_do_not_count() {
        assert_eq!(sides(&[value(100, None); 9]), [None; 9]);
        let mut values = vec![value(100, None); 9];
        values[0] = value(104, None);
        assert_eq!(sides(&values), [None; 9]);
        values[0] = value(200, None);
        assert_eq!(sides(&values)[0], Some(Side::Slower), "more than half are equal");
        assert_eq!(sides(&[value(0, None); 5]), [None; 5]);
    }

    #[test]
    fn of_few_machines_the_one_whose_interval_lies_apart_is_an_outlier() {
        let [low, near, high] = [value(100, Some(5)), value(104, Some(5)), value(200, Some(5))];
        assert_eq!(sides(&[low, near, high]), [None, None, Some(Side::Slower)]);
        let far = value(20, Some(5));
        assert_eq!(sides(&[low, near, low, far]), [None, None, None, Some(Side::Faster)]);
        // Each differs from both others, so none is the odd one.
        assert_eq!(sides(&[far, low, high]), [None; 3]);
        assert_eq!(sides(&[low, high]), [None; 2]);
        assert_eq!(sides(&[low, near, value(200, None)]), [None; 3], "without an interval");
        assert_eq!(sides(&[]), []);
    }

    fn result(machine: &str, micros: Option<u64>) -> MachineResult {
        MachineResult {
            machine: machine.to_owned(),
            run: RunId::new(format!("quick-1-{machine}")),
            began: Instant::from_nanos(0),
            cpu: None,
            kernel: None,
            validity: Validity::Valid,
            verdict: "valid".to_owned(),
            cell: None,
            figure: micros.map(|micros| value(micros, None)),
            outlier: None,
            drift: Drift::First,
        }
    }

    #[test]
    fn machines_are_ranked_by_their_figures() {
        let micros = [Some(50), None, Some(40), Some(45), Some(47), Some(900), Some(40)];
        let machines = ["a", "b", "c", "d", "e", "f", "g"].iter().zip(micros);
        let machines = machines.map(|(machine, micros)| result(machine, micros)).collect();
        let ranking = Ranking::of("quick".to_owned(), Figure::P99, true, machines);
        let order: Vec<&str> = ranking.machines.iter().map(|it| it.machine.as_str()).collect();
        assert_eq!(order, ["c", "g", "d", "e", "a", "f", "b"]);
        let outliers = ranking.machines.iter().filter(|it| it.outlier.is_some());
        assert_eq!(outliers.map(|it| it.machine.as_str()).collect::<Vec<_>>(), ["f"]);
        assert_eq!(ranking.ranked().count(), 6);
    }
}
