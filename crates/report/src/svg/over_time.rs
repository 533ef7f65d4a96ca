//! A signed quantity over time, in milliseconds: offsets of a player, times between its frames.

use super::frame::{Frame, LINE};
use super::scale::LinearScale;
use super::style::CurveStyle;
use super::{Anchor, Drawing};
use crate::format::THIN_SPACE;

/// The room for the overhang of the last label of the horizontal axis.
const MARK_BESIDE: f64 = 14.0;

/// More points than this are drawn as columns from the least to the greatest of a slice.
const POINTS_MOST: usize = 300;
/// The columns that are drawn.
const COLUMNS: usize = 280;

/// What is drawn.
#[derive(Clone, Debug)]
pub struct Points {
    /// Its name.
    pub name: String,
    /// Its style.
    pub style: CurveStyle,
    /// Seconds and milliseconds.
    pub points: Vec<(f64, f64)>,
    /// Seconds at which something was lost: triangles at the lower edge.
    pub lost: Vec<f64>,
}

/// What the panels of a group share, so that they are comparable.
#[derive(Clone, Debug, PartialEq)]
pub struct Shared {
    /// What runs upward.
    pub quantity: &'static str,
    /// The end of the horizontal axis, in seconds.
    pub seconds: f64,
    /// The ends of the vertical axis, in milliseconds.
    pub range: (f64, f64),
    /// Lines with their names, in milliseconds; those outside of the range are not drawn.
    pub limits: Vec<(String, f64)>,
}

/// Draws one panel.
pub fn panel(points: &Points, shared: &Shared) -> Drawing {
    let frame = Frame::new(120.0, MARK_BESIDE);
    let title = format!("{} over time: {}", shared.quantity, points.name);
    let mut drawing = frame.begin(&points.name, title, describe(points));
    let along = LinearScale::new(0.0, shared.seconds, frame.left, frame.right);
    let (low, high) = shared.range;
    let upward = LinearScale::new(low, high, frame.bottom, frame.top);
    for mark in upward.marks(5.0) {
        let y = upward.at(mark);
        drawing.line("grid", (frame.left, y), (frame.right, y));
        drawing.text("mark", Anchor::End, (frame.left - 5.0, y + 3.5), &millis(mark));
    }
    frame.outline(&mut drawing);
    frame.seconds_along(&mut drawing, &along);
    frame.name_below(&mut drawing, "seconds since the player was started");
    frame.name_beside(&mut drawing, shared.quantity);
    let limits = shared.limits.iter().filter(|(_, limit)| (low..=high).contains(limit));
    let limits: Vec<(&str, f64)> =
        limits.map(|(name, limit)| (name.as_str(), upward.at(*limit))).collect();
    for (name, y) in &limits {
        drawing.line("asked line", (frame.left, *y), (frame.right, *y));
        // Names of lines that are too close would cover each other.
        if limits.iter().filter(|(_, other)| (other - y).abs() < LINE).count() == 1 {
            drawing.text("asked mark halo", Anchor::End, (frame.right - 2.0, y - 3.0), name);
        }
    }
    let fill = points.style.fill();
    if points.points.len() <= POINTS_MOST {
        for (seconds, value) in &points.points {
            drawing.disk(&fill, (along.at(*seconds), upward.at(*value)), 1.8);
        }
    } else {
        let width = (frame.right - frame.left) / COLUMNS as f64;
        for (place, (least, greatest)) in columns(points, shared.seconds) {
            let x = frame.left + place as f64 * width;
            let (low, high) = (upward.at(least), upward.at(greatest));
            drawing.rectangle(&fill, (x, high), (width.max(0.9), (low - high).max(1.2)));
        }
    }
    for seconds in &points.lost {
        drawing.triangle("asked line", (along.at(*seconds), frame.bottom - 1.0), true);
    }
    drawing
}

/// The least and the greatest value of each slice that has one.
fn columns(points: &Points, seconds: f64) -> Vec<(usize, (f64, f64))> {
    let mut slots: Vec<Option<(f64, f64)>> = vec![None; COLUMNS];
    for (at, value) in &points.points {
        let place = (at / seconds.max(f64::MIN_POSITIVE) * COLUMNS as f64) as usize;
        let slot = &mut slots[place.min(COLUMNS - 1)];
        let (least, greatest) = slot.unwrap_or((*value, *value));
        *slot = Some((least.min(*value), greatest.max(*value)));
    }
    slots.into_iter().enumerate().filter_map(|(place, slot)| Some((place, slot?))).collect()
}

/// A mark of the vertical axis.
fn millis(value: f64) -> String {
    // A mark is a multiple of 1, 2 or 5 times a power of ten.
    let rounded = (value * 1000.0).round() / 1000.0;
    let sign = if rounded < 0.0 { "−" } else { "" };
    format!("{sign}{}{THIN_SPACE}ms", rounded.abs())
}

fn describe(points: &Points) -> String {
    let values = || points.points.iter().map(|(_, value)| *value);
    let (least, most) = (values().fold(f64::MAX, f64::min), values().fold(f64::MIN, f64::max));
    match points.points.len() {
        0 => "no points".to_owned(),
        count => format!("{count} points from {least:.1} ms to {most:.1} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_points_are_disks_and_many_are_columns() {
        let shared = Shared {
            quantity: "sound − picture",
            seconds: 20.0,
            range: (-50.0, 10.0),
            limits: vec![("early".to_owned(), -45.0), ("late".to_owned(), 125.0)],
        };
        let drawn = |count: u32, lost: Vec<f64>| {
            let points = (0..count).map(|number| (f64::from(number) / 100.0, -1.5)).collect();
            let style = CurveStyle::numbered(0);
            panel(&Points { name: "mpv".to_owned(), style, points, lost }, &shared).inline()
        };
        let few = drawn(20, vec![3.0]);
        assert_eq!(few.matches("<circle").count(), 20, "{few}");
        assert!(few.contains(">early<") && !few.contains(">late<"), "{few}");
        let many = drawn(2000, Vec::new());
        assert_eq!(many.matches("<circle").count(), 0);
        assert_eq!(many.matches("<rect").count(), COLUMNS);
        assert!(!many.contains("NaN"), "{many}");
    }

    #[test]
    fn names_of_close_limits_are_left_out() {
        let limits = [("a", -45.0), ("b", -90.0), ("c", 185.0)];
        let limits = limits.map(|(name, limit)| (name.to_owned(), limit)).to_vec();
        let shared = Shared { quantity: "", seconds: 1.0, range: (-500.0, 500.0), limits };
        let (style, points) = (CurveStyle::numbered(0), Vec::new());
        let points = Points { name: String::new(), style, points, lost: Vec::new() };
        let drawn = panel(&points, &shared).inline();
        assert!(!drawn.contains(">a<") && !drawn.contains(">b<") && drawn.contains(">c<"));
        assert_eq!(drawn.matches("asked line").count(), 3);
    }

    #[test]
    fn marks_are_short() {
        assert_eq!(millis(-0.30000000000000004), "−0.3\u{202f}ms");
        assert_eq!(millis(20.0), "20\u{202f}ms");
    }
}
