//! Why a runnable thread did not run.

use tactus_model::recording::{Priority, ThreadId};
use tactus_model::time::{Instant, Monotonic, Nanos};

use super::case::{Case, Piece, Scene};
use super::late_interrupt::idle_exit;
use super::site::{Interrupted, gave_way, interrupted_thread};
use super::throttling;
use crate::block::{Block, SWITCH_MAX};
use crate::cause::{Cause, Hold};
use crate::machine::{Absence, Slice, Waker};

/// How long a wakeup of another CPU may take to arrive, an IRQ-off section there included.
const ARRIVAL_MAX: Nanos = Nanos::from_millis(1);

/// Divides the time in which the thread of `absence` was runnable and did not run.
pub(super) fn wait(
    case: &mut Case<'_>,
    absence: &Absence,
    from: Instant<Monotonic>,
    to: Instant<Monotonic>,
) {
    for queue in queues(case.scene, absence, from, to) {
        wait_on(case, absence, &queue);
    }
}

/// The time on one CPU's runqueue.
#[derive(Clone, Copy)]
struct Queue {
    cpu: u32,
    from: Instant<Monotonic>,
    to: Instant<Monotonic>,
    /// Whether it ended because the thread moved to another queue.
    moved: bool,
}

/// The runqueues on which the thread waited, in the order of time.
fn queues(
    scene: &Scene<'_>,
    absence: &Absence,
    from: Instant<Monotonic>,
    to: Instant<Monotonic>,
) -> Vec<Queue> {
    let (queued_at, mut cpu) = match absence.queued {
        Some((at, cpu)) => (at, cpu),
        None if absence.slept() => (from, absence.back_cpu),
        None => (from, absence.left_cpu),
    };
    let mut queues = Vec::with_capacity(1);
    let mut reached = from;
    for migration in scene.log.between(from, to).migrations(absence.thread) {
        // Migrations before the thread was queued are the wakeup's own choice of a CPU.
        if migration.at < queued_at || migration.at <= reached || migration.at >= to {
            continue;
        }
        queues.push(Queue { cpu, from: reached, to: migration.at, moved: true });
        reached = migration.at;
        cpu = migration.to_cpu;
    }
    queues.push(Queue { cpu, from: reached, to, moved: false });
    queues
}

/// Divides the time on a runqueue: by blocks where they say all about it, otherwise by slices.
fn wait_on(case: &mut Case<'_>, absence: &Absence, queue: &Queue) {
    let scene = case.scene;
    let waiter = Waiter::of(absence, queue.cpu, queue.from);
    let mut rest = *queue;
    for block in blocks(scene, &waiter, queue) {
        if block.has(waiter.thread) || case.is_disturbed(queue.cpu, block.from, block.to) {
            continue;
        }
        wait_by_slices(case, absence, &waiter, &Queue { to: block.from, ..rest });
        case.add_block(block);
        rest.from = block.to;
    }
    wait_by_slices(case, absence, &waiter, &rest);
}

/// The blocks within the time on a runqueue; none if the waiter may have been throttled in it, or
/// outranks ordinary threads.
fn blocks<'a>(scene: &Scene<'a>, waiter: &Waiter, queue: &Queue) -> &'a [Block] {
    let log = scene.log.between(queue.from, queue.to);
    match log.blocks(queue.cpu) {
        [] => &[],
        _ if throttling::may_be(scene, waiter, queue.from, queue.to) => &[],
        blocks => blocks,
    }
}

/// Divides a stretch of the time on a runqueue, whose slices are whole turns but at the ends of the
/// time.
fn wait_by_slices(case: &mut Case<'_>, absence: &Absence, waiter: &Waiter, queue: &Queue) {
    if queue.from >= queue.to {
        return;
    }
    let scene = case.scene;
    let Queue { cpu, from, to, moved } = *queue;
    let pieces = scene.pieces(cpu, from, to);
    let throttled = throttling::find(scene, waiter, &pieces);
    let sections = sections(scene, absence, waiter, &pieces);
    case.spread_pieces(cpu, &pieces, |within, piece, slice| {
        if let Some(rule) = throttled.get(within).copied().flatten() {
            return Some(Cause::Throttling { rule });
        }
        if slice.activity.is_idle() {
            return Some(match absence.back_at_min {
                Some(_) => Cause::MissingSwitch { cpu },
                None => idle_exit(piece, slice),
            });
        }
        if slice.thread == absence.thread {
            return Some(Cause::Switch);
        }
        if moved && is_stopper(scene, slice) {
            return Some(Cause::Moved);
        }
        if throttling::is_of_higher_rank(scene, waiter, &pieces[within..]) {
            let thread = scene.culprit(slice).of_rank(waiter.priority);
            return Some(Cause::OtherThread { thread });
        }
        if !waiter.had_asked(slice) {
            return None;
        }
        let section = section_of(&sections, slice);
        Some(match section {
            Some(section) if section.time > SWITCH_MAX => Cause::KernelSection {
                thread: scene.culprit(slice),
                hold: Hold::Preemption,
                site: section.site.clone(),
            },
            _ => Cause::Switch,
        })
    });
}

/// The thread that waits.
pub(super) struct Waiter {
    pub(super) thread: ThreadId,
    pub(super) priority: Priority,
    since: Instant<Monotonic>,
    /// Since when it was surely in the queue; `None` if that was not recorded.
    pub(super) queued: Option<Instant<Monotonic>>,
    /// Since when its CPU surely knows that: a wakeup of another CPU takes a moment to arrive.
    pub(super) noticed: Option<Instant<Monotonic>>,
}

impl Waiter {
    /// The thread of `absence`, which waits on the queue of `cpu` since `since`.
    fn of(absence: &Absence, cpu: u32, since: Instant<Monotonic>) -> Self {
        let queued = match absence.queued {
            Some((at, _)) => Some(at.max(since)),
            None => (!absence.slept()).then_some(since),
        };
        let is_local = absence.waking.is_none_or(|waking| waking.cpu == cpu);
        let noticed = queued.map(|queued| if is_local { queued } else { queued + ARRIVAL_MAX });
        Self { thread: absence.thread, priority: absence.priority, since, queued, noticed }
    }

    /// Whether the scheduler must prefer the waiter to the thread of a slice.
    pub(super) fn outranks(&self, slice: &Slice) -> bool {
        !self.priority.is_ordinary() && self.priority < slice.priority
    }

    /// Whether the thread of a slice had been asked to reschedule for the waiter.
    ///
    /// The flags of an event in its time show it. Without an event, it is also known
    /// for a thread that was already running when a thread with a higher rank became
    /// runnable: the wakeup sets the flag at once (`wakeup_preempt` in
    /// `kernel/sched/core.c`).
    fn had_asked(&self, slice: &Slice) -> bool {
        slice.need_resched || (self.outranks(slice) && slice.thread_since <= self.since)
    }
}

/// The turn of a thread after it was asked to reschedule.
struct Section {
    thread: ThreadId,
    since: Instant<Monotonic>,
    time: Nanos,
    site: Option<String>,
}

impl Section {
    fn is_of(&self, slice: &Slice) -> bool {
        self.thread == slice.thread && self.since == slice.thread_since
    }
}

/// The turn that contains a slice; `sections` are in the order of time.
fn section_of<'s>(sections: &'s [Section], slice: &Slice) -> Option<&'s Section> {
    let begun = sections.partition_point(|section| section.since <= slice.thread_since);
    let latest = sections[..begun].iter().rev();
    let mut as_old = latest.take_while(|section| section.since == slice.thread_since);
    as_old.find(|section| section.is_of(slice))
}

/// The turns of threads that had been asked to reschedule, in the order of time, with
/// their total time and their place in the kernel.
///
/// The place is where an interrupt found the thread, preferably the interrupt that woke
/// the waiter; otherwise where the thread finally rescheduled.
fn sections(
    scene: &Scene<'_>,
    absence: &Absence,
    waiter: &Waiter,
    pieces: &[Piece],
) -> Vec<Section> {
    let at_wakeup = match absence.waking.map(|waking| waking.by) {
        Some(Waker::Timer(fire)) => interrupted_thread(fire.irq_chain, scene.names),
        _ => Interrupted::Unknown,
    };
    let mut sections: Vec<Section> = Vec::new();
    for piece in pieces {
        let Some(slice) = &piece.slice else { continue };
        if !slice.activity.is_thread() || !waiter.had_asked(slice) {
            continue;
        }
        // The pieces of a turn follow each other.
        let last = sections.len().checked_sub(1);
        let position = last.filter(|last| sections[*last].is_of(slice));
        let section = match position {
            Some(position) => &mut sections[position],
            None => {
                let site = match &at_wakeup {
                    Interrupted::Kernel(site) if slice.thread_since <= waiter.since => {
                        Some(site.clone())
                    }
                    _ => None,
                };
                let (thread, since) = (slice.thread, slice.thread_since);
                sections.push(Section { thread, since, time: Nanos::ZERO, site });
                let last = sections.len() - 1;
                &mut sections[last]
            }
        };
        section.time = section.time + piece.length();
        if section.site.is_none() {
            section.site = match interrupted_thread(slice.end_chain, scene.names) {
                Interrupted::Kernel(site) => Some(site),
                _ => gave_way(slice.end_chain, scene.names),
            };
        }
    }
    sections
}

/// Whether a slice belongs to the kernel's stopper thread, which goes before every
/// other class and reports a real-time priority (`kernel/stop_machine.c`). An ordinary thread with
/// its name is another program's.
pub(super) fn is_stopper(scene: &Scene<'_>, slice: &Slice) -> bool {
    !slice.priority.is_ordinary() && scene.names.name(slice.name).starts_with("migration/")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tactus_model::recording::{About, Dictionary, InterruptVector, Softirq, TaskState};

    use super::*;
    use crate::log::Log;
    use crate::machine::{Activity, Errand, Machine, Migration, Observer, Silence, Steal};

    /// The stretches in a turn of a thread: what the CPU does, and for how long, in ns.
    type Turn = (i32, Vec<(u8, u64)>);

    fn at(nanos: u64) -> Instant<Monotonic> {
        Instant::from_nanos(nanos)
    }

    fn turns() -> impl Strategy<Value = Vec<Turn>> {
        let stretches = prop::collection::vec((0..8_u8, 1..15_000_u64), 1..6);
        // Few threads are special, so that there are blocks.
        let thread = prop_oneof![400 => 1..6_i32, 1 => 6..8_i32, 1 => Just(0)];
        prop::collection::vec((thread, stretches), 200..400)
    }

    /// Logs the turns of CPU 0. Thread 0 is idle, 6 is the stopper, 7 a real-time thread.
    fn log(turns: &[Turn], names: &mut Dictionary) -> (Log, u64) {
        let mut log = Log::opened(&about());
        let mut now = 0;
        for (thread, stretches) in turns {
            let name = match thread {
                6 => names.intern("migration/0"),
                _ => names.intern(["a", "b"][*thread as usize % 2]),
            };
            let since = at(now);
            for (kind, length) in stretches {
                let (from, to) = (at(now), at(now + length));
                now += length;
                let activity = match kind {
                    0 => Activity::Softirq(Softirq::TIMER),
                    1 => Activity::Vector(InterruptVector::LocalTimer),
                    _ if *thread == 0 => Activity::Idle { state: None },
                    _ => Activity::Thread,
                };
                log.slice(Slice {
                    cpu: 0,
                    from,
                    to,
                    activity,
                    thread: ThreadId(*thread),
                    name,
                    priority: Priority(if *thread >= 6 { 10 } else { 120 }),
                    base: None,
                    thread_since: since,
                    need_resched: *kind == 7,
                    end_chain: None,
                });
            }
        }
        (log, now)
    }

    fn absence(thread: i32, from: u64, to: u64) -> Absence {
        Absence {
            thread: ThreadId(thread),
            priority: Priority(120),
            watched: None,
            left_at: at(from),
            left_cpu: 0,
            left_state: TaskState::PREEMPTED,
            left_chain: None,
            errand: Errand::NONE,
            waking: None,
            queued: None,
            back_at: at(to),
            back_cpu: 0,
            back_at_min: None,
        }
    }

    fn about() -> About {
        About::new(at(0), [0].into_iter().collect())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn blocks_give_the_same_causes_as_their_slices(
            turns in turns(),
            waiter in 1..9_i32,
            ends in (0..=1000_u64, 0..=1000_u64),
            steal in prop::option::of((0..900_u64, 1..100_u64)),
            moved in prop::option::of(0..1000_u64),
        ) {
            let mut names = Dictionary::new();
            let (mut log, length) = log(&turns, &mut names);
            let instant = |part: u64| length * part / 1000;
            let (from, to) = (instant(ends.0.min(ends.1)), instant(ends.0.max(ends.1)));
            if let Some((part, long)) = steal {
                let (from, to) = (at(instant(part)), at(instant(part + long)));
                log.silence(Silence { cpu: 0, from, to });
                log.steal(Steal { cpu: 0, thread: ThreadId(1), from, to, amount: Nanos::from_micros(20) });
            }
            if let Some(part) = moved {
                let migration = Migration { at: at(instant(part)), thread: ThreadId(waiter), to_cpu: 0 };
                log.migration(migration);
            }
            prop_assert!(log.whole().blocks(0).len() > 1);
            let machine = Machine::new(&about());
            let scene = Scene { log: log.whole(), machine: &machine, names: &names, late: None };
            let absence = absence(waiter, from, to);
            let (from, to) = (at(from), at(to));
            let mut by_blocks = Case::new(&scene, from, to);
            wait(&mut by_blocks, &absence, from, to);
            let mut by_slices = Case::new(&scene, from, to);
            for queue in queues(&scene, &absence, from, to) {
                let waiter = Waiter::of(&absence, queue.cpu, queue.from);
                wait_by_slices(&mut by_slices, &absence, &waiter, &queue);
            }
            let parts = by_blocks.into_parts();
            prop_assert_eq!(parts.iter().map(|part| part.time).sum::<Nanos>(), to - from);
            prop_assert_eq!(parts, by_slices.into_parts());
        }
    }
}
