//! The history of a figure: its values in the runs of an experiment on each machine and kernel, and
//! where their level changed.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use tactus_model::facts::MachineFacts;
use tactus_model::result::Measurement;
use tactus_model::run::{Run, RunId};
use tactus_model::time::{Instant, Nanos, Realtime};
use tactus_stats::changes::{self, VALUES_MAX};
use tactus_stats::{CellSummary, Interval};

use crate::verdict::{Validity, Verdict, verdict};

/// A figure of a cell that has a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Figure {
    /// The median latency.
    #[serde(rename = "p50")]
    P50,
    /// The 99th percentile of latency.
    #[serde(rename = "p99")]
    P99,
    /// The 99.9th percentile of latency.
    #[serde(rename = "p99.9")]
    P999,
    /// The maximum latency.
    #[serde(rename = "max")]
    Max,
}

impl Figure {
    /// All figures.
    pub const ALL: [Self; 4] = [Self::P50, Self::P99, Self::P999, Self::Max];

    /// Its word in URLs and tables.
    pub const fn word(self) -> &'static str {
        match self {
            Self::P50 => "p50",
            Self::P99 => "p99",
            Self::P999 => "p99.9",
            Self::Max => "max",
        }
    }

    pub(crate) const fn quantile(self) -> Option<f64> {
        match self {
            Self::P50 => Some(0.5),
            Self::P99 => Some(0.99),
            Self::P999 => Some(0.999),
            Self::Max => None,
        }
    }

    fn of(self, summary: &CellSummary) -> Option<Value> {
        let Some(quantile) = self.quantile() else {
            return Some(Value { value: summary.max?, interval: None });
        };
        let estimate = summary.quantile(quantile)?;
        Some(Value { value: estimate.per_wakeup?, interval: estimate.interval })
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for Figure {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|figure| figure.word() == text).ok_or_else(|| {
            let known = Self::ALL.map(Self::word).join(", ");
            format!("unknown figure `{text}`; expected {known}")
        })
    }
}

/// A figure with its 95 % interval, if it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Value {
    /// The figure.
    pub value: Nanos,
    /// Its interval.
    pub interval: Option<Interval>,
}

/// What histories take from a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunFigures {
    /// Where it was measured.
    pub place: MeasuredOn,
    /// The model of the CPU.
    pub cpu: Option<String>,
    /// Whether its figures are valid.
    pub validity: Validity,
    /// The verdict in one or two words.
    pub mark: String,
    /// The cells with a result: their labels, and their figures in the order of [`Figure::ALL`].
    pub cells: Vec<(String, [Option<Value>; Figure::ALL.len()])>,
}

/// The machine and the kernel of a run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct MeasuredOn {
    /// The node of a cluster as `node NAME`, or the digest that identifies the machine; unknown for other
    /// imported runs.
    pub machine: Option<String>,
    /// The release of its kernel.
    pub kernel: Option<String>,
}

impl RunFigures {
    /// Takes the figures of a run.
    pub fn of(run: &Run) -> Self {
        let verdict: Verdict = verdict(run);
        let facts = &run.header.facts_before;
        let cells = run.header.plan.labels().into_iter().enumerate().filter_map(|(cell, label)| {
            let measurements: Vec<&Measurement> = run.of_cell(cell).collect();
            if measurements.is_empty() {
                return None;
            }
            let summary = CellSummary::pool(&measurements);
            Some((label, Figure::ALL.map(|figure| figure.of(&summary))))
        });
        Self {
            place: MeasuredOn { machine: machine_of(facts), kernel: facts.kernel.release.clone() },
            cpu: facts.cpu.model.clone(),
            validity: verdict.validity,
            mark: verdict.mark(),
            cells: cells.collect(),
        }
    }

    /// A figure of the cell with this label.
    pub fn figure(&self, cell: &str, figure: Figure) -> Option<Value> {
        let (_, values) = self.cells.iter().find(|(label, _)| label == cell)?;
        Figure::ALL.into_iter().zip(values).find(|(other, _)| *other == figure)?.1.to_owned()
    }
}

/// The figure in one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// The run.
    pub run: RunId,
    /// When it began.
    pub created: Instant<Realtime>,
    /// The figure.
    #[serde(flatten)]
    pub value: Value,
}

/// Consecutive runs between which the figure did not change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Level {
    /// The index of the first run.
    pub first: usize,
    /// The number of runs.
    pub runs: usize,
    /// The median of their figures.
    pub median: Nanos,
}

/// What a run's machine is called: nodes of a cluster may be one machine, and their runs are imported.
fn machine_of(facts: &MachineFacts) -> Option<String> {
    let node = facts.node.as_ref().map(|node| format!("node {}", node.name));
    node.or_else(|| facts.machine_id.clone())
}

/// The runs of one machine with one kernel, the earliest first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// Machine and kernel.
    #[serde(flatten)]
    pub place: MeasuredOn,
    /// The figure in each run.
    pub points: Vec<Point>,
    /// The stretches between changes.
    pub levels: Vec<Level>,
    /// The number of earlier runs that are left out.
    pub earlier: usize,
}

/// The random orders of values are the same each time a history is shown.
const SEED: u64 = 22;

/// Orders the points of each place by time and finds the changes. Of more than
/// [`VALUES_MAX`] runs, the latest count.
pub fn history(points: impl IntoIterator<Item = (MeasuredOn, Point)>) -> Vec<Series> {
    let mut places: BTreeMap<MeasuredOn, Vec<Point>> = BTreeMap::new();
    for (place, point) in points {
        places.entry(place).or_default().push(point);
    }
    places.into_iter().map(|(place, points)| series(place, points)).collect()
}

fn series(place: MeasuredOn, mut points: Vec<Point>) -> Series {
    points.sort_by(|a, b| (a.created, &a.run).cmp(&(b.created, &b.run)));
    let earlier = points.len().saturating_sub(VALUES_MAX);
    points.drain(..earlier);
    // A latency of 0 has no logarithm; no clock distinguishes it from 1 ns.
    let logarithm = |point: &Point| (point.value.value.as_nanos().max(1) as f64).ln();
    let values: Vec<f64> = points.iter().map(logarithm).collect();
    let levels = changes::levels(&values, SEED).into_iter().map(|level| Level {
        first: level.values.start,
        runs: level.values.len(),
        median: Nanos::from_nanos(level.median.exp().round() as u64),
    });
    Series { place, levels: levels.collect(), points, earlier }
}

#[cfg(test)]
mod tests {
    use tactus_model::facts::NodeFacts;

    use super::*;

    fn on(machine: &str) -> MeasuredOn {
        MeasuredOn { machine: Some(machine.to_owned()), kernel: Some("6.1".to_owned()) }
    }

    fn point(second: u64, micros: u64) -> Point {
        Point {
            run: RunId::new(format!("quick-{second:04}")),
            created: Instant::from_nanos(second * 1_000_000_000),
            value: Value { value: Nanos::from_micros(micros), interval: None },
        }
    }

    #[test]
    fn each_machine_has_its_series_in_the_order_of_time() {
        let mut points = Vec::new();
        for second in (0..40).rev() {
            points.push((on("steady"), point(second, 50 + second % 3)));
            let level = if second < 20 { 50 } else { 90 };
            points.push((on("changed"), point(second, level + second % 3)));
        }
        let found = history(points);
        let [changed, steady] = &found[..] else { panic!("{found:?}") };
        assert_eq!((&changed.place, &steady.place), (&on("changed"), &on("steady")));
        assert!(changed.points.is_sorted_by_key(|point| point.created));
        let levels: Vec<_> = changed
            .levels
            .iter()
            .map(|level| (level.first, level.runs, level.median.as_nanos() / 1000))
            .collect();
        assert_eq!(levels, [(0, 20, 51), (20, 20, 91)]);
        assert_eq!(steady.levels.len(), 1);
    }

    #[test]
    fn nodes_are_machines_of_their_own_although_their_runs_are_imported() {
        let mut facts = MachineFacts::unknown(Instant::from_nanos(0));
        assert_eq!(machine_of(&facts), None);
        facts.machine_id = Some("0123".to_owned());
        assert_eq!(machine_of(&facts).as_deref(), Some("0123"));
        facts.node = Some(NodeFacts { name: "n7".to_owned(), group: "x-1".to_owned() });
        assert_eq!(machine_of(&facts).as_deref(), Some("node n7"));
    }

    #[test]
    fn a_long_series_ends_with_the_latest_runs() {
        let count = VALUES_MAX as u64 + 7;
        let found = history((0..count).map(|second| (on("a"), point(second, 50))));
        assert_eq!((found[0].earlier, found[0].points.len()), (7, VALUES_MAX));
        assert_eq!(
            found[0].points.last().unwrap().run,
            RunId::new(format!("quick-{:04}", count - 1))
        );
    }

    #[test]
    fn figures_are_parsed_by_their_words() {
        for figure in Figure::ALL {
            assert_eq!(figure.word().parse(), Ok(figure));
        }
        let error = "p98".parse::<Figure>().unwrap_err();
        assert_eq!(error, "unknown figure `p98`; expected p50, p99, p99.9, max");
    }
}
