//! The percentile graph: log time against an axis that stretches the tail.
//!
//! After Faller, *Measuring latency without external instruments* (ICSI TR-92-037, 1992): lower is
//! better, flatter is more predictable, and a horizontal line is a deterministic system. There are
//! two axes: the paper's exponential of the percentile, and 1/(1−p), on which each step to the
//! right is ten times rarer.

use tactus_model::time::Nanos;
use tactus_stats::axis::PercentileAxis;

use super::frame::{Frame, LINE, TO_NAMES, WIDTH};
use super::label::{shorten, spread};
use super::scale::LogScale;
use super::style::CurveStyle;
use super::{Anchor, Drawing};
use crate::format;

/// The curve of a cell.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Its name.
    pub name: String,
    /// Its style.
    pub style: CurveStyle,
    /// Shares of the wakeups, ascending, and the latency that each share did not exceed. The last
    /// is the maximum, at the share of all wakeups but one.
    pub points: Vec<(f64, Nanos)>,
}

/// The range of times that a group of panels shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeRange {
    /// The shortest latency of any curve.
    pub low: Nanos,
    /// The longest.
    pub high: Nanos,
}

impl TimeRange {
    /// The range of all these curves.
    pub fn of<'c>(curves: impl IntoIterator<Item = &'c Curve>) -> Self {
        let mut range = Self { low: Nanos::MAX, high: Nanos::ZERO };
        for (_, latency) in curves.into_iter().flat_map(|curve| &curve.points) {
            range.low = range.low.min(*latency);
            range.high = range.high.max(*latency);
        }
        Self { low: range.low.min(range.high), ..range }
    }

    pub(super) fn scale(self, from: f64, to: f64) -> LogScale {
        LogScale::covering(self.low.as_nanos() as f64, self.high.as_nanos() as f64, from, to)
    }
}

/// A tolerated latency: a horizontal line with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Its name, e.g. `for audio:48000/64`.
    pub name: String,
    /// The latency.
    pub latency: Nanos,
}

/// What the panels of a group share, so that they are comparable.
#[derive(Clone, Debug, PartialEq)]
pub struct Shared {
    axis: PercentileAxis,
    times: TimeRange,
    rarest: f64,
    names: f64,
    limits: Vec<Limit>,
    quantity: &'static str,
}

impl Shared {
    /// What panels of these curves share on an axis.
    pub fn of<'c>(axis: PercentileAxis, curves: impl Iterator<Item = &'c Curve> + Clone) -> Self {
        let ends = curves.clone().filter_map(|curve| curve.points.last().map(|(share, _)| *share));
        Self {
            axis,
            rarest: ends.fold(0.9, f64::max),
            names: Frame::room_for(curves.clone().map(|curve| curve.name.as_str())),
            times: TimeRange::of(curves),
            limits: Vec::new(),
            quantity: "latency",
        }
    }

    /// The same for times that are no latency.
    pub fn of_quantity(mut self, quantity: &'static str) -> Self {
        self.quantity = quantity;
        self
    }

    /// The same with a line for each limit; the panels reach to all of them.
    pub fn with_limits(mut self, limits: &[Limit]) -> Self {
        for Limit { latency, .. } in limits {
            self.times.low = self.times.low.min(*latency);
            self.times.high = self.times.high.max(*latency);
        }
        self.limits = limits.to_vec();
        self
    }
}

/// Draws the curves of one panel.
pub fn panel(head: &str, curves: &[Curve], shared: &Shared) -> Drawing {
    let Shared { axis, times, rarest, names, quantity, .. } = *shared;
    let frame = Frame::new(190.0, names);
    let what = match quantity {
        "latency" => "Latency",
        other => other,
    };
    let title = match head {
        "" => format!("{what} by percentile, {}", axis_name(axis)),
        head => format!("{what} by percentile, {}: {head}", axis_name(axis)),
    };
    let mut drawing = frame.begin(head, title, describe(curves));
    let upward = times.scale(frame.bottom, frame.top);
    frame.lengths_upward(&mut drawing, &upward, quantity);
    let along = |share: f64| frame.left + axis.position(share, rarest) * (frame.right - frame.left);
    marks(&mut drawing, &frame, shared, along);
    frame.name_below(&mut drawing, axis_name(axis));
    for Limit { name, latency } in &shared.limits {
        let y = upward.at(latency.as_nanos() as f64);
        drawing.line("asked line", (frame.left, y), (frame.right, y));
        let place = (frame.left + 4.0, y - 3.0);
        let name = shorten(name, frame.right - frame.left - 8.0);
        drawing.text("asked mark halo", Anchor::Start, place, &name);
    }
    for curve in curves {
        let points = curve
            .points
            .iter()
            .map(|(share, latency)| (along(*share), upward.at(latency.as_nanos() as f64)));
        drawing.path(&curve.style.line(), thinned(points).into_iter().map(Some));
    }
    name_curves(&mut drawing, &frame, curves, |curve| {
        let (share, latency) = curve.points.last()?;
        Some((along(*share), upward.at(latency.as_nanos() as f64)))
    });
    drawing
}

/// The name of an axis below the graph.
pub fn axis_name(axis: PercentileAxis) -> &'static str {
    match axis {
        PercentileAxis::Exponential => "exponential of the percentile",
        PercentileAxis::Reciprocal => "percentile, by 1/(1−p)",
    }
}

fn marks(drawing: &mut Drawing, frame: &Frame, shared: &Shared, along: impl Fn(f64) -> f64) {
    let mut free = f64::MIN;
    for tick in shared.axis.ticks(shared.rarest) {
        let x = along(tick.share);
        let half = super::label::width(tick.label) / 2.0;
        if x - half > free + 4.0 && x + half < WIDTH {
            drawing.line("grid", (x, frame.top), (x, frame.bottom));
            frame.mark_below(drawing, x, tick.label);
            free = x + half;
        }
    }
}

/// Omits points less than half a unit from the one before; they are indistinguishable.
fn thinned(points: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    let mut kept: Vec<(f64, f64)> = Vec::new();
    let mut left_out = None;
    for point in points {
        let near =
            |last: &(f64, f64)| (point.0 - last.0).abs() < 0.5 && (point.1 - last.1).abs() < 0.5;
        if kept.last().is_some_and(near) {
            left_out = Some(point);
        } else {
            kept.push(point);
            left_out = None;
        }
    }
    kept.extend(left_out);
    kept
}

/// Writes each curve's name next to its end, without overlap.
pub(super) fn name_curves(
    drawing: &mut Drawing,
    frame: &Frame,
    curves: &[Curve],
    end_of: impl Fn(&Curve) -> Option<(f64, f64)>,
) {
    let ends: Vec<(&Curve, (f64, f64))> =
        curves.iter().filter_map(|curve| Some((curve, end_of(curve)?))).collect();
    let heights: Vec<f64> = ends.iter().map(|(_, (_, y))| *y).collect();
    let places = spread(&heights, LINE, frame.top, frame.bottom - 2.0);
    let start = frame.right + TO_NAMES;
    for ((curve, (x, y)), place) in ends.into_iter().zip(places) {
        let leader = curve.style.line().replace("curve", "leader");
        drawing.path(
            &leader,
            [Some((x, y)), Some((frame.right + 4.0, place)), Some((start - 2.0, place))],
        );
        let name = shorten(&curve.name, WIDTH - start);
        drawing.text(&curve.style.fill(), Anchor::Start, (start, place + 3.5), &name);
    }
}

fn describe(curves: &[Curve]) -> String {
    let parts: Vec<String> = curves
        .iter()
        .filter_map(|curve| {
            let (_, worst) = curve.points.last()?;
            let median = curve.points.iter().find(|(share, _)| *share >= 0.5)?.1;
            Some(format!(
                "{}: median {}, maximum {}",
                curve.name,
                format::latency(median),
                format::latency(*worst)
            ))
        })
        .collect();
    parts.join("; ")
}
