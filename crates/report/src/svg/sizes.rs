//! How a cost grows with a size, on two logarithmic axes.

use tactus_model::bytes::Bytes;
use tactus_model::time::Nanos;

use super::frame::Frame;
use super::percentiles::{Curve, TimeRange, name_curves};
use super::scale::LogScale;
use super::style::CurveStyle;
use super::{Drawing, label};
use crate::format;

/// The costs of an operation.
#[derive(Clone, Debug)]
pub struct SizeCurve {
    /// Its name.
    pub name: String,
    /// Its style.
    pub style: CurveStyle,
    /// Sizes in bytes, ascending, and the cost at each.
    pub points: Vec<(u64, Nanos)>,
}

/// The most room for names: that of the longest operations, such as `memory-copy-unaligned`. A curve
/// has few points, so its box may be narrow.
const NAMES_MOST: f64 = 160.0;

/// Draws the curves over sizes; `along` names the sizes, and `context` what all curves have in common.
pub fn panel(along: &str, context: &str, curves: &[SizeCurve]) -> Drawing {
    let names = curves.iter().map(|curve| curve.name.as_str());
    let frame = Frame::new(190.0, Frame::room_up_to(NAMES_MOST, names));
    let mut title = format!("Median cost by {along}");
    if !context.is_empty() {
        title.push_str(&format!(", {context}"));
    }
    let mut drawing = frame.begin(&title, title.clone(), describe(curves));
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let low = points().map(|(_, cost)| *cost).min().unwrap_or_default();
    let high = points().map(|(_, cost)| *cost).max().unwrap_or_default();
    let upward = TimeRange { low, high }.scale(frame.bottom, frame.top);
    frame.lengths_upward(&mut drawing, &upward, "median cost");
    let mut sizes: Vec<u64> = points().map(|(size, _)| *size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let (first, last) = (sizes.first().copied(), sizes.last().copied());
    let scale = LogScale::covering(
        first.unwrap_or(1) as f64,
        last.unwrap_or(1) as f64,
        frame.left,
        frame.right,
    );
    let mut free = f64::NEG_INFINITY;
    for size in &sizes {
        let (x, text) = (scale.at(*size as f64), Bytes::new(*size).to_string());
        let half = label::width(&text) / 2.0;
        if x - half > free {
            frame.mark_below(&mut drawing, x, &text);
            free = x + half + 4.0;
        }
    }
    frame.name_below(&mut drawing, along);
    let place =
        |(size, cost): &(u64, Nanos)| (scale.at(*size as f64), upward.at(cost.as_nanos() as f64));
    for curve in curves {
        drawing.path(&curve.style.line(), curve.points.iter().map(|point| Some(place(point))));
    }
    let names: Vec<Curve> = curves
        .iter()
        .map(|curve| Curve {
            name: curve.name.clone(),
            style: curve.style,
            points: curve.points.last().map(|(_, cost)| (1.0, *cost)).into_iter().collect(),
        })
        .collect();
    name_curves(&mut drawing, &frame, &names, |named| {
        let curve = curves.iter().find(|curve| curve.name == named.name)?;
        Some(place(curve.points.last()?))
    });
    drawing
}

fn describe(curves: &[SizeCurve]) -> String {
    let part = |curve: &SizeCurve| {
        let [first, .., last] = &curve.points[..] else { return None };
        let end = |(size, cost): &(u64, Nanos)| {
            format!("{} at {}", format::latency(*cost), Bytes::new(*size))
        };
        Some(format!("{}: {}, {}", curve.name, end(first), end(last)))
    };
    curves.iter().filter_map(part).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawing_names_its_curves_and_sizes() {
        let curve = SizeCurve {
            name: "memory-copy".to_owned(),
            style: CurveStyle::numbered(0),
            points: vec![(16 << 10, Nanos::from_nanos(500)), (64 << 20, Nanos::from_millis(10))],
        };
        let drawing = panel("block size", "wait spin", &[curve]).inline();
        for text in ["memory-copy", "16KiB", "64MiB", "Median cost by block size, wait spin"] {
            assert!(drawing.contains(text), "{text}: {drawing}");
        }
        panel("block size", "", &[]);
    }
}
