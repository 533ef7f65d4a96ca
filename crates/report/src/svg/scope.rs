//! The interarrival scope, after Figure 1 of *The Mach multimedia testbed* (CMU-CS-93-205, 1993).
//!
//! Time runs to the right, the time between successive wakeups upward. In a perfect system every
//! wakeup is on the line of the interval. As in the paper, the worst case is printed in the lower
//! right corner; here a triangle also marks each place off the scale. The paper's scope wraps
//! around; this scope shows the whole window, with the shortest and the longest time of a slice in
//! each column.

use tactus_model::result::ScopeColumn;
use tactus_model::time::Nanos;

use super::frame::Frame;
use super::scale::LinearScale;
use super::style::CurveStyle;
use super::{Anchor, Drawing};
use crate::format;

/// The scope of a cell.
#[derive(Clone, Debug)]
pub struct Scope {
    /// The cell's name.
    pub name: String,
    /// The style of its columns.
    pub style: CurveStyle,
    /// The interval requested, or its mean.
    pub nominal: Nanos,
    /// The columns of every task of one round, in any order.
    pub columns: Vec<ScopeColumn>,
    /// The longest time between two wakeups in any round.
    pub worst: Nanos,
    /// The length of the window.
    pub window: Nanos,
}

/// The most columns that are drawn; more are merged.
const COLUMNS: usize = 290;

/// Draws the scope of a cell.
pub fn panel(scope: &Scope) -> Drawing {
    let frame = Frame::new(120.0, 12.0);
    let description = format!(
        "Interval {}, longest time between two wakeups {}",
        format::latency(scope.nominal),
        format::latency(scope.worst)
    );
    let title = format!("Time between wakeups: {}", scope.name);
    let mut drawing = frame.begin(&scope.name, title, description);
    let nominal = scope.nominal.as_nanos() as f64;
    let upward = LinearScale::new(0.0, nominal * 2.0, frame.bottom, frame.top);
    for part in 0..=4_u32 {
        let value = nominal / 2.0 * f64::from(part);
        let y = upward.at(value);
        drawing.line("grid", (frame.left, y), (frame.right, y));
        let text = format::axis_length(Nanos::from_nanos(value as u64));
        drawing.text("mark", Anchor::End, (frame.left - 5.0, y + 3.5), &text);
    }
    let y = upward.at(nominal);
    drawing.line("nominal", (frame.left, y), (frame.right, y));
    let along = LinearScale::new(0.0, scope.window.as_secs_f64(), frame.left, frame.right);
    frame.seconds_along(&mut drawing, &along);
    frame.name_below(&mut drawing, "seconds into the window");
    frame.name_beside(&mut drawing, "time between wakeups");
    draw(&mut drawing, &frame, scope, &upward);
    let corner = (frame.right - 4.0, frame.bottom - 6.0);
    let worst = format!("worst case {}", format::latency(scope.worst));
    drawing.text("corner halo", Anchor::End, corner, &worst);
    drawing
}

fn draw(drawing: &mut Drawing, frame: &Frame, scope: &Scope, upward: &LinearScale) {
    let width = (frame.right - frame.left) / COLUMNS as f64;
    let fill = scope.style.fill();
    for (place, (min, max)) in joined(scope) {
        let x = frame.left + place as f64 * width;
        let (low, high) = (upward.at(min.as_nanos() as f64), upward.at(max.as_nanos() as f64));
        drawing.rectangle(&fill, (x, high), (width.max(0.9), (low - high).max(1.2)));
        if max.as_nanos() as f64 > upward.high() {
            drawing.triangle(&fill, (x + width / 2.0, frame.top - 6.0), false);
        }
    }
}

/// The columns of all tasks, merged into as many as are drawn.
fn joined(scope: &Scope) -> Vec<(usize, (Nanos, Nanos))> {
    let mut slots: Vec<Option<(Nanos, Nanos)>> = vec![None; COLUMNS];
    let window = scope.window.as_nanos().max(1);
    for column in &scope.columns {
        let place = u128::from(column.at.as_nanos()) * COLUMNS as u128 / u128::from(window);
        let slot = &mut slots[usize::try_from(place).unwrap_or(COLUMNS).min(COLUMNS - 1)];
        let (min, max) = slot.unwrap_or((column.min, column.max));
        *slot = Some((min.min(column.min), max.max(column.max)));
    }
    slots.into_iter().enumerate().filter_map(|(place, slot)| Some((place, slot?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_columns_keep_the_longest_time() {
        let column = |at, max| ScopeColumn {
            at: Nanos::from_millis(at),
            min: Nanos::from_micros(900),
            max: Nanos::from_micros(max),
        };
        let scope = Scope {
            name: "idle".into(),
            style: CurveStyle::numbered(0),
            nominal: Nanos::from_millis(1),
            columns: (0..5000)
                .map(|at| column(at, if at == 2500 { 60_300 } else { 1_100 }))
                .collect(),
            worst: Nanos::from_micros(60_300),
            window: Nanos::from_secs(5),
        };
        let columns = joined(&scope);
        assert_eq!(columns.len(), COLUMNS);
        assert!(columns.iter().any(|(_, (_, max))| *max == scope.worst));
        let svg = panel(&scope).inline();
        assert!(svg.contains("worst case 60.3\u{202f}ms"), "{svg}");
        assert_eq!(svg.matches("h-7z").count(), 1, "one place is off the scale");
    }
}
