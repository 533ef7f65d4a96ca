//! Explanations on the page.

use tactus_explain::{ExplainedSample, Explanation, Segment};
use tactus_model::result::Histogram;
use tactus_model::time::Nanos;
use tactus_stats::LatencyHistogram;

use super::words::Subject;
use super::{CellExplanation, lanes, words};
use crate::format;
use crate::svg::segments::{self, Stack};
use crate::svg::timeline::{self, Lateness};

/// The number of worst samples whose timelines are open; the others are folded.
const OPEN: usize = 6;

/// The most samples whose segments are stacked in one drawing.
const STACKED: usize = 12;

/// The explanations of all cells of a run.
pub(crate) struct ExplanationView {
    pub(crate) cells: Vec<CellView>,
    /// The key to the timelines; `None` without timelines.
    pub(crate) key: Option<String>,
}

/// The explanation of a cell.
pub(crate) struct CellView {
    pub(crate) label: String,
    /// What one of the explained is called.
    pub(crate) noun: &'static str,
    /// The heading of the slowest of them.
    pub(crate) slowest: &'static str,
    pub(crate) headline: String,
    pub(crate) sentences: Vec<String>,
    pub(crate) causes: Vec<CauseView>,
    pub(crate) lengths: Vec<LengthsView>,
    pub(crate) stacked: Option<String>,
    pub(crate) open: Vec<SampleView>,
    pub(crate) folded: Vec<SampleView>,
    /// Whether it is open at first.
    pub(crate) is_open: bool,
}

/// A row of the Pareto table.
pub(crate) struct CauseView {
    pub(crate) cause: String,
    pub(crate) share: String,
    /// The length of its bar; 100 for the greatest cause.
    pub(crate) bar: f64,
    pub(crate) time: String,
    pub(crate) samples: String,
    pub(crate) first: String,
    pub(crate) most: String,
}

/// How long one segment was, over all samples.
pub(crate) struct LengthsView {
    pub(crate) segment: String,
    pub(crate) median: String,
    pub(crate) p99: String,
    pub(crate) max: String,
}

/// A late sample.
pub(crate) struct SampleView {
    /// An SVG element; `None` if no timeline was kept.
    pub(crate) drawing: Option<String>,
    pub(crate) head: String,
    /// Share, time and name of each cause.
    pub(crate) causes: Vec<(String, String, String)>,
}

impl ExplanationView {
    /// The view, or `None` if there is nothing to show.
    pub(crate) fn of(explanations: &[CellExplanation]) -> Option<Self> {
        if explanations.is_empty() {
            return None;
        }
        let late = |cell: &&CellExplanation| cell.explanation.pareto.time;
        let latest = explanations.iter().max_by_key(late).map_or("", |cell| &cell.label);
        let cells: Vec<CellView> =
            explanations.iter().map(|cell| CellView::of(cell, cell.label == latest)).collect();
        let drawn = cells.iter().flat_map(|cell| &cell.open).any(|sample| sample.drawing.is_some());
        Some(Self { key: drawn.then(|| timeline::key().inline()), cells })
    }
}

impl CellView {
    fn of(cell: &CellExplanation, is_open: bool) -> Self {
        let explanation = &cell.explanation;
        let sentences = [
            words::divided(explanation),
            words::remainder(explanation),
            words::throttling(explanation, Subject::Samples),
            words::observer(explanation),
            words::circumstances(explanation),
            Some(words::matched(explanation)),
            Some(words::cost(cell.tracing_cost.as_ref())),
        ];
        let (open, folded) = folded(explanation, Subject::Samples, words::place);
        Self {
            label: cell.label.clone(),
            noun: Subject::Samples.noun(),
            slowest: Subject::Samples.slowest(),
            headline: words::headline(explanation, Subject::Samples, None),
            sentences: sentences.into_iter().flatten().collect(),
            causes: causes(explanation),
            lengths: lengths(
                explanation.segments.iter().map(|part| (part.segment.to_string(), &part.histogram)),
            ),
            stacked: stacked(&cell.label, explanation),
            open,
            folded,
            is_open,
        }
    }
}

/// The worst samples: those that are open, and those that are folded. `place` says in words
/// where a sample was.
pub(super) fn folded(
    explanation: &Explanation,
    subject: Subject,
    place: impl Fn(&ExplainedSample) -> String,
) -> (Vec<SampleView>, Vec<SampleView>) {
    let worst = (1..).zip(&explanation.worst);
    let mut open: Vec<SampleView> =
        worst.map(|(number, worst)| sample(number, worst, subject, place(worst))).collect();
    // Folding one or two saves no room.
    let folded = if open.len() > OPEN + 2 { open.split_off(OPEN) } else { Vec::new() };
    (open, folded)
}

pub(super) fn causes(explanation: &Explanation) -> Vec<CauseView> {
    let rows = words::rows(explanation);
    let most = rows.iter().map(|row| row.time).max().unwrap_or_default();
    rows.into_iter()
        .map(|row| CauseView {
            cause: row.name,
            share: format::share(row.time.as_nanos(), explanation.pareto.time.as_nanos()),
            bar: row.time.as_nanos() as f64 / most.as_nanos().max(1) as f64 * 100.0,
            time: format::latency(row.time),
            samples: row.samples.map_or_else(|| format::NOTHING.to_owned(), format::count),
            first: format::count(row.first),
            most: format::latency(row.max),
        })
        .collect()
}

/// The durations of segments, by their names.
pub(super) fn lengths<'a>(
    segments: impl Iterator<Item = (String, &'a Histogram)>,
) -> Vec<LengthsView> {
    segments
        .filter(|(_, lengths)| lengths.count > 0)
        .map(|(segment, lengths)| {
            let lengths = LatencyHistogram::from_record(lengths);
            LengthsView {
                segment,
                median: format::latency_or_nothing(lengths.quantile(0.5)),
                p99: format::latency_or_nothing(lengths.quantile(0.99)),
                max: format::latency_or_nothing(lengths.max()),
            }
        })
        .collect()
}

/// The segments of the mean and of each of the worst samples.
fn stacked(label: &str, explanation: &Explanation) -> Option<String> {
    let mut stacks: Vec<Stack> = mean(explanation).into_iter().collect();
    let worst = (1..).zip(&explanation.worst).filter_map(|(number, worst)| {
        let segments = worst.segments?;
        let mut lengths = [Nanos::ZERO; Segment::ALL.len()];
        for (place, (_, length)) in segments.iter().enumerate() {
            lengths[place] = length;
        }
        let number: usize = number;
        Some(Stack { name: number.to_string(), lengths })
    });
    stacks.extend(worst.take(STACKED));
    (!stacks.is_empty()).then(|| segments::panel(label, &stacks).inline())
}

/// The mean of each segment. Means add up to the mean latency; medians do not.
fn mean(explanation: &Explanation) -> Option<Stack> {
    let mut lengths = [Nanos::ZERO; Segment::ALL.len()];
    for segment in &explanation.segments {
        let histogram = &segment.histogram;
        let mean = histogram.sum.as_nanos().checked_div(histogram.count)?;
        lengths[segment.segment as usize] = Nanos::from_nanos(mean);
    }
    (!explanation.segments.is_empty()).then(|| Stack { name: "mean".to_owned(), lengths })
}

fn sample(
    number: usize,
    explained: &ExplainedSample,
    subject: Subject,
    place: String,
) -> SampleView {
    let latency = explained.sample.latency();
    let length = subject.length(explained);
    let drawing = explained.timeline.as_ref().map(|drawn| {
        let (lanes, left_out) = lanes::shown(drawn);
        let mut head = format!("{number}. {length}");
        if left_out > 0 {
            head.push_str(&format!(", {left_out} quieter CPUs not shown"));
        }
        let lateness = Lateness {
            head: &head,
            length: drawn.length,
            end: subject.end(explained),
            lanes: &lanes,
            marks: &drawn.marks,
        };
        timeline::panel(&lateness).inline()
    });
    let causes = explained
        .parts
        .iter()
        .map(|part| {
            let share = format::share(part.time.as_nanos(), latency.as_nanos());
            (share, format::latency(part.time), part.cause.to_string())
        })
        .collect();
    // The drawing already has the number and the latency.
    let head = match drawing {
        Some(_) => place,
        None => format!("{number}. {length}: {place}"),
    };
    SampleView { drawing, head, causes }
}
