//! The scope of times between samples, after Figure 1 of the paper of 1993: horizontal lines
//! at 1 ms or another distance, and the worst case in the corner.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Color;
use ratatui::symbols::Marker;
use ratatui::widgets::Widget;
use ratatui::widgets::canvas::{Canvas, Points};
use tactus_model::sample_kind::SampleKind;
use tactus_model::time::Nanos;

use super::{Palette, columns, put, put_right, rule};
use crate::figures::Worst;
use crate::state::Monitor;
use tactus_model::format;

/// The width of the numbers at the lines.
const NUMBERS: u16 = 9;
/// Rows from one line to the next.
const ROWS_PER_LINE: u16 = 2;
/// Dots of a terminal cell in a column; there are two columns.
const DOTS_DOWN: u16 = 4;
const DOTS_PER_LINE: f64 = (ROWS_PER_LINE * DOTS_DOWN) as f64;

pub(super) fn draw(monitor: &Monitor, palette: Palette, area: Rect, buffer: &mut Buffer) {
    let picture = monitor.picture();
    let noun = SampleKind::of(&monitor.cell).noun();
    let line = format::axis_length(picture.line);
    let title = format!("time between {noun}s, {line} per line");
    let sweep = format!("sweep {}", format::span(picture.sweep.length()));
    let area = rule::draw(palette, area, &title, &sweep, buffer);
    let [numbers, plot] = [
        Rect { width: NUMBERS.min(area.width), ..area },
        Rect { x: area.x + NUMBERS, width: area.width - NUMBERS, ..area },
    ];
    let axis = Axis::around(monitor.interval(), picture.line, plot.height);
    draw_lines(&axis, palette, numbers, plot, buffer);
    draw_points(monitor, &axis, palette, plot, buffer);
    draw_pen(picture.sweep.pen(), palette, plot, buffer);
    draw_worst(monitor, palette, plot, buffer);
}

/// The vertical axis.
struct Axis {
    /// The duration at the lowest dot.
    bottom: Nanos,
    line: Nanos,
    rows: u16,
}

/// The place of a duration on the axis.
enum Place {
    /// The number of dots above the lowest.
    At(f64),
    Above,
    Below,
}

impl Axis {
    /// From zero if the interval is near it, otherwise with the interval in the middle.
    fn around(interval: Nanos, line: Nanos, rows: u16) -> Self {
        let half = u64::from(rows / ROWS_PER_LINE / 2);
        let bottom = line.saturating_mul(interval.div_floor(line).saturating_sub(half));
        Self { bottom, line, rows }
    }

    fn place(&self, length: Nanos) -> Place {
        if length < self.bottom {
            return Place::Below;
        }
        let above = (length - self.bottom).as_nanos() as f64;
        let dots = (above / self.line.as_nanos().max(1) as f64 * DOTS_PER_LINE).floor();
        if dots < f64::from(self.rows * DOTS_DOWN) { Place::At(dots) } else { Place::Above }
    }
}

fn draw_lines(axis: &Axis, palette: Palette, numbers: Rect, plot: Rect, buffer: &mut Buffer) {
    // The lowest dots of a row, the position of the line's own duration.
    let line = "⡀".repeat(plot.width.into());
    for (number, up) in (0..).zip((0..axis.rows).step_by(ROWS_PER_LINE.into())) {
        let row = axis.rows - 1 - up;
        let length = axis.bottom + axis.line.saturating_mul(number);
        let text = number_at_line(length, axis.line);
        let room = Rect { width: numbers.width - 1, ..numbers };
        put_right(buffer, room, row, &text, palette.faint());
        put(buffer, plot, row, &line, palette.faint());
    }
}

/// A line's duration, with enough digits to differ from the next line's.
fn number_at_line(length: Nanos, line: Nanos) -> String {
    let (unit, size) = match length.as_nanos() {
        0 => return "0".to_owned(),
        1..1_000_000 => ("µs", 1_000),
        _ => ("ms", 1_000_000),
    };
    let digits = (size / line.as_nanos().max(1)).checked_ilog10().map_or(0, |digits| {
        // 2 and 5 divide 10, so the next power is never needed.
        digits + u32::from(10_u64.pow(digits) * line.as_nanos() < size)
    });
    let value = length.as_nanos() as f64 / size as f64;
    format!("{value:.*}{}{unit}", digits as usize, format::THIN_SPACE)
}

fn draw_points(monitor: &Monitor, axis: &Axis, palette: Palette, plot: Rect, buffer: &mut Buffer) {
    let dots_across = f64::from(plot.width * 2);
    let mut points = Vec::new();
    let (mut above, mut below) = (Vec::new(), Vec::new());
    for (position, length) in monitor.picture().sweep.points() {
        let column = (position * f64::from(plot.width)) as u16;
        match axis.place(length) {
            Place::At(dots) => points.push(((position * dots_across).floor(), dots)),
            Place::Above => above.push(column),
            Place::Below => below.push(column),
        }
    }
    Canvas::default()
        .marker(Marker::Braille)
        .x_bounds([0.0, dots_across - 1.0])
        .y_bounds([0.0, f64::from(plot.height * DOTS_DOWN) - 1.0])
        .paint(|context| {
            context.draw(&Points { coords: &points, color: palette.colour(Color::Green) });
        })
        .render(plot, buffer);
    for (columns, row, mark) in [(above, plot.top(), "▲"), (below, plot.bottom() - 1, "▼")] {
        for column in columns {
            buffer.set_stringn(plot.x + column, row, mark, 1, palette.alarm());
        }
    }
}

fn draw_pen(pen: f64, palette: Palette, plot: Rect, buffer: &mut Buffer) {
    let column = plot.x + (pen * f64::from(plot.width)) as u16;
    for row in plot.top()..plot.bottom() {
        buffer.set_stringn(column, row, "│", 1, palette.faint());
    }
}

fn draw_worst(monitor: &Monitor, palette: Palette, plot: Rect, buffer: &mut Buffer) {
    let Some(Worst { length, task, .. }) = monitor.picture().shown.whole.longest_interarrival
    else {
        return;
    };
    let cpu = match monitor.cpus.get(task as usize) {
        Some(cpu) if monitor.cpus.len() > 1 => format!(", CPU {cpu}"),
        _ => String::new(),
    };
    let text = format!(" worst case {}{cpu} ", format::latency(length));
    if columns(&text) < plot.width.into() {
        put_right(buffer, plot, plot.height - 1, &text, palette.alarm());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_in_the_middle_or_the_axis_starts_at_zero() {
        let bottom = |interval, line| {
            Axis::around(Nanos::from_micros(interval), Nanos::from_micros(line), 16).bottom
        };
        assert_eq!(bottom(1_000, 1_000), Nanos::ZERO);
        assert_eq!(bottom(10_000, 1_000), Nanos::from_micros(6_000));
        assert_eq!(bottom(1_000, 20), Nanos::from_micros(920));
    }

    #[test]
    fn numbers_of_two_lines_differ() {
        let check = |length, line, expected: &str| {
            let text = number_at_line(Nanos::from_micros(length), Nanos::from_micros(line));
            assert_eq!(text.replace(format::THIN_SPACE, " "), expected);
        };
        check(3_000, 1_000, "3 ms");
        check(1_500, 500, "1.5 ms");
        check(1_020, 20, "1.02 ms");
        check(980, 20, "980 µs");
        check(20_000, 10_000, "20 ms");
        check(0, 10, "0");
    }
}
