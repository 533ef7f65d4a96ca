//! The data about a late sample, and the parts found so far.

use tactus_model::recording::{Dictionary, NameId, ProcessId, ThreadId};
use tactus_model::time::{Instant, Monotonic, Nanos};

use super::{host_pause, interrupts, steal};
use crate::block::Block;
use crate::cause::{Cause, Culprit};
use crate::cpu_use::{CpuUse, Runner};
use crate::explanation::Part;
use crate::log::Excerpt;
use crate::machine::{Machine, Slice};

/// The state of the replay at the moment when a window is closed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scene<'a> {
    pub(crate) log: Excerpt<'a>,
    pub(crate) machine: &'a Machine,
    pub(crate) names: &'a Dictionary,
    /// The process of the late thread, if others with its name are to be distinguished from it.
    pub(crate) late: Option<ProcessId>,
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
        let closed = self.log.since(from).slices(cpu).iter().copied();
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

    /// The pauses of the whole machine between two instants, in order.
    pub(crate) fn pauses(&self, from: Instant<Monotonic>, to: Instant<Monotonic>) -> Vec<Stretch> {
        host_pause::find(self, from, to)
    }

    /// The thread of a slice, with its name.
    pub(crate) fn culprit(&self, slice: &Slice) -> Culprit {
        self.ran(Runner::of(slice))
    }

    /// A thread that ran, with its last name. Its slice has the name that it had when it came to the CPU; a
    /// program that another one executed may run for long before the next switch shows its own.
    fn ran(&self, Runner { thread, name, priority, base }: Runner) -> Culprit {
        if name == NameId::UNKNOWN {
            return self.culprit_by_number(thread);
        }
        let name = match self.machine.known(thread).0 {
            NameId::UNKNOWN => name,
            last => last,
        };
        Culprit {
            name: self.names.name(name).to_owned(),
            process: super::process(thread, name, self.late, self.machine, self.names),
            thread: Some(thread),
            priority,
            base,
            or_higher: false,
        }
    }

    /// Whether a thread ran only because of the recording.
    fn is_observer(&self, thread: ThreadId) -> bool {
        self.machine.observers().include(thread, self.names)
    }

    /// A thread known only by its number.
    pub(crate) fn culprit_by_number(&self, thread: ThreadId) -> Culprit {
        super::culprit(thread, self.late, self.machine, self.names)
    }
}

/// A late sample: what is known about it, and the parts found so far.
///
/// Most of a long wait is time in which other threads ran and interrupts were served. It is added
/// up by numbers; names are looked up only when all is found.
#[derive(Debug)]
pub(crate) struct Case<'a> {
    pub(crate) scene: &'a Scene<'a>,
    pauses: Vec<Stretch>,
    parts: Vec<Part>,
    /// The time in which the scheduler let other threads run, and CPUs served interrupts.
    sums: CpuUse,
}

impl<'a> Case<'a> {
    pub(crate) fn new(
        scene: &'a Scene<'a>,
        due: Instant<Monotonic>,
        came: Instant<Monotonic>,
    ) -> Self {
        Self {
            scene,
            pauses: host_pause::find(scene, due, came),
            parts: Vec::new(),
            sums: CpuUse::default(),
        }
    }

    /// Adds time to a cause.
    pub(crate) fn add(&mut self, cause: Cause, time: Nanos) {
        if time == Nanos::ZERO {
            return;
        }
        let cause = cause.with_observers(|thread| self.scene.is_observer(thread));
        add(&mut self.parts, cause, time);
    }

    /// Adds what a CPU did in a block to the causes of an ordinary thread's wait.
    pub(crate) fn add_block(&mut self, block: &Block) {
        for &(runner, time) in &block.ran {
            self.sums.add_runner(runner, time);
        }
        for &(cpu, activity, time) in &block.served {
            self.sums.add_served(cpu, activity, time);
        }
        self.add(Cause::Switch, block.switching);
    }

    /// Whether the host may have taken a CPU away between two instants.
    pub(crate) fn is_disturbed(
        &self,
        cpu: u32,
        from: Instant<Monotonic>,
        to: Instant<Monotonic>,
    ) -> bool {
        self.pauses.iter().any(|pause| pause.0 < to && pause.1 > from)
            || !steal::stretches(self.scene, cpu, from, to).is_empty()
    }

    /// Gives every piece of a CPU's stretch a cause: first host pauses and steal time,
    /// then interrupts; `rest` decides for the remaining slices, and blames the thread that ran if
    /// it returns `None`.
    pub(crate) fn spread(
        &mut self,
        cpu: u32,
        from: Instant<Monotonic>,
        to: Instant<Monotonic>,
        rest: impl Fn(&Piece, &Slice) -> Option<Cause>,
    ) {
        let pieces = self.scene.pieces(cpu, from, to);
        self.spread_pieces(cpu, &pieces, |_, piece, slice| rest(piece, slice));
    }

    /// Gives every one of these pieces of a CPU's stretch, which follow each other, a cause. `rest`
    /// gets the number of a piece and the part of it to decide about.
    pub(crate) fn spread_pieces(
        &mut self,
        cpu: u32,
        pieces: &[Piece],
        rest: impl Fn(usize, &Piece, &Slice) -> Option<Cause>,
    ) {
        let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else { return };
        let stolen = steal::stretches(self.scene, cpu, first.from, last.to);
        if self.pauses.is_empty() && stolen.is_empty() {
            for (here, piece) in pieces.iter().enumerate() {
                self.take(piece, |piece, slice| rest(here, piece, slice));
            }
            return;
        }
        for (here, piece) in pieces.iter().enumerate() {
            let rest = |part: &Piece, slice: &Slice| rest(here, part, slice);
            let mut paused = Nanos::ZERO;
            for part in carve((piece.from, piece.to), &self.pauses) {
                match part {
                    Carved::Inside(inside) => paused = paused + (inside.1 - inside.0),
                    Carved::Outside(outside) => {
                        self.spread_unpaused(cpu, outside, piece, &stolen, rest);
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
        rest: impl Fn(&Piece, &Slice) -> Option<Cause>,
    ) {
        for part in carve(stretch, stolen) {
            match part {
                Carved::Inside((from, to)) => self.add(Cause::Steal { cpu }, to - from),
                Carved::Outside((from, to)) => {
                    self.take(&Piece { from, to, slice: piece.slice }, &rest);
                }
            }
        }
    }

    /// Takes a piece in which the host did not interfere.
    fn take(&mut self, piece: &Piece, rest: impl Fn(&Piece, &Slice) -> Option<Cause>) {
        let time = piece.length();
        match &piece.slice {
            None => self.add(Cause::UnexplainedGap, time),
            Some(slice) if interrupts::is_one(slice.activity) => {
                self.sums.add_served(slice.cpu, slice.activity, time);
            }
            Some(slice) => match rest(piece, slice) {
                Some(cause) => self.add(cause, time),
                None => self.sums.add_runner(Runner::of(slice), time),
            },
        }
    }

    /// The parts, the greatest first.
    pub(crate) fn into_parts(self) -> Vec<Part> {
        let runners = self.sums.ran().to_vec();
        self.named(runners, |cause| cause)
    }

    /// The parts by name, see [`Cause::by_name`], the greatest first.
    ///
    /// A wait among hundreds of threads of one program has few of them. They are found without a
    /// name for each thread.
    pub(crate) fn into_parts_by_name(self) -> Vec<Part> {
        let mut groups: Vec<(GroupKey, Runner, Nanos)> = Vec::new();
        for &(runner, time) in self.sums.ran() {
            let key = GroupKey::of(runner, self.scene);
            match groups.iter_mut().find(|(other, ..)| *other == key) {
                Some((.., sum)) => *sum = *sum + time,
                None => groups.push((key, runner, time)),
            }
        }
        let runners = groups.into_iter().map(|(_, runner, time)| (runner, time)).collect();
        self.named(runners, |cause| cause.by_name())
    }

    fn named(self, runners: Vec<(Runner, Nanos)>, called: fn(Cause) -> Cause) -> Vec<Part> {
        let Self { scene, parts: found, sums, .. } = self;
        let mut parts = Vec::with_capacity(found.len() + sums.served().len() + runners.len());
        for Part { cause, time } in found {
            add(&mut parts, called(cause), time);
        }
        for (cpu, activity, time) in sums.served() {
            if let Some(cause) = interrupts::cause(*cpu, *activity, scene.names) {
                add(&mut parts, cause, *time);
            }
        }
        for (runner, time) in runners {
            let cause = Cause::OtherThread { thread: scene.ran(runner) };
            let cause = cause.with_observers(|thread| scene.is_observer(thread));
            add(&mut parts, called(cause), time);
        }
        parts.sort_by(|a, b| b.time.cmp(&a.time).then_with(|| a.cause.cmp(&b.cause)));
        parts
    }
}

/// What the threads of one name have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct GroupKey {
    process: Option<ProcessId>,
    /// Without its number, if that adds nothing.
    runner: Runner,
}

impl GroupKey {
    fn of(runner: Runner, scene: &Scene<'_>) -> Self {
        let observers = &scene.machine.observers().threads;
        // Its number leads to its name, or says that it observes.
        let thread = match runner.name == NameId::UNKNOWN || observers.contains(&runner.thread) {
            true => runner.thread,
            false => ThreadId::IDLE,
        };
        let process = scene.names.process_of(runner.thread);
        Self { process, runner: Runner { thread, ..runner } }
    }
}

fn add(parts: &mut Vec<Part>, cause: Cause, time: Nanos) {
    match parts.iter_mut().find(|part| part.cause == cause) {
        Some(part) => part.time = part.time + time,
        None => parts.push(Part { cause, time }),
    }
}

/// A part of a stretch, after it was cut at other stretches.
pub(crate) enum Carved {
    /// It lies in one of them.
    Inside(Stretch),
    /// It lies in none.
    Outside(Stretch),
}

/// Cuts a stretch at the edges of `others`, which are in order and do not overlap.
pub(crate) fn carve(stretch: Stretch, others: &[Stretch]) -> Vec<Carved> {
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
