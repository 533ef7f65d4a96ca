//! The CPU time of a thread in every period over time, with the line of its reserve: Figures 7 to 11
//! of Mercer, Zelenka, Rajkumar, CMU-CS-94-165, 1994.

use tactus_judge::need::ThreadNeed;
use tactus_model::reserve::ThreadUsage;
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

/// CPU time over time, and the line of a reserve.
struct OverTime {
    head: String,
    title: String,
    description: String,
    /// The name of the vertical axis, and that of the horizontal one.
    axes: [&'static str; 2],
    seconds: f64,
    /// A thick curve, and a thin one below it: seconds and CPU times.
    curves: [Vec<(f64, Nanos)>; 2],
    limit: Option<Nanos>,
}

impl OverTime {
    fn draw(self) -> Drawing {
        let frame = Frame::new(HEIGHT, 12.0);
        let mut drawing = frame.begin(&self.head, self.title, self.description);
        let all = self.curves.iter().flatten().map(|(_, used)| *used).chain(self.limit);
        let highest = all.max().unwrap_or_default().as_nanos().max(1) as f64 * 1.15;
        let upward = LinearScale::new(0.0, highest, frame.bottom, frame.top);
        for mark in upward.marks(4.0) {
            let y = upward.at(mark);
            drawing.line("grid", (frame.left, y), (frame.right, y));
            let text = format::axis_length(Nanos::from_nanos(mark as u64));
            drawing.text("mark", Anchor::End, (frame.left - 5.0, y + 3.5), &text);
        }
        frame.outline(&mut drawing);
        frame.name_beside(&mut drawing, self.axes[0]);
        let along = LinearScale::new(0.0, self.seconds, frame.left, frame.right);
        frame.seconds_along(&mut drawing, &along);
        frame.name_below(&mut drawing, self.axes[1]);
        if let Some(limit) = self.limit {
            let y = upward.at(limit.as_nanos() as f64);
            drawing.line("limit", (frame.left, y), (frame.right, y));
        }
        let style = CurveStyle::numbered(0).line();
        let styles = [style.clone(), format!("{style} thin")];
        for (style, curve) in styles.iter().zip(self.curves) {
            let place =
                |(at, used): (f64, Nanos)| Some((along.at(at), upward.at(used.as_nanos() as f64)));
            drawing.path(style, curve.into_iter().map(place));
        }
        drawing
    }
}

/// Draws the use of a thread of a program that ran for `ran`.
pub fn panel(thread: &ThreadUsage, ran: Nanos) -> Drawing {
    let (period, cost) = (thread.capacity.period(), thread.capacity.cost());
    let history = &thread.history;
    let used: Vec<Nanos> =
        history.complete().iter().map(|one| per_period(one.used, history.window, period)).collect();
    let most = used.iter().copied().max().unwrap_or_default();
    let head = format!("{} {}", thread.thread, thread.name);
    let share = used.len().div_ceil(COLUMNS).max(1);
    let curve = |of: fn(&[Nanos]) -> Option<Nanos>| {
        let columns = used.chunks(share).enumerate();
        let place = |(number, chunk): (usize, &[Nanos])| {
            let middle = (number * share) as f64 + share as f64 / 2.0;
            let at = thread.since.as_secs_f64() + middle * history.window.as_secs_f64();
            (at, of(chunk).unwrap_or_default())
        };
        columns.map(place).collect::<Vec<_>>()
    };
    let least = if share > 1 { curve(|chunk| chunk.iter().copied().min()) } else { Vec::new() };
    OverTime {
        title: format!("CPU time in each period of {period}, thread {head}"),
        description: format!(
            "{} in a period at most; the reserve is {cost} by rung {}",
            format::latency(most),
            thread.rung
        ),
        head,
        axes: ["CPU time a period", "time since the start, s"],
        seconds: ran.as_secs_f64(),
        curves: [curve(|chunk| chunk.iter().copied().max()), least],
        limit: Some(cost),
    }
    .draw()
}

/// Draws the CPU time of the jobs of a thread: the greatest and the mean of each stretch, and the
/// cost of the reserve that it needs.
pub fn demand_panel(thread: &ThreadNeed) -> Drawing {
    let demand = &thread.demand;
    let limit = demand.reserve.ok().map(|reserve| reserve.cost());
    let head = format!("{} {}", thread.thread, thread.name);
    let max = demand.over_time.iter().map(|stretch| stretch.max).max().unwrap_or_default();
    OverTime {
        title: format!("CPU time of each job, thread {head}"),
        description: format!(
            "mean {}, {} at most; the reserve has {}",
            format::latency(demand.mean),
            format::latency(max),
            format::latency_or_nothing(limit)
        ),
        head,
        axes: ["CPU time a job", "time since the first job, s"],
        seconds: demand.observed.as_secs_f64(),
        curves: [
            demand.over_time.iter().map(|one| (one.at.as_secs_f64(), one.max)).collect(),
            demand.over_time.iter().map(|one| (one.at.as_secs_f64(), one.mean)).collect(),
        ],
        limit,
    }
    .draw()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reserve::tests::thread;

    #[test]
    fn any_number_of_windows_is_drawn_in_few_columns() {
        for windows in [0, 1, 2, COLUMNS + 1, 8 * COLUMNS] {
            let ran = Nanos::from_millis(10 * windows as u64);
            let svg = panel(&thread("audio", windows), ran).inline();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            assert!(svg.matches('L').count() <= 2 * COLUMNS + 2, "{windows}");
        }
    }
}
