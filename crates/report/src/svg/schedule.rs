//! The schedule of one CPU in the worst window: a row for each task, a block for each run.

use tactus_admission::{Window, WindowRow};
use tactus_model::time::Nanos;

use super::frame::{Frame, WIDTH};
use super::scale::LinearScale;
use super::{Anchor, Drawing, label};
use crate::admission::shown_rows;
use crate::format;

/// The height of a run, and the distance between rows.
const ROW: f64 = 16.0;
const STEP: f64 = 34.0;

/// The most room for names.
const NAMES: f64 = 84.0;

/// The room above the rows for the name of the deadline.
const ABOVE: f64 = 16.0;

/// Draws the window. A triangle below a row is a job that becomes ready, one above it a deadline.
pub fn panel(window: &Window) -> Drawing {
    let rows = shown_rows(window);
    let blocked = usize::from(window.blocked > Nanos::ZERO);
    let mut frame = Frame::new(ABOVE + STEP * (rows.len() + blocked) as f64, 12.0);
    let widest =
        rows.iter().map(|row| label::width(&row.name)).fold(label::width("blocking"), f64::max);
    frame.left = 12.0 + widest.min(NAMES);
    let decisive = &window.rows[window.decisive];
    let description = format!(
        "`{}` is due at {}, and the work before that is done at {}",
        decisive.name, window.deadline, window.done
    );
    let mut drawing =
        Drawing::new("Schedule in the worst window", description, WIDTH, frame.drawing_height());
    drawing.text("head", Anchor::Start, (6.0, 15.0), "Schedule in the worst window");
    let length = window.length.as_nanos() as f64;
    let along = LinearScale::new(0.0, length, frame.left, frame.right);
    for mark in along.marks(4.0) {
        let x = along.at(mark);
        drawing.line("grid", (x, frame.top + ABOVE), (x, frame.bottom));
        frame.mark_below(&mut drawing, x, &format::axis_length(Nanos::from_nanos(mark as u64)));
    }
    drawing.line("axis", (frame.left, frame.bottom), (frame.right, frame.bottom));
    let place = |at: Nanos| along.at(at.as_nanos() as f64);
    let mut y = frame.top + ABOVE + 6.0;
    if blocked > 0 {
        name(&mut drawing, &frame, y, "blocking");
        let width = place(window.blocked) - frame.left;
        let title = format!("blocked for {}", window.blocked);
        drawing.titled_rectangle("several block", (frame.left, y), (width, ROW), &title);
        y += STEP;
    }
    for row in rows {
        let is_decisive = std::ptr::eq(row, decisive);
        name(&mut drawing, &frame, y, &row.name);
        put_row(&mut drawing, window, row, is_decisive, y, place);
        y += STEP;
    }
    let missed = window.done > window.deadline;
    let x = place(window.deadline);
    let class = if missed { "asked line" } else { "limit" };
    drawing.line(class, (x, frame.top + ABOVE - 4.0), (x, frame.bottom));
    let text = if missed { "deadline missed" } else { "deadline" };
    let class = if missed { "asked mark" } else { "mark strong" };
    let half = label::width(text) / 2.0;
    let middle = x.clamp(frame.left + half, (frame.right - half).max(frame.left + half));
    drawing.text(class, Anchor::Middle, (middle, frame.top + 8.0), text);
    frame.name_below(&mut drawing, "time since all tasks became ready");
    drawing
}

fn name(drawing: &mut Drawing, frame: &Frame, y: f64, name: &str) {
    let shown = label::shorten(name, NAMES);
    drawing.text("mark", Anchor::End, (frame.left - 5.0, y + 11.5), &shown);
}

fn put_row(
    drawing: &mut Drawing,
    window: &Window,
    row: &WindowRow,
    is_decisive: bool,
    y: f64,
    place: impl Fn(Nanos) -> f64,
) {
    let class = if is_decisive { "fill c0 block" } else { "thread block" };
    for run in &row.runs {
        let (from, to) = (place(run.from), place(run.to));
        let title = format!("{} runs from {} to {}", row.name, run.from, run.to);
        drawing.titled_rectangle(class, (from, y), ((to - from).max(0.4), ROW), &title);
        // What runs after the missed deadline.
        let late = run.from.max(window.deadline);
        if is_decisive && late < run.to && window.done > window.deadline {
            let from = place(late);
            let title = format!("{} after the deadline", run.to - late);
            drawing.titled_rectangle("fill c1 block", (from, y), (to - from, ROW), &title);
        }
    }
    for ready in &row.ready {
        drawing.triangle("axis fill", (place(*ready), y + ROW + 0.5), false);
    }
    for deadline in &row.deadlines {
        drawing.triangle("axis fill", (place(*deadline), y - 0.5), true);
    }
}

#[cfg(test)]
mod tests {
    use tactus_admission::{Admission, Plan};

    use super::*;

    #[test]
    fn every_window_is_drawn_with_finite_places() {
        let task = |name: &str, cost: u64, rest: &str| {
            format!("[[task]]\nname = \"{name}\"\ncost = \"{cost}ms\"\nperiod = \"10ms\"\n{rest}\n")
        };
        for text in [
            task("a", 1, ""),
            task("a", 10, "blocking = \"1ms\""),
            task("a", 6, "") + &task("b", 6, "deadline = \"7ms\"\njitter = \"1ms\""),
        ] {
            let admission = Admission::of(&Plan::parse(&text).unwrap());
            let svg = panel(admission.window.as_ref().unwrap()).inline();
            assert!(!svg.contains("NaN") && !svg.contains("inf\""), "{svg}");
            assert!(svg.contains("deadline"), "{svg}");
        }
    }
}
