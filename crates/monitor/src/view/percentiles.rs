//! The percentile graph: logarithmic latency over an axis that stretches the tail.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};
use ratatui::symbols::Marker;
use ratatui::widgets::Widget;
use ratatui::widgets::canvas::{Canvas, Context, Line};
use tactus_model::time::Nanos;
use tactus_stats::axis::PercentileAxis;

use super::{Palette, columns, put, put_right, rule};
use crate::state::Monitor;
use tactus_model::format;

/// The label of the second curve.
const INTENDED: &str = "by intended schedule";
/// The width of the numbers at the left.
const NUMBERS: u16 = 8;

pub(super) fn draw(monitor: &Monitor, palette: Palette, area: Rect, buffer: &mut Buffer) {
    let shown = &monitor.picture().shown;
    let name = match monitor.axis {
        PercentileAxis::Exponential => "exponential",
        PercentileAxis::Reciprocal => "1/(1−p)",
    };
    let area = rule::draw(palette, area, "latency by percentile", name, buffer);
    let plot =
        Rect { x: area.x + NUMBERS, width: area.width - NUMBERS, height: area.height - 1, ..area };
    // Both curves end at the end of the curve with more samples.
    let curves = [&shown.curve, &shown.intended_curve];
    let ends = || curves.into_iter().filter_map(|curve| Some((curve.first()?, curve.last()?)));
    let Some(decades) = Decades::around(ends().map(|(first, last)| (first.1, last.1))) else {
        put(buffer, plot, plot.height / 2, "updated every second", palette.faint());
        return;
    };
    let share_max = ends().map(|(_, last)| last.0).fold(0.0, f64::max);
    decades.draw(palette, area, plot, buffer);
    let points = |curve: &[(f64, Nanos)]| -> Vec<(f64, f64)> {
        curve
            .iter()
            .map(|(share, latency)| (monitor.axis.position(*share, share_max), log(*latency)))
            .collect()
    };
    let [by_wakeup, intended] = curves.map(|curve| points(curve));
    Canvas::default()
        .marker(Marker::Braille)
        .x_bounds([0.0, 1.0])
        .y_bounds([decades.low, decades.high])
        .paint(|context| {
            join(context, &intended, palette.colour(Color::Magenta));
            context.layer();
            join(context, &by_wakeup, palette.colour(Color::Green));
        })
        .render(plot, buffer);
    if !intended.is_empty() && columns(INTENDED) <= plot.width.into() {
        let style = palette.style(Color::Magenta, Modifier::DIM);
        put(buffer, plot, 0, INTENDED, style);
    }
    draw_ticks(
        monitor.axis,
        share_max,
        palette,
        Rect { y: plot.bottom(), height: 1, ..plot },
        buffer,
    );
}

fn join(context: &mut Context<'_>, points: &[(f64, f64)], color: Color) {
    for pair in points.windows(2) {
        let [(x1, y1), (x2, y2)] = [pair[0], pair[1]];
        context.draw(&Line { x1, y1, x2, y2, color });
    }
}

fn log(latency: Nanos) -> f64 {
    (latency.as_nanos().max(1) as f64).log10()
}

/// The ends of the vertical axis: whole powers of ten nanoseconds.
struct Decades {
    low: f64,
    high: f64,
}

impl Decades {
    fn around(ends: impl Iterator<Item = (Nanos, Nanos)>) -> Option<Self> {
        let ends = ends.reduce(|(low, high), (first, last)| (low.min(first), high.max(last)));
        let (low, high) = ends?;
        let low = log(low).floor();
        Some(Self { low, high: log(high).ceil().max(low + 1.0) })
    }

    fn draw(&self, palette: Palette, area: Rect, plot: Rect, buffer: &mut Buffer) {
        let mut last = None;
        for power in self.low as u32..=self.high as u32 {
            let along = (self.high - f64::from(power)) / (self.high - self.low);
            let row = (along * f64::from(plot.height - 1)).round() as u16;
            // With more decades than rows, a row shows its smallest decade.
            if last.replace(row) == Some(row) {
                continue;
            }
            let numbers = Rect { width: NUMBERS - 1, ..area };
            let text = format::axis_length(Nanos::from_nanos(10_u64.pow(power)));
            put_right(buffer, numbers, row, &text, palette.faint());
            put(buffer, plot, row, &"·".repeat(plot.width.into()), palette.faint());
        }
    }
}

/// Writes the marks of the axis from the right, where the tail is, and skips those that
/// would overlap.
fn draw_ticks(
    axis: PercentileAxis,
    share_max: f64,
    palette: Palette,
    area: Rect,
    buffer: &mut Buffer,
) {
    let mut free = area.width;
    for tick in axis.ticks(share_max).into_iter().rev() {
        let width = columns(tick.label) as u16;
        let middle = (tick.position * f64::from(area.width - 1)) as u16;
        let start = middle.saturating_sub(width / 2).min(area.width.saturating_sub(width));
        if start + width > free {
            continue;
        }
        let place = Rect { x: area.x + start, width, ..area };
        put(buffer, place, 0, tick.label, palette.faint());
        free = start.saturating_sub(1);
    }
}
