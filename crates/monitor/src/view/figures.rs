//! The figures of the last second and of all samples.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{Palette, put, put_right, rule};
use crate::figures::StretchFigures;
use crate::state::Monitor;
use tactus_model::format;

/// The width of a column of figures.
const COLUMN: u16 = 12;

pub(super) fn draw(monitor: &Monitor, palette: Palette, area: Rect, buffer: &mut Buffer) {
    let area = rule::draw(palette, area, "latency", "last second       total", buffer);
    let shown = &monitor.picture().shown;
    let [second, all] = [&shown.second, &shown.whole];
    let due = shown.intended.as_ref().and_then(|intended| intended.p99);
    let mut rows: Vec<(&str, String, String)> = Vec::new();
    let mut both = |name, figure: &dyn Fn(&StretchFigures) -> String| {
        rows.push((name, figure(second), figure(all)));
    };
    let length = format::latency_or_nothing;
    both("median", &|of| length(of.latency.median));
    both("p99", &|of| length(of.latency.p99));
    both("p99.9", &|of| length(of.latency.p999));
    both("max", &|of| length(of.latency.max));
    both("missed", &|of| {
        let accounting = &of.accounting;
        let share = format::share(accounting.missed, accounting.intended);
        if accounting.missed == 0 { "0".to_owned() } else { share }
    });
    if all.accounting.dropped > 0 {
        both("dropped", &|of| format::count(of.accounting.dropped));
    }
    both("observed", &|of| format::count(of.accounting.observed));
    both("min", &|of| length(of.latency.min));
    rows.push(("p99 by intended schedule", String::new(), length(due)));
    for (row, (name, second, all)) in (0..area.height).zip(rows) {
        put(buffer, area, row, name, palette.faint());
        put_right(buffer, area, row, &all, palette.strong());
        let left = Rect { width: area.width - COLUMN, ..area };
        put_right(buffer, left, row, &second, ratatui::style::Style::new());
    }
}
