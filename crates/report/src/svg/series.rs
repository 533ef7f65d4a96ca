//! Median, 99th percentile and maximum latency of each second.
//!
//! They show what a histogram hides: whether late wakeups are clustered, periodic or increasing.

use tactus_model::result::Second;
use tactus_model::time::Nanos;

use super::Drawing;
use super::frame::Frame;
use super::percentiles::{Curve, TimeRange, name_curves};
use super::scale::LinearScale;
use super::style::CurveStyle;
use crate::format;

/// The seconds of a cell.
#[derive(Clone, Debug)]
pub struct Series {
    /// The cell's name.
    pub name: String,
    /// The rounds in their order.
    pub rounds: Vec<Round>,
}

/// The seconds of one round.
#[derive(Clone, Debug)]
pub struct Round {
    /// The measured duration.
    pub window: Nanos,
    /// One entry per second, ascending; seconds without due times are missing.
    pub seconds: Vec<Second>,
}

/// Joins the tasks of a round: for each second the median of the middle task, and the p99 and the
/// maximum of the slowest task.
///
/// Quantiles of several tasks cannot be added; the p99 of the slowest task is never below that of
/// all tasks together.
pub fn joined<'s>(tasks: impl IntoIterator<Item = &'s [Second]>) -> Vec<Second> {
    let mut all: Vec<Second> = tasks.into_iter().flatten().copied().collect();
    all.sort_by_key(|second| (second.at, second.median));
    all.chunk_by(|a, b| a.at == b.at)
        .map(|same| Second {
            at: same[0].at,
            count: same.iter().fold(0, |sum, second| sum.saturating_add(second.count)),
            median: same[same.len() / 2].median,
            p99: same.iter().map(|second| second.p99).max().unwrap_or_default(),
            max: same.iter().map(|second| second.max).max().unwrap_or_default(),
        })
        .collect()
}

/// A line of the graph.
struct Line {
    name: &'static str,
    style: CurveStyle,
    value: fn(&Second) -> Nanos,
}

const LINES: [Line; 3] = [
    Line { name: "max", style: CurveStyle::numbered(1), value: |second| second.max },
    Line { name: "p99", style: CurveStyle::numbered(2), value: |second| second.p99 },
    Line { name: "median", style: CurveStyle::numbered(0), value: |second| second.median },
];

/// Draws the seconds of a cell, round after round; `times` is the range of the whole group.
pub fn panel(series: &Series, times: TimeRange) -> Drawing {
    let frame = Frame::new(120.0, Frame::room_for(["median"]));
    let title = format!("Latency second by second: {}", series.name);
    let mut drawing = frame.begin(&series.name, title, describe(series));
    let upward = times.scale(frame.bottom, frame.top);
    frame.lengths_upward(&mut drawing, &upward, "latency in the second");
    let measured: Nanos = series.rounds.iter().map(|round| round.window).sum();
    let along = LinearScale::new(0.0, measured.as_secs_f64(), frame.left, frame.right);
    frame.seconds_along(&mut drawing, &along);
    let rounds = format::counted(series.rounds.len() as u64, "round");
    frame.name_below(&mut drawing, &format!("seconds measured, {rounds}"));
    for end in ends(series).iter().rev().skip(1) {
        let x = along.at(end.as_secs_f64());
        drawing.line("nominal", (x, frame.top), (x, frame.bottom));
    }
    for Line { style, value, .. } in LINES {
        let height = |second: &Second| upward.at(value(second).as_nanos() as f64);
        let points = steps(series)
            .map(|step| step.map(|(at, second)| (along.at(at.as_secs_f64()), height(second))));
        drawing.path(&style.line(), points);
    }
    let last = series.rounds.iter().flat_map(|round| &round.seconds).next_back();
    let names: Vec<Curve> = LINES
        .into_iter()
        .map(|Line { name, style, value }| Curve {
            name: name.to_owned(),
            style,
            points: last.map(|second| (1.0, value(second))).into_iter().collect(),
        })
        .collect();
    name_curves(&mut drawing, &frame, &names, |curve| {
        let (_, latency) = curve.points.first()?;
        Some((frame.right, upward.at(latency.as_nanos() as f64)))
    });
    drawing
}

/// The end of each round, in measured time.
fn ends(series: &Series) -> Vec<Nanos> {
    let mut end = Nanos::ZERO;
    series
        .rounds
        .iter()
        .map(|round| {
            end = end + round.window;
            end
        })
        .collect()
}

/// Both ends of each second, in measured time, so a single second is visible too; `None` between
/// seconds that are not adjacent.
fn steps(series: &Series) -> impl Iterator<Item = Option<(Nanos, &Second)>> {
    series.rounds.iter().zip(ends(series)).flat_map(|(round, end)| {
        let begin = end - round.window;
        let mut before = None;
        round.seconds.iter().flat_map(move |second| {
            let until = (second.at + Nanos::from_secs(1)).min(round.window.max(second.at));
            let follows = before == Some(second.at);
            before = Some(until);
            let gap = (!follows).then_some(None);
            gap.into_iter()
                .chain([Some((begin + second.at, second)), Some((begin + until, second))])
        })
    })
}

/// The range of all these seconds, for panels that share it.
pub fn range<'s>(all: impl IntoIterator<Item = &'s Series>) -> TimeRange {
    let mut range = TimeRange { low: Nanos::MAX, high: Nanos::ZERO };
    for second in
        all.into_iter().flat_map(|series| series.rounds.iter().flat_map(|round| &round.seconds))
    {
        range.low = range.low.min(second.median);
        range.high = range.high.max(second.max);
    }
    TimeRange { low: range.low.min(range.high), ..range }
}

fn describe(series: &Series) -> String {
    let seconds = series.rounds.iter().flat_map(|round| &round.seconds);
    let Some(worst) = seconds.max_by_key(|second| second.max) else {
        return "no second was measured".to_owned();
    };
    format!(
        "Highest values of any second: median {}, p99 {}, maximum {}",
        format::latency(worst.median),
        format::latency(worst.p99),
        format::latency(worst.max)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(at: u64, median: u64, p99: u64, max: u64) -> Second {
        let micros = Nanos::from_micros;
        Second {
            at: Nanos::from_secs(at),
            count: 10,
            median: micros(median),
            p99: micros(p99),
            max: micros(max),
        }
    }

    #[test]
    fn tasks_are_joined_by_the_slowest() {
        let first = [second(0, 5, 9, 20), second(1, 6, 10, 11)];
        let second_task = [second(0, 7, 8, 90)];
        let joined = joined([&first[..], &second_task[..]]);
        assert_eq!(joined.len(), 2);
        assert_eq!(joined[0].count, 20);
        assert_eq!((joined[0].p99, joined[0].max), (Nanos::from_micros(9), Nanos::from_micros(90)));
    }

    #[test]
    fn a_second_without_samples_is_a_gap() {
        let round = |at: &[u64]| Round {
            window: Nanos::from_millis(3_500),
            seconds: at.iter().map(|at| second(*at, 5, 9, 20)).collect(),
        };
        let series = Series { name: "idle".into(), rounds: vec![round(&[0, 2, 3]), round(&[0])] };
        let steps: Vec<Option<u64>> =
            steps(&series).map(|step| step.map(|(at, _)| at.as_nanos() / 100_000_000)).collect();
        let expected = [
            None,
            Some(0),
            Some(10),
            None,
            Some(20),
            Some(30),
            Some(30),
            Some(35),
            None,
            Some(35),
            Some(45),
        ];
        assert_eq!(steps, expected);
    }

    #[test]
    fn a_cell_without_seconds_still_has_a_drawing() {
        let series = Series { name: "idle".into(), rounds: Vec::new() };
        let drawing = panel(&series, range([&series]));
        assert!(drawing.inline().contains("no second was measured"));
    }
}
