//! A figure of several machines in their order, with intervals.

use tactus_judge::history::Value;
use tactus_judge::machines::Ranking;
use tactus_model::time::Nanos;

use super::Drawing;
use super::frame::Frame;
use super::percentiles::TimeRange;
use super::scale::LinearScale;
use crate::format;

/// The room on the right.
const MARGIN: f64 = 12.0;

/// Draws the machines, that with the least figure on the left. A triangle marks an outlier.
pub fn panel(ranking: &Ranking) -> Drawing {
    let values: Vec<(Value, bool)> = ranking
        .ranked()
        .filter_map(|result| Some((result.figure?, result.outlier.is_some())))
        .collect();
    let frame = Frame::new(150.0, MARGIN);
    let figure = ranking.figure.word();
    let title = format!("{figure} of each machine");
    let mut drawing = frame.begin(&title, title.clone(), describe(ranking));
    let upward = range(&values).scale(frame.bottom, frame.top);
    frame.lengths_upward(&mut drawing, &upward, figure);
    let last = values.len().saturating_sub(1).max(1) as f64;
    let along = LinearScale::new(-0.5, last + 0.5, frame.left, frame.right);
    let height = |length: Nanos| upward.at(length.as_nanos() as f64);
    for (index, (value, is_outlier)) in values.iter().enumerate() {
        let x = along.at(index as f64);
        if let Some(interval) = value.interval {
            drawing.line("curve thin c0", (x, height(interval.low)), (x, height(interval.high)));
        }
        drawing.disk("fill c0", (x, height(value.value)), 2.2);
        if *is_outlier {
            drawing.triangle("fill c1", (x, frame.top + 6.0), true);
        }
    }
    let machines = format::counted(values.len() as u64, "machine");
    frame.name_below(&mut drawing, &format!("{machines}, in the order of the table"));
    drawing
}

/// The durations that the drawing must have room for.
fn range(values: &[(Value, bool)]) -> TimeRange {
    let ends = values.iter().flat_map(|(value, _)| {
        let interval = value.interval.map(|interval| [interval.low, interval.high]);
        [value.value].into_iter().chain(interval.into_iter().flatten())
    });
    let (mut low, mut high) = (Nanos::MAX, Nanos::ZERO);
    for end in ends {
        (low, high) = (low.min(end), high.max(end));
    }
    TimeRange { low: low.min(high), high }
}

fn describe(ranking: &Ranking) -> String {
    const NAMED: usize = 20;
    let named = ranking.ranked().take(NAMED).filter_map(|result| {
        Some(format!("{} {}", result.machine, format::latency(result.figure?.value)))
    });
    format!("From the least: {}", named.collect::<Vec<_>>().join(", "))
}
