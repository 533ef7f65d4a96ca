//! Median, 99th percentile and greatest latency of every second.
//!
//! They show what a histogram hides: whether the late wakeups came together,
//! came with a period, or grew in number.

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
    /// The seconds of each round, the rounds in order; one entry a second.
    pub rounds: Vec<Vec<Second>>,
}

/// Joins the tasks of a round: for each second the median of the task in the
/// middle, and the p99 and the maximum of the slowest task.
///
/// Quantiles of several tasks cannot be added; the slowest task's p99 is never
/// below that of all tasks together.
pub fn joined<'s>(tasks: impl IntoIterator<Item = &'s [Second]>) -> Vec<Second> {
    let mut all: Vec<Second> = tasks.into_iter().flatten().copied().collect();
    all.sort_by_key(|second| (second.at, second.median));
    all.chunk_by(|a, b| a.at == b.at)
        .map(|same| Second {
            at: same[0].at,
            count: same.iter().map(|second| second.count).sum(),
            median: same[same.len() / 2].median,
            p99: same.iter().map(|second| second.p99).max().unwrap_or_default(),
            max: same.iter().map(|second| second.max).max().unwrap_or_default(),
        })
        .collect()
}

/// Draws the seconds of a cell, its rounds one after the other; `times` is that of the whole group.
pub fn panel(series: &Series, times: TimeRange) -> Drawing {
    let frame = Frame::new(120.0, Frame::room_for(["median"]));
    let title = format!("Latency second by second: {}", series.name);
    let mut drawing = frame.begin(&series.name, title, describe(series));
    let upward = times.scale(frame.bottom, frame.top);
    frame.lengths_upward(&mut drawing, &upward);
    let seconds: usize = series.rounds.iter().map(Vec::len).sum();
    let along = LinearScale::new(0.0, seconds as f64, frame.left, frame.right);
    frame.seconds_along(&mut drawing, &along);
    let rounds = format::counted(series.rounds.len() as u64, "round");
    frame.name_below(&mut drawing, &format!("seconds measured, {rounds}"));
    let mut start = 0;
    for round in &series.rounds[..series.rounds.len().saturating_sub(1)] {
        start += round.len();
        let x = along.at(start as f64);
        drawing.line("nominal", (x, frame.top), (x, frame.bottom));
    }
    let lines = [
        ("max", CurveStyle::numbered(1), (|second| second.max) as fn(&Second) -> Nanos),
        ("p99", CurveStyle::numbered(2), |second| second.p99),
        ("median", CurveStyle::numbered(0), |second| second.median),
    ];
    let mut names = Vec::new();
    for (name, style, value) in lines {
        let height = |second: &Second| upward.at(value(second).as_nanos() as f64);
        let mut place = 0.0;
        let mut points = Vec::new();
        for round in &series.rounds {
            for second in round {
                // A second is drawn as wide as it is long, so that a single one is seen too.
                points.push(Some((along.at(place), height(second))));
                points.push(Some((along.at(place + 1.0), height(second))));
                place += 1.0;
            }
            points.push(None);
        }
        drawing.path(&style.line(), points);
        let last = series.rounds.iter().flatten().next_back();
        names.push(Curve {
            name: name.to_owned(),
            style,
            points: last.map(|second| (1.0, value(second))).into_iter().collect(),
        });
    }
    name_curves(&mut drawing, &frame, &names, |curve| {
        let (_, latency) = curve.points.first()?;
        Some((frame.right, upward.at(latency.as_nanos() as f64)))
    });
    drawing
}

/// The range of all these seconds, for panels that share it.
pub fn range<'s>(all: impl IntoIterator<Item = &'s Series>) -> TimeRange {
    let mut range = TimeRange { low: Nanos::MAX, high: Nanos::ZERO };
    for second in all.into_iter().flat_map(|series| series.rounds.iter().flatten()) {
        range.low = range.low.min(second.median);
        range.high = range.high.max(second.max);
    }
    TimeRange { low: range.low.min(range.high), ..range }
}

fn describe(series: &Series) -> String {
    let seconds = series.rounds.iter().flatten();
    let Some(worst) = seconds.max_by_key(|second| second.max) else {
        return "no second was measured".to_owned();
    };
    format!(
        "The slowest second had median {}, p99 {} and maximum {}",
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
    fn tasks_are_joined_to_the_slowest() {
        let first = [second(0, 5, 9, 20), second(1, 6, 10, 11)];
        let second_task = [second(0, 7, 8, 90)];
        let joined = joined([&first[..], &second_task[..]]);
        assert_eq!(joined.len(), 2);
        assert_eq!(joined[0].count, 20);
        assert_eq!((joined[0].p99, joined[0].max), (Nanos::from_micros(9), Nanos::from_micros(90)));
    }

    #[test]
    fn a_cell_without_seconds_still_has_a_drawing() {
        let series = Series { name: "idle".into(), rounds: Vec::new() };
        let drawing = panel(&series, range([&series]));
        assert!(drawing.inline().contains("no second was measured"));
    }
}
