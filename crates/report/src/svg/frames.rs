//! Players: achieved against desired rates, and frames over ticks.
//!
//! After Figures 1 and 5 of *Effects of Clock Resolution on the Scheduling of
//! Interactive and Soft Real-Time Processes* (SIGMETRICS 2003).

use num_rational::Ratio;
use tactus_model::frames::Rate;
use tactus_stats::frames::FrameModel;

use super::frame::{Frame, LINE, TO_NAMES, WIDTH};
use super::label::{shorten, spread, width};
use super::scale::LinearScale;
use super::style::CurveStyle;
use super::{Anchor, Drawing};

/// The players of one tick rate.
#[derive(Clone, Debug)]
pub struct Players {
    /// Their label: `100 ticks/s`.
    pub name: String,
    /// Their style.
    pub style: CurveStyle,
    /// Desired frames per second, ascending, and those expected by the model.
    pub model: Vec<(f64, f64)>,
    /// Desired and achieved frames per second.
    pub measured: Vec<(f64, f64)>,
}

/// Draws achieved against desired frame rates: the model as lines, measurements as dots.
pub fn rates(head: &str, players: &[Players]) -> Drawing {
    let frame = Frame::new(230.0, Frame::room_for(players.iter().map(|of| of.name.as_str())));
    let title = match head {
        "" => "Frames per second, desired and achieved".to_owned(),
        head => format!("Frames per second, desired and achieved: {head}"),
    };
    let mut drawing = frame.begin(head, title, describe(players));
    let all = || players.iter().flat_map(|of| of.model.iter().chain(&of.measured));
    let most = all().map(|(desired, achieved)| desired.max(*achieved)).fold(1.0, f64::max);
    let upward = LinearScale::new(0.0, most * 1.04, frame.bottom, frame.top);
    let along = LinearScale::new(0.0, most * 1.04, frame.left, frame.right);
    for mark in upward.marks(6.0) {
        let y = upward.at(mark);
        drawing.line("grid", (frame.left, y), (frame.right, y));
        drawing.text("mark", Anchor::End, (frame.left - 5.0, y + 3.5), &mark.to_string());
        frame.mark_below(&mut drawing, along.at(mark), &mark.to_string());
    }
    drawing.line("axis", (frame.left, frame.top), (frame.left, frame.bottom));
    drawing.line("axis", (frame.left, frame.bottom), (frame.right, frame.bottom));
    frame.name_below(&mut drawing, "desired frames per second");
    frame.name_beside(&mut drawing, "achieved frames per second");
    let at = |(desired, achieved): &(f64, f64)| (along.at(*desired), upward.at(*achieved));
    for of in players {
        drawing.path(&of.style.line(), of.model.iter().map(|point| Some(at(point))));
    }
    for of in players {
        for point in &of.measured {
            drawing.disk(&format!("{} ringed", of.style.fill()), at(point), 3.2);
        }
    }
    let ends: Vec<(&Players, (f64, f64))> =
        players.iter().filter_map(|of| Some((of, at(of.model.last()?)))).collect();
    let places: Vec<f64> = ends.iter().map(|(_, (_, y))| *y).collect();
    let apart = spread(&places, LINE, frame.top, frame.bottom);
    for ((of, (x, y)), name_y) in ends.into_iter().zip(apart) {
        let name_x = frame.right + TO_NAMES;
        let leader = format!("leader {}", of.style.line().replace("curve ", ""));
        drawing.line(&leader, (x, y), (name_x - 2.0, name_y));
        let name = shorten(&of.name, WIDTH - name_x);
        drawing.text(&of.style.fill(), Anchor::Start, (name_x, name_y + 3.5), &name);
    }
    drawing
}

fn describe(players: &[Players]) -> String {
    let parts: Vec<String> = players
        .iter()
        .filter_map(|of| {
            let loss = |(desired, achieved): &&(f64, f64)| desired - achieved;
            let (desired, achieved) =
                of.measured.iter().max_by(|a, b| loss(a).total_cmp(&loss(b)))?;
            Some(format!(
                "{}: in the worst case {achieved:.1} of {desired:.2} frames per second",
                of.name
            ))
        })
        .collect();
    parts.join("; ")
}

/// The most frames of a pattern that are drawn: more would be too narrow to read.
pub const FRAMES_DRAWN: u64 = 9;

/// Draws one pattern of frames and the ticks that serve their timers, with a tick `shift` ticks
/// after the first frame. A frame is shown if a tick falls into the first half of its slot.
pub fn pattern(frame_rate: Rate, ticks: Rate, shift: Ratio<u64>) -> Drawing {
    let model = FrameModel::new(frame_rate, ticks);
    let frame = Frame::new(96.0, 12.0);
    let (frames, ticks_in_pattern) = (model.pattern_frames(), model.pattern_ticks());
    let head = format!("{frame_rate} frames/s on {ticks} ticks/s");
    let shown = model.shown_at(shift);
    let description = format!(
        "{shown} of {frames} frames are shown if a tick is {} ms after the first",
        millis(shift, ticks)
    );
    let mut drawing = frame.begin(&head, format!("Frames and ticks: {head}"), description);
    let along = LinearScale::new(0.0, ticks_in_pattern as f64, frame.left, frame.right);
    let slot = ticks_in_pattern as f64 / frames as f64;
    let shift_in_ticks = *shift.numer() as f64 / *shift.denom() as f64;
    let row = (frame.top + 14.0, 34.0);
    for number in 0..frames {
        let begin = along.at(number as f64 * slot);
        let (half, end) =
            (along.at((number as f64 + 0.5) * slot), along.at((number + 1) as f64 * slot));
        let is_shown = !is_skipped(&model, number, shift);
        let first = if is_shown { "t1 block" } else { "t2 block" };
        drawing.rectangle(first, (begin, row.0), (half - begin, row.1));
        drawing.rectangle("t3 block", (half, row.0), (end - half, row.1));
        let whole = format!("{} {}", number + 1, if is_shown { "shown" } else { "skipped" });
        let short = format!("{}{}", number + 1, if is_shown { "" } else { " ×" });
        let text = if width(&whole) < end - begin { whole } else { short };
        let middle = f64::midpoint(begin, end);
        drawing.text("mark strong", Anchor::Middle, (middle, row.0 + row.1 + 13.0), &text);
    }
    for number in 0..ticks_in_pattern {
        let x = along.at(number as f64 + shift_in_ticks);
        drawing.line("limit", (x, row.0 - 8.0), (x, row.0 + row.1));
        drawing.triangle("strong", (x, row.0 - 2.0), true);
    }
    drawing.line("axis", (frame.left, frame.bottom - 12.0), (frame.right, frame.bottom - 12.0));
    let period = ticks.period().as_nanos() as f64 / 1e6;
    let milliseconds =
        LinearScale::new(0.0, ticks_in_pattern as f64 * period, frame.left, frame.right);
    let axis = Frame { bottom: frame.bottom - 12.0, ..frame };
    for mark in milliseconds.marks(6.0) {
        axis.mark_below(&mut drawing, milliseconds.at(mark), &mark.to_string());
    }
    let below = format!("ms; a tick {} ms after the first frame", millis(shift, ticks));
    axis.name_below(&mut drawing, &below);
    drawing
}

fn is_skipped(model: &FrameModel, frame: u64, shift: Ratio<u64>) -> bool {
    model.skipped_shifts(frame).is_some_and(|skipped| {
        let (above, below) = (skipped.above < shift, shift < skipped.below);
        if skipped.above < skipped.below { above && below } else { above || below }
    })
}

fn millis(shift: Ratio<u64>, ticks: Rate) -> String {
    let ticks_passed = *shift.numer() as f64 / *shift.denom() as f64;
    let text = format!("{:.3}", ticks_passed / ticks.as_f64() * 1e3);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figure_5_skips_its_second_frame() {
        let (frames, ticks) = ("60".parse().unwrap(), "100".parse().unwrap());
        let svg = pattern(frames, ticks, Ratio::new(7, 12)).inline();
        assert!(svg.contains("2 of 3 frames are shown"), "{svg}");
        assert!(svg.contains(">2 skipped<") && svg.contains(">1 shown<"), "{svg}");
        assert!(svg.contains("a tick 5.833 ms after"), "{svg}");
    }

    #[test]
    fn measurements_are_drawn_with_the_model() {
        let players = [Players {
            name: "100 ticks/s".into(),
            style: CurveStyle::numbered(0),
            model: vec![(0.0, 0.0), (50.0, 50.0), (60.0, 50.0)],
            measured: vec![(50.0, 49.9), (60.0, 49.5)],
        }];
        let svg = rates("", &players).inline();
        assert_eq!(svg.matches("<circle").count(), 2);
        assert!(svg.contains("in the worst case 49.5 of 60.00 frames per second"), "{svg}");
    }
}
