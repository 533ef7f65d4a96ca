//! Return levels: the latency exceeded once in a period, observed and estimated.

use tactus_model::time::Nanos;
use tactus_stats::extreme::TailEstimate;

use super::Drawing;
use super::frame::Frame;
use super::scale::LogScale;
use crate::format;

/// The height of the box.
const HEIGHT: f64 = 170.0;
/// The number of points of the estimate and of its interval; each takes a few milliseconds to
/// compute.
const POINTS: u32 = 9;
/// The most late events that are drawn; those with the highest latency.
const DRAWN: usize = 150;

/// Draws a tail estimation: a point for each late event at its mean recurrence interval, and the
/// fitted line with its 95 % interval.
///
/// Points outside the band of the interval show a poor fit.
pub fn panel(head: &str, estimate: &TailEstimate, longest: Nanos) -> Drawing {
    let frame = Frame::new(HEIGHT, 12.0);
    let observed = estimate.observed.as_nanos() as f64;
    let events: Vec<(f64, f64)> = (0..DRAWN)
        .zip(&estimate.peaks)
        // Gringorten's plotting position (Journal of Geophysical Research 68, 1963).
        .map(|(nth, peak)| (observed / (nth as f64 + 0.56), peak.as_nanos() as f64))
        .collect();
    let nearest = events.last().map_or(1.0, |(time, _)| *time);
    let longest = longest.as_nanos() as f64;
    let step = (longest / nearest).powf(1.0 / f64::from(POINTS - 1));
    let levels: Vec<(f64, [Nanos; 3])> = (0..POINTS)
        .map(|nth| nearest * step.powi(nth as i32))
        .filter_map(|time| {
            let level = estimate.level(Nanos::from_nanos(time as u64)).ok()?;
            Some((time, [level.level, level.low, level.high]))
        })
        .collect();
    let highest = levels.iter().map(|(_, [_, _, high])| high.as_nanos() as f64);
    let highest = highest.chain(events.iter().map(|(_, latency)| *latency)).fold(1.0, f64::max);
    let lowest = events.last().map_or(1.0, |(_, latency)| *latency);
    let upward = LogScale::covering(lowest, highest, frame.bottom, frame.top);
    let along = LogScale::covering(nearest, longest, frame.left, frame.right);

    let title = format!("Latency exceeded once per recurrence interval: {head}");
    let mut drawing = frame.begin(head, title, describe(estimate));
    frame.lengths_upward(&mut drawing, &upward, "latency");
    times_along(&frame, &mut drawing, &along);
    frame.name_below(&mut drawing, "mean recurrence interval");
    let place = |time: f64, latency: f64| (along.at(time), upward.at(latency));
    for (time, latency) in &events {
        let (x, y) = place(*time, *latency);
        drawing.rectangle("fill c0", (x - 1.3, y - 1.3), (2.6, 2.6));
    }
    let curve = |which: usize| -> Vec<Option<(f64, f64)>> {
        let point =
            |(time, levels): &(f64, [Nanos; 3])| place(*time, levels[which].as_nanos() as f64);
        levels.iter().map(|level| Some(point(level))).collect()
    };
    drawing.path("band fill c1", curve(1).into_iter().chain(curve(2).into_iter().rev()));
    drawing.path("curve c1", curve(0));
    drawing
}

/// Writes the marks of a scale of long durations.
fn times_along(frame: &Frame, drawing: &mut Drawing, along: &LogScale) {
    const MARKS: [(&str, u64); 9] = [
        ("1 s", 1),
        ("10 s", 10),
        ("1 min", 60),
        ("10 min", 600),
        ("1 h", 3_600),
        ("6 h", 21_600),
        ("1 d", 86_400),
        ("1 week", 604_800),
        ("1 month", 2_592_000),
    ];
    for (text, seconds) in MARKS {
        let value = Nanos::from_secs(seconds).as_nanos() as f64;
        if value >= along.low() && value <= along.high() {
            let x = along.at(value);
            drawing.line("grid", (x, frame.top), (x, frame.bottom));
            frame.mark_below(drawing, x, text);
        }
    }
}

fn describe(estimate: &TailEstimate) -> String {
    format!(
        "{} above {} in {}, and the fitted line with its interval",
        format::counted(estimate.events as u64, "late event"),
        format::latency(estimate.threshold),
        format::span(estimate.observed)
    )
}

#[cfg(test)]
mod tests {
    use tactus_stats::extreme::{LateWakeup, TailWindow};
    use tactus_stats::simulate::{Draw, Process};

    use super::*;

    #[test]
    fn every_drawn_event_and_the_line_with_its_interval_are_there() {
        let latencies = Process::Pareto(0.2).draw(60_000, &mut Draw::new(8));
        let late = (0..).zip(&latencies).map(|(nth, latency)| LateWakeup {
            due: Nanos::from_millis(nth),
            latency: Nanos::from_nanos((latency * 1000.0) as u64),
        });
        let window = TailWindow::of_samples(Nanos::from_secs(60), 60_000, late, Nanos::ZERO);
        let estimate = TailEstimate::of(&[window]).unwrap();
        let svg = panel("idle", &estimate, Nanos::from_secs(3_600)).inline();
        assert_eq!(svg.matches("<rect").count(), DRAWN);
        assert_eq!(svg.matches("<path class=\"curve").count(), 1);
        assert_eq!(svg.matches("<path class=\"band").count(), 1);
        assert!(svg.contains(">10 min</text>") && svg.contains(">1 h</text>"), "{svg}");
    }
}
