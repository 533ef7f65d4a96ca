//! The data about a late sample, and the parts found so far.

use tactus_model::recording::{Dictionary, NameId, ThreadId};
use tactus_model::time::{Instant, Monotonic, Nanos};

use super::{host_pause, interrupts, steal};
use crate::cause::{Cause, Culprit};
use crate::explanation::Part;
use crate::log::Excerpt;
use crate::machine::{Machine, Slice};

/// The state of the replay at the moment when a window is closed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scene<'a> {
    pub(crate) log: Excerpt<'a>,
    pub(crate) machine: &'a Machine,
    pub(crate) names: &'a Dictionary,
}

/// A stretch of a CPU's time and the slice that covers it, if any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) from: Instant<Monotonic>,
    pub(crate) to: Instant<Monotonic>,
    pub(crate) slice: Option<Slice>,
}

impl Piece {
    pub(crate) fn length(&self) -> Nanos {
        self.to - self.from
    }
}

/// A stretch of time.
pub(crate) type Stretch = (Instant<Monotonic>, Instant<Monotonic>);

impl Scene<'_> {
    /// What `cpu` did between two instants: pieces without gaps or overlaps.
    pub(crate) fn pieces(
        &self,
        cpu: u32,
        from: Instant<Monotonic>,
        to: Instant<Monotonic>,
    ) -> Vec<Piece> {
        let slices = self.log.slices;
        let start = slices.partition_point(|slice| slice.to <= from);
        let closed = slices[start..].iter().copied().filter(|slice| slice.cpu == cpu);
        let open = self
            .machine
            .cpus()
            .get(cpu as usize)
            .and_then(|state| state.open_slice(cpu, Instant::from_nanos(u64::MAX)));
        let mut pieces = Vec::new();
        let mut reached = from;
        for slice in closed.chain(open) {
            if slice.from >= to {
                break;
            }
            if slice.from > reached {
                pieces.push(Piece { from: reached, to: slice.from, slice: None });
                reached = slice.from;
            }
            let until = slice.to.min(to);
            if until > reached {
                pieces.push(Piece { from: reached, to: until, slice: Some(slice) });
                reached = until;
            }
        }
        if reached < to {
            pieces.push(Piece { from: reached, to, slice: None });
        }
        pieces
    }

    /// The thread of a slice, with its name.
    pub(crate) fn culprit(&self, slice: &Slice) -> Culprit {
        if slice.name == NameId::UNKNOWN {
            return self.culprit_by_number(slice.thread);
        }
        Culprit {
            name: self.names.name(slice.name).to_owned(),
            process: super::process(slice.thread, slice.name, self.machine, self.names),
            thread: Some(slice.thread),
            priority: slice.priority,
            base: slice.base,
            or_higher: false,
        }
    }

    /// A thread known only by its number.
    pub(crate) fn culprit_by_number(&self, thread: ThreadId) -> Culprit {
        super::culprit(thread, self.machine, self.names)
    }
}

/// A late sample: what is known about it, and the parts found so far.
#[derive(Debug)]
pub(crate) struct Case<'a> {
    pub(crate) scene: &'a Scene<'a>,
    pauses: Vec<Stretch>,
    parts: Vec<Part>,
}

impl<'a> Case<'a> {
    pub(crate) fn new(
        scene: &'a Scene<'a>,
        due: Instant<Monotonic>,
        came: Instant<Monotonic>,
    ) -> Self {
        Self { scene, pauses: host_pause::find(scene, due, came), parts: Vec::new() }
    }

    /// Adds time to a cause.
    pub(crate) fn add(&mut self, cause: Cause, time: Nanos) {
        if time == Nanos::ZERO {
            return;
        }
        let Scene { machine, names, .. } = self.scene;
        let cause = cause.with_observers(|thread| machine.observers().include(thread, names));
        match self.parts.iter_mut().find(|part| part.cause == cause) {
            Some(part) => part.time = part.time + time,
            None => self.parts.push(Part { cause, time }),
        }
    }

    /// Gives every piece of a CPU's stretch a cause: first host pauses and steal time,
    /// then interrupts; `rest` decides for the remaining slices.
    pub(crate) fn spread(
        &mut self,
        cpu: u32,
        from: Instant<Monotonic>,
        to: Instant<Monotonic>,
        rest: impl Fn(&Piece, &Slice) -> Cause,
    ) {
        let stolen = steal::stretches(self.scene, cpu, from, to);
        for piece in self.scene.pieces(cpu, from, to) {
            let mut paused = Nanos::ZERO;
            for part in carve((piece.from, piece.to), &self.pauses) {
                match part {
                    Carved::Inside(inside) => paused = paused + (inside.1 - inside.0),
                    Carved::Outside(outside) => {
                        self.spread_unpaused(cpu, outside, &piece, &stolen, &rest);
                    }
                }
            }
            self.add(Cause::HostPause, paused);
        }
    }

    fn spread_unpaused(
        &mut self,
        cpu: u32,
        stretch: Stretch,
        piece: &Piece,
        stolen: &[Stretch],
        rest: impl Fn(&Piece, &Slice) -> Cause,
    ) {
        for part in carve(stretch, stolen) {
            match part {
                Carved::Inside((from, to)) => self.add(Cause::Steal { cpu }, to - from),
                Carved::Outside((from, to)) => {
                    let piece = Piece { from, to, slice: piece.slice };
                    let cause = match &piece.slice {
                        None => Cause::UnexplainedGap,
                        Some(slice) => interrupts::cause(slice, self.scene.names)
                            .unwrap_or_else(|| rest(&piece, slice)),
                    };
                    self.add(cause, to - from);
                }
            }
        }
    }

    /// The parts, the greatest first.
    pub(crate) fn into_parts(self) -> Vec<Part> {
        let mut parts = self.parts;
        parts.sort_by(|a, b| b.time.cmp(&a.time).then_with(|| a.cause.cmp(&b.cause)));
        parts
    }
}

/// A part of a stretch, after it was cut at other stretches.
enum Carved {
    Inside(Stretch),
    Outside(Stretch),
}

/// Cuts a stretch at the edges of `others`, which are in order and do not overlap.
fn carve(stretch: Stretch, others: &[Stretch]) -> Vec<Carved> {
    let (mut reached, end) = stretch;
    let mut parts = Vec::with_capacity(1);
    for &(from, to) in others {
        let (from, to) = (from.max(reached), to.min(end));
        if from >= to {
            continue;
        }
        if from > reached {
            parts.push(Carved::Outside((reached, from)));
        }
        parts.push(Carved::Inside((from, to)));
        reached = to;
    }
    if reached < end {
        parts.push(Carved::Outside((reached, end)));
    }
    parts
}
