//! Ticks billed for effective quanta: a scatter plot with the ideal diagonal.
//!
//! After Figure 4 of Etsion, Tsafrir and Feitelson, *Effects of Clock Resolution on the Scheduling
//! of Interactive and Soft Real-Time Processes* (SIGMETRICS 2003): billing is in whole ticks, so
//! the points are on steps; more points in one place make a larger disk.

use tactus_explain::account::Billing;
use tactus_model::time::Nanos;

use super::frame::Frame;
use super::scale::LinearScale;
use super::style::CurveStyle;
use super::{Anchor, Drawing};
use crate::format;

/// The most ticks on the axes; quanta beyond are only counted.
const TICKS_MAX: f64 = 8.0;

/// The radius of the disk of a program's most frequent place.
const RADIUS_MAX: f64 = 9.0;

/// The room for the overhang of the last label of the horizontal axis.
const MARK_BESIDE: f64 = 20.0;

/// The billing of one program.
#[derive(Clone, Copy, Debug)]
pub struct Billed<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its style.
    pub style: CurveStyle,
    /// Its billing.
    pub billing: &'a Billing,
}

/// The number of ticks on the axes of these panels: enough for 99 % of the quanta of each program,
/// at least two and at most eight.
pub fn reach(programs: &[Billed<'_>]) -> f64 {
    let reaches = programs.iter().map(|billed| {
        let billing = billed.billing;
        let all: u64 = billing.scatter.iter().map(|point| point.count).sum();
        let mut seen = 0;
        let found = billing.scatter.iter().find(|point| {
            seen += point.count;
            seen as f64 >= all as f64 * 0.99
        });
        found.map_or(0.0, |point| ticks_of(point.length, billing))
    });
    reaches.fold(2.0, f64::max).ceil().min(TICKS_MAX)
}

/// Draws the panel of one program; both axes reach to `reach` ticks.
pub fn panel(billed: &Billed<'_>, reach: f64) -> Drawing {
    let billing = billed.billing;
    let frame = Frame::new(150.0, MARK_BESIDE);
    let title = format!("Ticks billed to {} for its quanta", billed.name);
    let mut drawing = frame.begin(billed.name, title, describe(billed));
    let along = LinearScale::new(0.0, reach, frame.left, frame.right);
    let upward = LinearScale::new(0.0, reach, frame.bottom, frame.top);
    let step = if reach > 4.0 { 2 } else { 1 };
    for ticks in (0..=reach as u32).step_by(step) {
        let (x, y) = (along.at(f64::from(ticks)), upward.at(f64::from(ticks)));
        drawing.line("grid", (frame.left, y), (frame.right, y));
        drawing.text("mark", Anchor::End, (frame.left - 5.0, y + 3.5), &ticks.to_string());
        let length = billing.period.saturating_mul(u64::from(ticks));
        frame.mark_below(&mut drawing, x, &format::axis_length(length));
    }
    drawing.line("axis", (frame.left, frame.top), (frame.left, frame.bottom));
    drawing.line("axis", (frame.left, frame.bottom), (frame.right, frame.bottom));
    drawing.line("nominal", (frame.left, frame.bottom), (frame.right, frame.top));
    frame.name_below(&mut drawing, "effective quantum");
    frame.name_beside(&mut drawing, "ticks billed");
    let most = billing.scatter.iter().map(|point| point.count).max().unwrap_or(1) as f64;
    let mut beyond = 0;
    for point in &billing.scatter {
        let (x, y) = (ticks_of(point.length, billing), point.ticks as f64);
        if x > reach || y > reach {
            beyond += point.count;
            continue;
        }
        let radius = (RADIUS_MAX * (point.count as f64 / most).sqrt()).max(1.0);
        drawing.disk(&billed.style.fill(), (along.at(x), upward.at(y)), radius);
    }
    if beyond > 0 {
        let text = format!("{} longer", format::count(beyond));
        drawing.text("mark halo", Anchor::End, (frame.right - 3.0, frame.top + 10.0), &text);
    }
    drawing
}

fn ticks_of(length: Nanos, billing: &Billing) -> f64 {
    length.as_nanos() as f64 / billing.period.as_nanos().max(1) as f64
}

fn describe(billed: &Billed<'_>) -> String {
    let billing = billed.billing;
    let missed = format::share(billing.missed.value, billing.quanta);
    let ratio =
        billing.ratio().map_or_else(String::new, |ratio| format!("billed/used {ratio:.2}; "));
    format!("{ratio}{missed} of {} quanta were not billed", format::count(billing.quanta))
}
