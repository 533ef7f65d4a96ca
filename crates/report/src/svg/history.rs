//! A figure from run to run, with intervals and levels.

use tactus_judge::history::Series;
use tactus_model::time::Nanos;

use super::Drawing;
use super::frame::Frame;
use super::percentiles::TimeRange;
use super::scale::LinearScale;
use crate::format;

/// The room on the right: dates stand below both ends.
const MARGIN: f64 = 12.0;

/// Draws the runs of one machine with one kernel, the earliest on the left.
pub fn panel(head: &str, figure: &str, series: &Series) -> Drawing {
    let frame = Frame::new(150.0, MARGIN);
    let title = format!("{figure} from run to run: {head}");
    let mut drawing = frame.begin(head, title, describe(series));
    let upward = range(series).scale(frame.bottom, frame.top);
    frame.lengths_upward(&mut drawing, &upward, figure);
    let last = series.points.len().saturating_sub(1).max(1) as f64;
    let along = LinearScale::new(-0.5, last + 0.5, frame.left, frame.right);
    let height = |length: Nanos| upward.at(length.as_nanos() as f64);
    for level in &series.levels {
        let ends = [level.first as f64 - 0.5, (level.first + level.runs) as f64 - 0.5];
        let [from, to] = ends.map(|end| along.at(end.clamp(-0.5, last + 0.5)));
        let y = height(level.median);
        drawing.line("limit", (from, y), (to, y));
        if level.first > 0 {
            drawing.line("nominal", (from, frame.top), (from, frame.bottom));
        }
    }
    for (index, point) in series.points.iter().enumerate() {
        let x = along.at(index as f64);
        if let Some(interval) = point.value.interval {
            drawing.line("curve thin c0", (x, height(interval.low)), (x, height(interval.high)));
        }
        drawing.disk("fill c0", (x, height(point.value.value)), 2.2);
    }
    if let (Some(first), Some(last)) = (series.points.first(), series.points.last()) {
        let day = |date: String| date.split('T').next().unwrap_or_default().to_owned();
        let days = [day(format::date(first.created)), day(format::date(last.created))];
        let runs = format::counted(series.points.len() as u64, "run");
        frame.name_below(&mut drawing, &format!("{runs}, {} to {}", days[0], days[1]));
    }
    drawing
}

/// The durations that the drawing must have room for.
fn range(series: &Series) -> TimeRange {
    let values = series.points.iter().flat_map(|point| {
        let interval = point.value.interval.map(|interval| [interval.low, interval.high]);
        [point.value.value].into_iter().chain(interval.into_iter().flatten())
    });
    let (mut low, mut high) = (Nanos::MAX, Nanos::ZERO);
    for value in values {
        (low, high) = (low.min(value), high.max(value));
    }
    TimeRange { low: low.min(high), high }
}

fn describe(series: &Series) -> String {
    let levels = series.levels.iter().map(|level| {
        let runs = format::counted(level.runs as u64, "run");
        format!("{} in {runs}", format::latency(level.median))
    });
    format!("Levels: {}", levels.collect::<Vec<_>>().join(", then "))
}
