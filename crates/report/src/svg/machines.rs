//! A figure of several machines in their order, with intervals.

use tactus_judge::history::Value;
use tactus_judge::machines::{MachineResult, Ranking};
use tactus_model::time::Nanos;

use super::frame::Frame;
use super::percentiles::TimeRange;
use super::scale::LinearScale;
use super::{Anchor, Drawing, label};
use crate::format;

/// The room on the right.
const MARGIN: f64 = 12.0;

/// The most machines that have a row each.
const NAMED_MOST: usize = 40;

/// The distance between rows, the most room for a name, and half the height of the end of an interval.
const ROW: f64 = 15.0;
const NAME_MOST: f64 = 110.0;
const CAP: f64 = 3.0;

/// Draws the machines with their intervals in the order of the table. A triangle marks an outlier.
pub fn panel(ranking: &Ranking) -> Drawing {
    if ranking.ranked().count() <= NAMED_MOST { rows(ranking) } else { many(ranking) }
}

/// A row with a name for each machine, that with the least figure at the top.
fn rows(ranking: &Ranking) -> Drawing {
    let results: Vec<(&MachineResult, Value)> =
        ranking.ranked().filter_map(|result| Some((result, result.figure?))).collect();
    let widest = results.iter().map(|(result, _)| label::width(&result.machine));
    let mut frame = Frame::new(ROW * results.len() as f64 + 6.0, MARGIN);
    frame.left = widest.fold(40.0, f64::max).min(NAME_MOST) + 12.0;
    let title = format!("{} of each machine", ranking.figure.word());
    let mut drawing = frame.begin(&title, title.clone(), describe(ranking));
    let values: Vec<(Value, bool)> = results.iter().map(|(_, value)| (*value, false)).collect();
    let along = range(&values).scale(frame.left, frame.right);
    frame.lengths_along(&mut drawing, &along);
    let at = |length: Nanos| along.at(length.as_nanos() as f64);
    for (index, (result, value)) in results.iter().enumerate() {
        let y = frame.top + 3.0 + ROW * (index as f64 + 0.5);
        let name = label::shorten(&result.machine, NAME_MOST);
        drawing.text("mark", Anchor::End, (frame.left - 6.0, y + 3.5), &name);
        if let Some(interval) = value.interval {
            let [low, high] = [interval.low, interval.high].map(at);
            drawing.line("curve thin c0", (low, y), (high, y));
            for end in [low, high] {
                drawing.line("curve thin c0", (end, y - CAP), (end, y + CAP));
            }
        }
        drawing.disk("fill c0", (at(value.value), y), 2.2);
        if result.outlier.is_some() {
            drawing.triangle("fill c1", (frame.right - 6.0, y - 4.0), true);
        }
    }
    frame.outline(&mut drawing);
    let outliers = results.iter().any(|(result, _)| result.outlier.is_some());
    let key = if outliers { "; ▼ outlier" } else { "" };
    let has_interval = results.iter().any(|(_, value)| value.interval.is_some());
    let with = if has_interval { "with 95 % interval" } else { "without interval: few samples" };
    frame.name_below(&mut drawing, &format!("{} {with}{key}", ranking.figure.word()));
    drawing
}

/// Many machines without names, that with the least figure on the left.
fn many(ranking: &Ranking) -> Drawing {
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

#[cfg(test)]
mod tests {
    use tactus_judge::history::Figure;

    use super::*;
    use crate::fixture;

    #[test]
    fn machines_have_their_names_and_intervals() {
        let text = include_str!("../../../../experiments/quick.toml");
        let machine = |number: u64| {
            let run = fixture::run(text, number);
            MachineResult::of(format!("node{number}"), &run, None, Figure::P99, None)
        };
        let drawn = |count: u64| {
            let machines = (0..count).map(machine).collect();
            panel(&Ranking::of("quick".to_owned(), Figure::P99, true, machines)).inline()
        };
        let few = drawn(3);
        assert!((0..3).all(|number| few.contains(&format!(">node{number}<"))), "{few}");
        assert!(few.contains("p99 with 95 % interval"), "{few}");
        let ends = few.matches("curve thin c0").count();
        assert_eq!(ends, 9, "an interval and its two ends for each: {few}");
    }
}
