//! What ran on which CPU while a sample was late: a row for each CPU, a block for each stretch.
//!
//! Kinds differ in position and height as well as in colour: threads fill their row, interrupts and
//! timers its upper part, softirqs its lower part, and an idle CPU is a line. Unknown time is
//! blank.

use tactus_explain::timeline::{Bar, Lane, Mark, Moment, Occupant};
use tactus_model::time::Nanos;

use super::frame::{Frame, LINE, WIDTH};
use super::scale::LinearScale;
use super::{Anchor, Drawing, label};
use crate::explanation::moment_word;
use crate::format;

/// A late sample to draw.
#[derive(Clone, Debug)]
pub struct Lateness<'a> {
    /// The heading of the drawing.
    pub head: &'a str,
    /// From the due time to the end.
    pub length: Nanos,
    /// What happens at the end.
    pub end: &'a str,
    /// The CPUs that are shown.
    pub lanes: &'a [&'a Lane],
    /// What happened to the sample's thread.
    pub marks: &'a [Mark],
}

/// The height of a CPU's row, and the distance between rows.
const ROW: f64 = 20.0;
const STEP: f64 = 26.0;

/// The room above the rows for the names of moments.
const NAMES: f64 = 16.0;

/// Narrower stretches are drawn together with their narrow neighbours.
const NARROW: f64 = 0.8;

/// Narrower blocks have no outline.
const OUTLINED: f64 = 3.0;

/// Narrower interruptions do not split the name of the interrupted block.
const SEEN: f64 = 2.5;

/// The appearance of a stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    Idle,
    Probe,
    Thread,
    Asked,
    Interrupt,
    Timer,
    Softirq,
    Several,
    Paused,
}

impl Look {
    /// All in the order of the key, with their text.
    const KEY: [(Self, &'static str); 9] = [
        (Self::Probe, "the late thread"),
        (Self::Thread, "another thread"),
        (Self::Asked, "another, asked to reschedule"),
        (Self::Several, "several, each too short"),
        (Self::Interrupt, "interrupt"),
        (Self::Timer, "timer function"),
        (Self::Softirq, "softirq"),
        (Self::Idle, "idle"),
        (Self::Paused, "paused by the host"),
    ];

    const fn of(occupant: &Occupant) -> Self {
        match occupant {
            Occupant::Idle => Self::Idle,
            Occupant::Probe => Self::Probe,
            Occupant::Thread { asked: false, .. } => Self::Thread,
            Occupant::Thread { asked: true, .. } => Self::Asked,
            Occupant::Vector { .. } | Occupant::Interrupt { .. } => Self::Interrupt,
            Occupant::Timer { .. } => Self::Timer,
            Occupant::Softirq { .. } => Self::Softirq,
            Occupant::Several { .. } => Self::Several,
            Occupant::HostPause => Self::Paused,
        }
    }

    const fn class(self) -> &'static str {
        match self {
            Self::Idle => "axis fill",
            Self::Probe => "fill c0",
            Self::Thread => "thread",
            Self::Asked => "thread asked",
            Self::Interrupt => "fill c1",
            Self::Timer => "fill c5",
            Self::Softirq => "fill c3",
            Self::Several => "several",
            Self::Paused => "fill c4",
        }
    }

    /// The class of a text on it.
    const fn text_class(self) -> &'static str {
        match self {
            Self::Thread | Self::Asked | Self::Several | Self::Idle => "mark strong name",
            _ => "mark on",
        }
    }

    /// Its top and bottom within its row.
    const fn reach(self) -> (f64, f64) {
        match self {
            Self::Idle => (ROW / 2.0 - 0.5, ROW / 2.0 + 0.5),
            Self::Probe | Self::Thread | Self::Asked | Self::Several | Self::Paused => (0.0, ROW),
            Self::Interrupt | Self::Timer => (0.0, 13.0),
            Self::Softirq => (ROW - 13.0, ROW),
        }
    }
}

/// A stretch to draw.
struct Block {
    from: f64,
    to: f64,
    look: Look,
    name: String,
    title: String,
}

/// Draws the timeline of a late sample.
pub fn panel(lateness: &Lateness<'_>) -> Drawing {
    let rows = lateness.lanes.len() as f64;
    let mut frame = Frame::new(NAMES + STEP * rows, 12.0);
    frame.left = 46.0;
    let title = format!("Timeline: {}", lateness.head);
    let mut drawing = Drawing::new(title, describe(lateness), WIDTH, frame.drawing_height());
    let head = label::shorten(lateness.head, WIDTH);
    drawing.text("head", Anchor::Start, (6.0, 15.0), &head);
    let length = lateness.length.as_nanos() as f64;
    let along = LinearScale::new(0.0, length, frame.left, frame.right);
    for mark in along.marks(4.0) {
        let x = along.at(mark);
        drawing.line("grid", (x, frame.top + NAMES), (x, frame.bottom));
        frame.mark_below(&mut drawing, x, &format::axis_length(Nanos::from_nanos(mark as u64)));
    }
    drawing.line("axis", (frame.left, frame.bottom), (frame.right, frame.bottom));
    let tints = Tints::of(lateness.lanes);
    for (row, lane) in lateness.lanes.iter().enumerate() {
        let y = frame.top + NAMES + STEP * row as f64 + 3.0;
        let name = format!("CPU {}", lane.cpu);
        drawing.text("mark", Anchor::End, (frame.left - 5.0, y + 13.5), &name);
        let blocks = blocks(lane, &along);
        for block in &blocks {
            put(&mut drawing, block, tints.get(&block.name), y);
        }
        self::name(&mut drawing, &blocks, y);
    }
    marks(&mut drawing, lateness, &frame, &along);
    frame.name_below(&mut drawing, "time since due");
    drawing
}

fn put(drawing: &mut Drawing, block: &Block, tint: usize, y: f64) {
    let (top, bottom) = block.look.reach();
    let width = (block.to - block.from).max(0.4);
    let mut class = block.look.class().to_owned();
    if matches!(block.look, Look::Thread | Look::Asked) {
        class.push_str(&format!(" t{tint}"));
    }
    // The outline between neighbours would cover a narrow block.
    if width >= OUTLINED {
        class.push_str(" block");
    }
    let size = (width, bottom - top);
    drawing.titled_rectangle(&class, (block.from, y + top), size, &block.title);
}

/// A stretch with one name.
struct Named<'a> {
    block: &'a Block,
    to: f64,
    /// The width of the blocks with this name.
    covered: f64,
}

/// Writes the names that have room. A name that continues after invisibly narrow interruptions is
/// written once, over the whole stretch. If several names alternate that fast, the one with the
/// most time is written.
fn name(drawing: &mut Drawing, blocks: &[Block], y: f64) {
    let mut spans = spans(blocks);
    // Fewer than four letters of a name are useless.
    spans.retain(|span| span.to - span.block.from >= label::width("four") + 2.0);
    spans.sort_by(|a, b| b.covered.total_cmp(&a.covered));
    let mut taken: Vec<(f64, f64)> = Vec::new();
    for Named { block, to, .. } in spans {
        if taken.iter().any(|(other_from, other_to)| block.from < *other_to && to > *other_from) {
            continue;
        }
        taken.push((block.from, to));
        let (top, bottom) = block.look.reach();
        let shown = label::shorten(&block.name, to - block.from - 2.0);
        let middle = (f64::midpoint(block.from, to), y + f64::midpoint(top, bottom) + 3.5);
        drawing.text(block.look.text_class(), Anchor::Middle, middle, &shown);
    }
}

fn spans(blocks: &[Block]) -> Vec<Named<'_>> {
    let mut spans: Vec<Named<'_>> = Vec::new();
    for block in blocks.iter().filter(|block| block.look != Look::Idle) {
        let width = block.to - block.from;
        // Only the last stretch of a name can continue.
        let before = spans.iter_mut().rev().find(|span| {
            span.block.name == block.name && span.block.look.reach() == block.look.reach()
        });
        match before {
            Some(span) if block.from - span.to < SEEN => {
                span.to = block.to;
                span.covered += width;
            }
            _ => spans.push(Named { block, to: block.to, covered: width }),
        }
    }
    spans
}

/// The tint of each thread by its name, to distinguish neighbours: the three that ran longest have
/// their own.
struct Tints(Vec<String>);

impl Tints {
    fn of(lanes: &[&Lane]) -> Self {
        let mut times: Vec<(String, Nanos)> = Vec::new();
        for bar in lanes.iter().flat_map(|lane| &lane.bars) {
            let Occupant::Thread { thread, .. } = &bar.occupant else { continue };
            let time = bar.to - bar.from;
            match times.iter_mut().find(|(name, _)| *name == thread.name) {
                Some((_, sum)) => *sum = *sum + time,
                None => times.push((thread.name.clone(), time)),
            }
        }
        times.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
        Self(times.into_iter().map(|(name, _)| name).take(3).collect())
    }

    fn get(&self, name: &str) -> usize {
        self.0.iter().position(|other| other == name).unwrap_or(self.0.len())
    }
}

/// The blocks of a row. Runs of narrow stretches are drawn as one block with the appearance of the
/// longest.
fn blocks(lane: &Lane, along: &LinearScale) -> Vec<Block> {
    let place = |at: Nanos| along.at(at.as_nanos() as f64);
    let narrow = |bar: &Bar| place(bar.to) - place(bar.from) < NARROW;
    let mut blocks = Vec::new();
    for run in lane.bars.chunk_by(|a, b| narrow(a) && narrow(b) && a.to == b.from) {
        // A wide run is split, so that not all of it has the same appearance.
        let mut rest = run;
        while let Some(first) = rest.first() {
            let fits = |bar: &Bar| place(bar.to) - place(first.from) < NARROW * 2.0;
            let taken = rest.iter().take_while(|bar| fits(bar)).count().max(1);
            let (now, later) = rest.split_at(taken);
            rest = later;
            blocks.extend(block(now, place));
        }
    }
    blocks
}

fn block(bars: &[Bar], place: impl Fn(Nanos) -> f64) -> Option<Block> {
    let (first, last) = (bars.first()?, bars.last()?);
    let longest = bars.iter().max_by_key(|bar| bar.to - bar.from)?;
    let length = format::latency(last.to - first.from);
    let stretches = |bar: &Bar| match bar.occupant {
        Occupant::Several { count } => count,
        _ => 1,
    };
    let all = Occupant::Several { count: bars.iter().map(stretches).sum() };
    let title = match (bars, &longest.occupant) {
        ([only], _) => format!("{}, {length}", only.occupant),
        (_, Occupant::Several { .. }) => format!("{all}, {length}"),
        (_, longest) => format!("{all}, most of it {longest}, {length}"),
    };
    Some(Block {
        from: place(first.from),
        to: place(last.to),
        look: Look::of(&longest.occupant),
        name: short_name(&longest.occupant),
        title,
    })
}

/// An occupant's name in its block.
fn short_name(occupant: &Occupant) -> String {
    match occupant {
        Occupant::Thread { thread, .. } => thread.name.clone(),
        Occupant::Vector { vector } => vector.to_string(),
        Occupant::Interrupt { name } => name.clone(),
        Occupant::Softirq { softirq } => softirq.to_string(),
        Occupant::Timer { function } => function.clone(),
        Occupant::HostPause => "host pause".to_owned(),
        Occupant::Idle | Occupant::Probe | Occupant::Several { .. } => occupant.to_string(),
    }
}

/// Marks the due time, the end and the moments between; names are written if they have room.
fn marks(drawing: &mut Drawing, lateness: &Lateness<'_>, frame: &Frame, along: &LinearScale) {
    let y = frame.top + 10.0;
    let end = lateness.end;
    let mut taken = vec![
        (frame.left, frame.left + label::width("due")),
        (frame.right - label::width(end), frame.right),
    ];
    for (x, name, anchor) in [(frame.left, "due", Anchor::Start), (frame.right, end, Anchor::End)] {
        drawing.line("limit", (x, frame.top + 2.0), (x, frame.bottom));
        let inward = if anchor == Anchor::Start { 3.0 } else { -3.0 };
        drawing.text("mark strong", anchor, (x + inward, y), name);
    }
    // Readers look for the wakeup and the switch first.
    let wanted = [Moment::Wakeup, Moment::SwitchedIn, Moment::Irq, Moment::Fault, Moment::Timer];
    for moment in wanted {
        for mark in lateness.marks.iter().filter(|mark| mark.moment == moment) {
            let x = along.at(mark.at.as_nanos() as f64);
            let name = moment_word(moment);
            let half = label::width(name) / 2.0;
            let free =
                taken.iter().all(|(from, to)| x + half + 2.0 < *from || x - half - 2.0 > *to);
            if free {
                taken.push((x - half, x + half));
                drawing.text("mark", Anchor::Middle, (x, y), name);
                drawing.line("nominal", (x, frame.top + NAMES - 3.0), (x, frame.bottom));
            } else {
                drawing.line("axis", (x, frame.top + NAMES - 3.0), (x, frame.top + NAMES + 2.0));
            }
        }
    }
}

fn describe(lateness: &Lateness<'_>) -> String {
    let rows: Vec<String> = lateness
        .lanes
        .iter()
        .filter_map(|lane| {
            let longest = lane.bars.iter().max_by_key(|bar| bar.to - bar.from)?;
            let length = format::latency(longest.to - longest.from);
            Some(format!("CPU {}: longest {} for {length}", lane.cpu, longest.occupant))
        })
        .collect();
    rows.join("; ")
}

/// Draws the key to the blocks.
pub fn key() -> Drawing {
    let half = Look::KEY.len().div_ceil(2);
    let step = LINE + 14.0;
    let mut drawing = Drawing::new(
        "Key to the timelines",
        "Threads fill their row, interrupts and timers its upper part, softirqs its lower part",
        WIDTH,
        26.0 + step * half as f64,
    );
    drawing.text("head", Anchor::Start, (6.0, 15.0), "Key to the timelines");
    for (place, (look, name)) in Look::KEY.into_iter().enumerate() {
        let x = if place < half { 6.0 } else { 210.0 };
        let y = 24.0 + step * (place % half) as f64;
        let (top, bottom) = look.reach();
        drawing.rectangle(&format!("{} block", look.class()), (x, y + top), (24.0, bottom - top));
        drawing.text("mark", Anchor::Start, (x + 30.0, y + 13.5), name);
    }
    drawing
}

#[cfg(test)]
mod tests {
    use tactus_explain::timeline::Timeline;

    use super::*;
    use crate::explanation_fixture;

    fn check(timeline: &Timeline) {
        let lanes: Vec<&Lane> = timeline.lanes.iter().collect();
        let lateness = Lateness {
            end: "user mode",
            head: "1 s late",
            length: timeline.length,
            lanes: &lanes,
            marks: &timeline.marks,
        };
        let svg = panel(&lateness).inline();
        assert!(!svg.contains("NaN") && !svg.contains("inf\""), "{svg}");
        assert!(svg.contains(">due</text>") && svg.contains(">user mode</text>"), "{svg}");
    }

    #[test]
    fn every_golden_timeline_is_drawn_with_finite_places() {
        for cell in explanation_fixture::cells() {
            for explained in &cell.explanation.worst {
                check(explained.timeline.as_ref().unwrap());
            }
        }
    }

    #[test]
    fn a_window_without_length_or_lanes_is_drawn() {
        check(&Timeline { length: Nanos::ZERO, lanes: Vec::new(), marks: Vec::new() });
    }

    #[test]
    fn short_stretches_are_counted_once() {
        let several = |from: u64, to: u64, count: u64| Bar {
            from: Nanos::from_nanos(from),
            to: Nanos::from_nanos(to),
            occupant: Occupant::Several { count },
        };
        let title = |bars: &[Bar]| block(bars, |at| at.as_nanos() as f64).unwrap().title;
        let length = |nanos| format::latency(Nanos::from_nanos(nanos));
        let bars = [several(0, 20, 3), several(20, 30, 2)];
        assert_eq!(title(&bars), format!("5 short stretches, {}", length(30)));
        let probe = Bar { from: Nanos::ZERO, to: Nanos::from_nanos(20), occupant: Occupant::Probe };
        let mixed = [probe, several(20, 30, 2)];
        let expected = format!("3 short stretches, most of it {}, {}", Occupant::Probe, length(30));
        assert_eq!(title(&mixed), expected);
    }

    #[test]
    fn a_thousand_short_stretches_are_few_blocks() {
        let bar = |number: u64| Bar {
            from: Nanos::from_nanos(number * 100),
            to: Nanos::from_nanos(number * 100 + 100),
            occupant: if number.is_multiple_of(2) { Occupant::Idle } else { Occupant::Probe },
        };
        let lane = Lane { cpu: 0, bars: (0..5000).map(bar).collect() };
        let along = LinearScale::new(0.0, 500_000.0, 0.0, 300.0);
        let blocks = blocks(&lane, &along);
        assert!(blocks.len() < 400, "{}", blocks.len());
        assert_eq!(blocks.last().map(|block| block.to), Some(300.0));
    }
}
