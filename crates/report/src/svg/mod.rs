//! Static drawings, written by hand as SVG.
//!
//! Each drawing is small: readable at its own size on a phone, and side by side on a wider page.
//! Colours are CSS variables with fixed fallbacks, so a page can darken them and a separate file
//! still shows them. No line depends on colour alone: each has its own dash pattern and its name at
//! its end.

pub mod billing;
pub mod density;
mod frame;
pub mod frames;
pub mod history;
mod label;
pub mod machines;
pub mod over_time;
pub mod percentiles;
pub mod quanta;
pub mod scale;
pub mod schedule;
pub mod scope;
pub mod segments;
pub mod series;
pub mod sizes;
pub mod style;
pub mod tail;
pub mod timeline;
pub mod usage;
pub mod use_over_time;

use std::fmt::Write;

/// A drawing under construction: elements in a box of `width` by `height` units.
#[derive(Clone, Debug)]
pub struct Drawing {
    title: String,
    description: String,
    width: f64,
    height: f64,
    body: String,
}

/// The alignment of a text at its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// The text begins at the point.
    Start,
    /// The text is centred on the point.
    Middle,
    /// The text ends at the point.
    End,
}

impl Anchor {
    const fn word(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Middle => "middle",
            Self::End => "end",
        }
    }
}

impl Drawing {
    /// Begins a drawing. Screen readers read `title` and `description`.
    pub fn new(
        title: impl Into<String>,
        description: impl Into<String>,
        width: f64,
        height: f64,
    ) -> Self {
        Self {
            title: title.into(),
            description: description.into(),
            width,
            height,
            body: String::new(),
        }
    }

    /// Draws a straight line of a class.
    pub fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        self.put(format_args!(
            r#"<line class="{class}" x1="{}" y1="{}" x2="{}" y2="{}"/>"#,
            Unit(from.0),
            Unit(from.1),
            Unit(to.0),
            Unit(to.1)
        ));
    }

    /// Draws a rectangle of a class.
    pub fn rectangle(&mut self, class: &str, corner: (f64, f64), size: (f64, f64)) {
        self.put(format_args!(
            r#"<rect class="{class}" x="{}" y="{}" width="{}" height="{}"/>"#,
            Unit(corner.0),
            Unit(corner.1),
            Unit(size.0),
            Unit(size.1)
        ));
    }

    /// Draws a rectangle of a class with a tooltip.
    pub fn titled_rectangle(
        &mut self,
        class: &str,
        corner: (f64, f64),
        size: (f64, f64),
        title: &str,
    ) {
        self.put(format_args!(
            r#"<rect class="{class}" x="{}" y="{}" width="{}" height="{}"><title>{}</title></rect>"#,
            Unit(corner.0),
            Unit(corner.1),
            Unit(size.0),
            Unit(size.1),
            escape(title)
        ));
    }

    /// Draws a line through points, with a gap at each missing point.
    pub fn path(&mut self, class: &str, points: impl IntoIterator<Item = Option<(f64, f64)>>) {
        let mut commands = String::new();
        let mut drawing = false;
        for point in points {
            match point {
                Some((x, y)) => {
                    let command = if drawing { 'L' } else { 'M' };
                    // Writing to a String cannot fail.
                    let _ = write!(commands, "{command}{} {}", Unit(x), Unit(y));
                    drawing = true;
                }
                None => drawing = false,
            }
        }
        if !commands.is_empty() {
            self.put(format_args!(r#"<path class="{class}" d="{commands}"/>"#));
        }
    }

    /// Draws a disk of a class.
    pub fn disk(&mut self, class: &str, centre: (f64, f64), radius: f64) {
        self.put(format_args!(
            r#"<circle class="{class}" cx="{}" cy="{}" r="{}"/>"#,
            Unit(centre.0),
            Unit(centre.1),
            Unit(radius)
        ));
    }

    /// Draws a small triangle whose tip is at a point, pointing up or down.
    pub fn triangle(&mut self, class: &str, tip: (f64, f64), down: bool) {
        let away = if down { -6.0 } else { 6.0 };
        self.put(format_args!(
            r#"<path class="{class}" d="M{} {}l3.5 {away}h-7z"/>"#,
            Unit(tip.0),
            Unit(tip.1)
        ));
    }

    /// Writes a text; it is escaped here.
    pub fn text(&mut self, class: &str, anchor: Anchor, at: (f64, f64), text: &str) {
        self.put(format_args!(
            r#"<text class="{class}" text-anchor="{}" x="{}" y="{}">{}</text>"#,
            anchor.word(),
            Unit(at.0),
            Unit(at.1),
            escape(text)
        ));
    }

    /// Writes a text that reads upward, centred on a point.
    pub fn upward_text(&mut self, class: &str, (x, y): (f64, f64), text: &str) {
        self.put(format_args!(
            r#"<text class="{class}" text-anchor="middle" transform="translate({} {})rotate(-90)">{}</text>"#,
            Unit(x),
            Unit(y),
            escape(text)
        ));
    }

    /// The drawing for a page that includes [`style::STYLE`].
    pub fn inline(&self) -> String {
        format!(
            "<svg class=\"drawing\" role=\"img\" aria-label=\"{title}\" viewBox=\"0 0 {} {}\">\
             <title>{title}</title><desc>{}</desc>{}</svg>",
            Unit(self.width),
            Unit(self.height),
            escape(&self.description),
            self.body,
            title = escape(&self.title),
        )
    }

    fn put(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = self.body.write_fmt(element);
    }
}

/// A coordinate with at most one decimal: finer than any screen, and short.
struct Unit(f64);

impl std::fmt::Display for Unit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let tenths = (self.0 * 10.0).round();
        if tenths % 10.0 == 0.0 {
            write!(f, "{}", tenths as i64 / 10)
        } else {
            write!(f, "{:.1}", tenths / 10.0)
        }
    }
}

/// Makes a text safe in the content and in the quoted attributes of HTML and SVG.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // XML does not allow most control characters, even escaped.
            control if control.is_control() => safe.push(' '),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_text_stays_text() {
        let mut drawing = Drawing::new("\"><script>", "</desc>", 10.0, 10.0);
        drawing.text("name", Anchor::Start, (1.0, 2.25), "</text><!--\u{1b}");
        let svg = drawing.inline();
        assert!(!svg.contains("<script"), "{svg}");
        assert!(!svg.contains("<!--"), "{svg}");
        assert_eq!(svg.matches("</desc>").count(), 1, "{svg}");
        assert!(!svg.contains('\u{1b}'), "{svg}");
    }

    #[test]
    fn a_line_has_a_gap_at_a_missing_point() {
        let mut drawing = Drawing::new("", "", 10.0, 10.0);
        drawing.path("curve", [Some((0.0, 1.0)), Some((1.0, 1.55)), None, Some((3.0, 0.0))]);
        assert!(drawing.inline().contains(r#"d="M0 1L1 1.6M3 0""#), "{}", drawing.inline());
    }
}
