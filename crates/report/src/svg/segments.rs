//! Samples as stacks of their segments: which stage of the path took the time.
//!
//! Every bar has the full width and a linear scale. Durations on a logarithmic scale do not add up,
//! and a common scale would show only the longest bar; so a bar shows shares, with its duration
//! written before it.

use tactus_explain::Segment;
use tactus_model::time::Nanos;

use super::frame::{LINE, WIDTH};
use super::{Anchor, Drawing};
use crate::format;

/// A bar: its name and the duration of each segment, in the order of [`Segment::ALL`].
#[derive(Clone, Debug)]
pub struct Stack {
    /// The label before the bar.
    pub name: String,
    /// The durations.
    pub lengths: [Nanos; Segment::ALL.len()],
}

impl Stack {
    fn total(&self) -> Nanos {
        self.lengths.into_iter().sum()
    }
}

const LEFT: f64 = 92.0;
const RIGHT: f64 = WIDTH - 6.0;
const TOP: f64 = 26.0;
const HEIGHT: f64 = 15.0;
const STEP: f64 = 19.0;

/// The least width of a block that has room for its number.
const NUMBERED: f64 = 9.0;

/// Draws the bars one below the other, with a key to the segments at the bottom.
pub fn panel(head: &str, stacks: &[Stack]) -> Drawing {
    let bottom = TOP + STEP * stacks.len() as f64;
    let key = bottom + 14.0;
    // Only a sample that is handed over has the last segment.
    let is_handed_over =
        stacks.iter().any(|stack| stack.lengths[Segment::HandedOver as usize] > Nanos::ZERO);
    let shown = Segment::ALL
        .into_iter()
        .filter(|segment| *segment != Segment::HandedOver || is_handed_over);
    let shown: Vec<Segment> = shown.collect();
    let height = key + LINE * 1.25 * shown.len() as f64;
    let mut drawing = Drawing::new(format!("Segments: {head}"), describe(stacks), WIDTH, height);
    drawing.text("head", Anchor::Start, (6.0, 15.0), head);
    for (row, stack) in stacks.iter().enumerate() {
        bar(&mut drawing, stack, TOP + STEP * row as f64);
    }
    for (number, segment) in shown.into_iter().enumerate() {
        let y = key + LINE * 1.25 * number as f64;
        drawing.rectangle(&format!("fill c{number}"), (LEFT, y - 9.0), (11.0, 11.0));
        drawing.text("on mark", Anchor::Middle, (LEFT + 5.5, y), &(number + 1).to_string());
        drawing.text("mark", Anchor::Start, (LEFT + 17.0, y), &segment.to_string());
    }
    drawing
}

fn bar(drawing: &mut Drawing, stack: &Stack, y: f64) {
    let total = stack.total();
    let name = format!("{} · {}", stack.name, format::latency(total));
    drawing.text("mark", Anchor::End, (LEFT - 5.0, y + 11.0), &name);
    let scale = (RIGHT - LEFT) / (total.as_nanos().max(1) as f64);
    let mut from = LEFT;
    for (number, length) in stack.lengths.into_iter().enumerate() {
        let width = length.as_nanos() as f64 * scale;
        if length > Nanos::ZERO {
            let title = format!("{} {}", Segment::ALL[number], format::latency(length));
            drawing.titled_rectangle(
                &format!("fill{} c{number}", if width >= NUMBERED { " block" } else { "" }),
                (from, y),
                (width, HEIGHT),
                &title,
            );
        }
        if width >= NUMBERED {
            let middle = (from + width / 2.0, y + 11.0);
            drawing.text("on mark", Anchor::Middle, middle, &(number + 1).to_string());
        }
        from += width;
    }
}

fn describe(stacks: &[Stack]) -> String {
    let said: Vec<String> = stacks
        .iter()
        .filter_map(|stack| {
            let longest = (0..stack.lengths.len()).max_by_key(|number| stack.lengths[*number])?;
            Some(format!(
                "{}: {}, most of it {}",
                stack.name,
                format::latency(stack.total()),
                Segment::ALL[longest]
            ))
        })
        .collect();
    said.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bar_has_the_full_width() {
        let micros = Nanos::from_micros;
        let stack = |length| Stack {
            name: "1".to_owned(),
            lengths: [length, 0, 0, length, 0, 0].map(micros),
        };
        let svg = panel("net", &[stack(1), stack(100_000)]).inline();
        let half = format!("width=\"{}\"", (RIGHT - LEFT) / 2.0);
        assert_eq!(svg.matches(&half).count(), 4, "{svg}");
    }

    #[test]
    fn a_sample_without_length_has_finite_places() {
        let svg = panel("net", &[Stack { name: "1".to_owned(), lengths: [Nanos::ZERO; 6] }]);
        assert!(!svg.inline().contains("NaN"));
    }
}
