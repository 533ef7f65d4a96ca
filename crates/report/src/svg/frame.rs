//! The box of a graph: its place in the drawing, its axes and their marks.

use tactus_model::time::Nanos;

use super::scale::{LinearScale, LogScale};
use super::{Anchor, Drawing};
use crate::format;

/// The width of every drawing: that of a phone's screen without its margins.
pub(super) const WIDTH: f64 = 360.0;

/// The most room on the right that the names of curves may take.
const NAMES_MOST: f64 = 132.0;

/// The distance from the box to the names on its right.
pub(super) const TO_NAMES: f64 = 14.0;

/// The height of a line of type.
pub(super) const LINE: f64 = 12.0;

/// A box for curves within a drawing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

impl Frame {
    /// A box of a height, with `names` units of room on its right.
    pub(super) const fn new(height: f64, names: f64) -> Self {
        Self { left: 60.0, right: WIDTH - names, top: 26.0, bottom: 26.0 + height }
    }

    /// The height of a drawing with this box, its marks and the text below them.
    pub(super) const fn drawing_height(&self) -> f64 {
        self.bottom + 34.0
    }

    /// The room that the longest of these names needs on the right of a box.
    pub(super) fn room_for<'n>(names: impl IntoIterator<Item = &'n str>) -> f64 {
        Self::room_up_to(NAMES_MOST, names)
    }

    /// The same, at most `most`.
    pub(super) fn room_up_to<'n>(most: f64, names: impl IntoIterator<Item = &'n str>) -> f64 {
        let widest = names.into_iter().map(super::label::width).fold(0.0, f64::max);
        (widest + TO_NAMES + 2.0).min(most)
    }

    /// Begins a drawing with this box: its head and its outline.
    pub(super) fn begin(&self, head: &str, title: String, description: String) -> Drawing {
        let mut drawing = Drawing::new(title, description, WIDTH, self.drawing_height());
        let head = super::label::shorten(head, WIDTH - 10.0);
        drawing.text("head", Anchor::Start, (self.left, 15.0), &head);
        drawing
    }

    /// Draws the horizontal lines of a logarithmic scale of durations, with labels and a title.
    pub(super) fn lengths_upward(&self, drawing: &mut Drawing, scale: &LogScale, title: &str) {
        for mark in scale.marks() {
            let y = scale.at(mark.value);
            drawing.line("grid", (self.left, y), (self.right, y));
            if mark.written {
                let text = format::axis_length(Nanos::from_nanos(mark.value.round() as u64));
                drawing.text("mark", Anchor::End, (self.left - 5.0, y + 3.5), &text);
            }
        }
        self.outline(drawing);
        self.name_beside(drawing, title);
    }

    /// Draws the horizontal lines of a logarithmic scale of counts, with labels.
    pub(super) fn counts_upward(&self, drawing: &mut Drawing, scale: &LogScale) {
        for mark in scale.marks().iter().filter(|mark| mark.written) {
            let y = scale.at(mark.value);
            drawing.line("grid", (self.left, y), (self.right, y));
            let text = format::quantity(mark.value);
            let text = text.replace(".00", "").replace(".0", "");
            let text = text.trim_end_matches(format::THIN_SPACE);
            drawing.text("mark", Anchor::End, (self.left - 5.0, y + 3.5), text);
        }
        self.outline(drawing);
    }

    /// Writes the labels of a logarithmic scale of durations below the box: all of them, or only
    /// the powers of ten if not all have room.
    pub(super) fn lengths_along(&self, drawing: &mut Drawing, scale: &LogScale) {
        let marks: Vec<(f64, bool, String)> = scale
            .marks()
            .into_iter()
            .map(|mark| {
                let text = format::axis_length(Nanos::from_nanos(mark.value.round() as u64));
                (scale.at(mark.value), mark.is_power, text)
            })
            .collect();
        let room = |pair: &[(f64, bool, String)]| {
            let widths = super::label::width(&pair[0].2) + super::label::width(&pair[1].2);
            pair[1].0 - pair[0].0 > widths / 2.0 + 5.0
        };
        let all = marks.windows(2).all(room) || !marks.iter().any(|(_, is_power, _)| *is_power);
        for (x, is_power, text) in &marks {
            drawing.line("grid", (*x, self.top), (*x, self.bottom));
            if all || *is_power {
                self.mark_below(drawing, *x, text);
            }
        }
    }

    /// Writes seconds below the box.
    pub(super) fn seconds_along(&self, drawing: &mut Drawing, scale: &LinearScale) {
        for mark in scale.marks(6.0) {
            let text = format!("{}", (mark * 1000.0).round() / 1000.0);
            self.mark_below(drawing, scale.at(mark), &text);
        }
    }

    /// Writes one mark below the box.
    pub(super) fn mark_below(&self, drawing: &mut Drawing, x: f64, text: &str) {
        drawing.line("axis", (x, self.bottom), (x, self.bottom + 3.0));
        drawing.text("mark", Anchor::Middle, (x, self.bottom + 14.0), text);
    }

    /// Writes the name of the horizontal axis.
    pub(super) fn name_below(&self, drawing: &mut Drawing, text: &str) {
        let middle = f64::midpoint(self.left, self.right);
        drawing.text("mark", Anchor::Middle, (middle, self.bottom + 28.0), text);
    }

    /// Writes the name of the vertical axis.
    pub(super) fn name_beside(&self, drawing: &mut Drawing, text: &str) {
        drawing.upward_text("mark", (10.0, f64::midpoint(self.top, self.bottom)), text);
    }

    /// Draws the left and the lower edge.
    pub(super) fn outline(&self, drawing: &mut Drawing) {
        drawing.line("axis", (self.left, self.top), (self.left, self.bottom));
        drawing.line("axis", (self.left, self.bottom), (self.right, self.bottom));
    }
}
