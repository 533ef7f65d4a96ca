//! The CPU time of a thread in every period over time, with the line of its reserve: Figures 7 to 11
//! of Mercer, Zelenka, Rajkumar, CMU-CS-94-165, 1994.

use tactus_model::reserve::{Capacity, ThreadUsage};
use tactus_model::time::Nanos;

use super::frame::Frame;
use super::scale::LinearScale;
use super::style::CurveStyle;
use super::{Anchor, Drawing};
use crate::format;
use crate::reserve::per_period;

const HEIGHT: f64 = 130.0;

/// The most columns; more windows share them.
const COLUMNS: usize = 280;

/// Draws the use of a thread of a program that ran for `ran`.
pub fn panel(thread: &ThreadUsage, capacity: Capacity, ran: Nanos) -> Drawing {
    let frame = Frame::new(HEIGHT, 12.0);
    let (period, cost) = (capacity.period(), capacity.cost());
    let history = &thread.history;
    let used: Vec<Nanos> =
        history.complete().iter().map(|one| per_period(one.used, history.window, period)).collect();
    let most = used.iter().copied().max().unwrap_or_default();
    let head = format!("{} {}", thread.thread, thread.name);
    let title = format!("CPU time in each period of {period}, thread {head}");
    let description = format!(
        "{} in a period at most; the reserve is {cost} by rung {}",
        format::latency(most),
        thread.rung
    );
    let mut drawing = frame.begin(&head, title, description);
    let highest = most.max(cost).as_nanos() as f64 * 1.15;
    let upward = LinearScale::new(0.0, highest, frame.bottom, frame.top);
    for mark in upward.marks(4.0) {
        let y = upward.at(mark);
        drawing.line("grid", (frame.left, y), (frame.right, y));
        let text = format::axis_length(Nanos::from_nanos(mark as u64));
        drawing.text("mark", Anchor::End, (frame.left - 5.0, y + 3.5), &text);
    }
    frame.outline(&mut drawing);
    frame.name_beside(&mut drawing, "CPU time a period");
    let along = LinearScale::new(0.0, ran.as_secs_f64(), frame.left, frame.right);
    frame.seconds_along(&mut drawing, &along);
    frame.name_below(&mut drawing, "time since the start, s");
    let y = upward.at(cost.as_nanos() as f64);
    drawing.line("limit", (frame.left, y), (frame.right, y));
    let share = used.len().div_ceil(COLUMNS).max(1);
    let place = |number: usize, used: Nanos| {
        let middle = (number * share) as f64 + share as f64 / 2.0;
        let at = thread.since.as_secs_f64() + middle * history.window.as_secs_f64();
        Some((along.at(at), upward.at(used.as_nanos() as f64)))
    };
    let curve = |of: fn(&[Nanos]) -> Option<Nanos>| -> Vec<Option<(f64, f64)>> {
        let columns = used.chunks(share).enumerate();
        columns.map(|(number, chunk)| place(number, of(chunk).unwrap_or_default())).collect()
    };
    let style = CurveStyle::numbered(0).line();
    drawing.path(&style, curve(|chunk| chunk.iter().copied().max()));
    if share > 1 {
        drawing.path(&format!("{style} thin"), curve(|chunk| chunk.iter().copied().min()));
    }
    drawing
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reserve::tests::thread;

    #[test]
    fn any_number_of_windows_is_drawn_in_few_columns() {
        let capacity = "5ms/10ms".parse().unwrap();
        for windows in [0, 1, 2, COLUMNS + 1, 8 * COLUMNS] {
            let ran = Nanos::from_millis(10 * windows as u64);
            let svg = panel(&thread("audio", windows), capacity, ran).inline();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            assert!(svg.matches('L').count() <= 2 * COLUMNS + 2, "{windows}");
        }
    }
}
