//! CPU time over time, as a share of one CPU.
//!
//! After Figures 7, 8, 10 and 11 of Mercer, Zelenka and Rajkumar, *On Predictable Operating System
//! Protocol Processing* (CMU-CS-94-165, 1994): a task that gets its time in every period is a flat line.

use tactus_reproduce::UseOverTime;

use super::frame::Frame;
use super::scale::LinearScale;
use super::style::CurveStyle;
use super::{Anchor, Drawing};
use crate::format;

/// The room for the overhang of the last label of the horizontal axis.
const MARK_BESIDE: f64 = 14.0;

/// The most intervals that a panel shows, from the beginning: more would not be distinct.
const INTERVALS_MAX: usize = 500;

/// The top of the vertical axis of panels that show these: a multiple of a tenth.
pub fn highest<'u>(all: impl Iterator<Item = &'u UseOverTime>) -> f64 {
    let highest = all.flat_map(shares).fold(0.0, f64::max);
    ((highest * 10.0).ceil() / 10.0).clamp(0.1, 1.0)
}

/// Draws the panel of one task; the vertical axis reaches to the share `highest`.
pub fn panel(name: &str, used: &UseOverTime, highest: f64) -> Drawing {
    let frame = Frame::new(110.0, MARK_BESIDE);
    let mut drawing = frame.begin(name, format!("CPU use over time: {name}"), describe(used));
    let interval = used.interval.as_secs_f64();
    let seconds = interval * used.used.len().min(INTERVALS_MAX) as f64;
    let along = LinearScale::new(0.0, seconds, frame.left, frame.right);
    let upward = LinearScale::new(0.0, highest, frame.bottom, frame.top);
    for mark in upward.marks(4.0) {
        let y = upward.at(mark);
        drawing.line("grid", (frame.left, y), (frame.right, y));
        let text = format::whole_percent(mark);
        drawing.text("mark", Anchor::End, (frame.left - 5.0, y + 3.5), &text);
    }
    drawing.line("axis", (frame.left, frame.top), (frame.left, frame.bottom));
    drawing.line("axis", (frame.left, frame.bottom), (frame.right, frame.bottom));
    frame.seconds_along(&mut drawing, &along);
    frame.name_below(&mut drawing, "seconds");
    frame.name_beside(&mut drawing, "CPU use");
    let steps = (0_u32..).zip(shares(used)).flat_map(|(slice, share)| {
        let (from, until) = (f64::from(slice) * interval, f64::from(slice + 1) * interval);
        let y = upward.at(share.min(highest));
        [Some((along.at(from), y)), Some((along.at(until), y))]
    });
    drawing.path(&format!("{} thin", CurveStyle::numbered(0).line()), steps);
    drawing
}

/// The share of a CPU in each interval.
fn shares(used: &UseOverTime) -> impl Iterator<Item = f64> + '_ {
    let interval = used.interval.as_secs_f64();
    used.used.iter().take(INTERVALS_MAX).map(move |used| used.as_secs_f64() / interval)
}

fn describe(used: &UseOverTime) -> String {
    let all: Vec<f64> = shares(used).collect();
    let mean = all.iter().sum::<f64>() / all.len().max(1) as f64;
    let least = all.iter().copied().fold(f64::MAX, f64::min);
    let most = all.iter().copied().fold(0.0, f64::max);
    format!(
        "mean {:.1} %, from {:.1} % to {:.1} % in an interval of {}",
        mean * 100.0,
        least.min(most) * 100.0,
        most * 100.0,
        format::axis_length(used.interval)
    )
}
