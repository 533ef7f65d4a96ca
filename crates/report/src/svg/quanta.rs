//! Durations of effective quanta: their cumulative distribution on a logarithmic axis.
//!
//! After Figure 6 of Etsion, Tsafrir and Feitelson, *Effects of Clock Resolution
//! on the Scheduling of Interactive and Soft Real-Time Processes* (SIGMETRICS 2003).

use super::frame::Frame;
use super::percentiles::{Curve, name_curves};
use super::scale::{LinearScale, LogScale};
use super::{Anchor, Drawing};
use crate::format;

/// The marks of the vertical axis, in per cent.
const MARKS: [u32; 5] = [0, 25, 50, 75, 100];

/// Draws the curves: duration to the right, share of the quanta that are at most as long upward.
pub fn panel(head: &str, curves: &[Curve]) -> Drawing {
    let names = Frame::room_for(curves.iter().map(|curve| curve.name.as_str()));
    let frame = Frame::new(190.0, names);
    let title = match head {
        "" => "Durations of effective quanta".to_owned(),
        head => format!("Durations of effective quanta: {head}"),
    };
    let mut drawing = frame.begin(head, title, describe(curves));
    let ends = curves.iter().flat_map(|curve| [curve.points.first(), curve.points.last()]);
    let lengths = ends.flatten().map(|(_, length)| length.as_nanos() as f64);
    let (low, high) = lengths.fold((f64::MAX, 1.0), |(low, high), length| {
        (f64::min(low, length), f64::max(high, length))
    });
    let along = LogScale::covering(low.min(high), high, frame.left, frame.right);
    let upward = LinearScale::new(0.0, 1.0, frame.bottom, frame.top);
    for mark in MARKS {
        let y = upward.at(f64::from(mark) / 100.0);
        drawing.line("grid", (frame.left, y), (frame.right, y));
        let text = format!("{mark}{}%", format::THIN_SPACE);
        drawing.text("mark", Anchor::End, (frame.left - 5.0, y + 3.5), &text);
    }
    drawing.line("axis", (frame.left, frame.top), (frame.left, frame.bottom));
    drawing.line("axis", (frame.left, frame.bottom), (frame.right, frame.bottom));
    frame.lengths_along(&mut drawing, &along);
    frame.name_below(&mut drawing, "effective quantum");
    frame.name_beside(&mut drawing, "share of the quanta");
    for curve in curves {
        let points = curve
            .points
            .iter()
            .map(|(share, length)| (along.at(length.as_nanos() as f64), upward.at(*share)));
        drawing.path(&curve.style.line(), steps(points).into_iter().map(Some));
    }
    name_curves(&mut drawing, &frame, curves, |curve| {
        // At the middle of the curve, since all curves end at the same height.
        let (share, length) = curve.points.iter().find(|(share, _)| *share >= 0.5)?;
        Some((along.at(length.as_nanos() as f64), upward.at(share.min(0.5))))
    });
    drawing
}

/// Points at least half a unit apart; closer points are indistinguishable.
fn steps(points: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    let mut kept: Vec<(f64, f64)> = Vec::new();
    let mut last = None;
    for point in points {
        let near =
            |kept: &(f64, f64)| (point.0 - kept.0).abs() < 0.5 && (point.1 - kept.1).abs() < 0.5;
        if !kept.last().is_some_and(near) {
            kept.push(point);
        }
        last = Some(point);
    }
    kept.extend(last);
    kept
}

fn describe(curves: &[Curve]) -> String {
    let parts: Vec<String> = curves
        .iter()
        .filter_map(|curve| {
            let (_, longest) = curve.points.last()?;
            let (_, median) = curve.points.iter().find(|(share, _)| *share >= 0.5)?;
            Some(format!(
                "{}: median {}, maximum {}",
                curve.name,
                format::latency(*median),
                format::latency(*longest)
            ))
        })
        .collect();
    parts.join("; ")
}
