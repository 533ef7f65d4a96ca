//! Where the scheduler withheld a CPU from a runnable thread.
//!
//! No event reports throttling. It shows in what the CPU does meanwhile: a runnable thread is
//! in the queue of its CPU, so the kernel asks an idle or lower-ranked thread at once to
//! reschedule, and chooses neither. Where events show that it did not ask, or chose one, the
//! thread was not in the queue: its class or its control group had used up its runtime.

use std::collections::BTreeMap;

use tactus_model::recording::{FunctionId, PriorityClass, ThreadId};
use tactus_model::time::{Instant, Monotonic, Nanos};

use super::case::{Piece, Scene};
use super::waiting::Waiter;
use crate::cause::Throttle;
use crate::machine::{Activity, Slice};
use crate::symbol::source_name;

/// How many ticks in a row may find an ordinary thread running and not ask it to reschedule while
/// another ordinary thread waits.
///
/// A tick asks a thread that has used up its slice, up to 3 ms, if another thread is in the queue
/// (`update_curr` in `kernel/sched/fair.c`): the fourth tick at the latest, with 1000 ticks a
/// second.
const UNASKED_TICKS: usize = 4;

/// How often the kernel may choose a thread again that it asked to reschedule because its slice
/// was used up, while another thread with the same weight waits.
///
/// The weight of a control group is not recorded, and the scheduler is fair only over a longer
/// time, so this alone proves nothing. It counts for a thread whose group was throttled before.
const CHOSEN_AGAIN: usize = 2;

/// How long a thread runs before a queued real-time thread only if that one is throttled: longer
/// than any wakeup takes to arrive, shorter than a share of ordinary threads (50 ms).
const LONG_TURN: Nanos = Nanos::from_millis(1);

/// The timers that renew the runtime of control groups (`kernel/sched/fair.c`).
const RENEWALS: [&str; 2] = ["sched_cfs_period_timer", "sched_cfs_slack_timer"];

/// The rule by which the waiter was throttled in each of the `pieces` of its CPU's time, which
/// follow each other; `None` where it was not, as far as events show.
pub(super) fn find(scene: &Scene<'_>, waiter: &Waiter, pieces: &[Piece]) -> Vec<Option<Throttle>> {
    let period_ends = match waiter.priority.class() {
        PriorityClass::Realtime(_) => served(scene, pieces, &["sched_rt_period_timer"]),
        _ => Vec::new(),
    };
    let withheld = |here: usize| withheld(scene, waiter, &pieces[here..], &period_ends);
    let mut rules: Vec<Option<Throttle>> = (0..pieces.len()).map(withheld).collect();
    // An event proves what holds since the event before.
    for here in (1..pieces.len()).rev() {
        if rules[here].is_some()
            && let (Some(before), Some(after)) = (&pieces[here - 1].slice, &pieces[here].slice)
            && waiter.passed_over(scene, before)
            && is_same_turn(before, after)
        {
            rules[here - 1] = rules[here];
        }
    }
    if waiter.priority.is_ordinary() {
        add_quota(scene, waiter, pieces, &mut rules);
    }
    rules
}

impl Waiter {
    /// Whether a CPU that runs this slice must be asked to reschedule while the waiter is in its
    /// queue, and was not.
    fn passed_over(&self, scene: &Scene<'_>, slice: &Slice) -> bool {
        !slice.need_resched
            && (slice.thread.is_idle() || self.outranks(slice))
            && !super::waiting::is_stopper(scene, slice)
    }
}

/// The rule by which the waiter was throttled when the first of these pieces began, if an event
/// shows that it was.
///
/// A wakeup of another CPU takes a moment to arrive, and a slice in that moment looks as if a
/// real-time thread were throttled. Real-time throttling lasts until the timer of its period
/// expires (`sched_rt_period_timer` in `kernel/sched/rt.c`), and since Linux 6.12 an ordinary
/// thread runs meanwhile; so without one of the `period_ends`, only a long turn of a thread shows
/// it.
fn withheld(
    scene: &Scene<'_>,
    waiter: &Waiter,
    pieces: &[Piece],
    period_ends: &[Instant<Monotonic>],
) -> Option<Throttle> {
    let (slice, queued) = (pieces[0].slice.as_ref()?, waiter.queued?);
    if slice.from < queued || !waiter.passed_over(scene, slice) {
        return None;
    }
    match waiter.priority.class() {
        PriorityClass::Deadline => Some(Throttle::Deadline),
        PriorityClass::Ordinary { .. } => Some(Throttle::Cgroup),
        PriorityClass::Realtime(_) if is_served(scene, waiter, slice) => Some(Throttle::FairServer),
        PriorityClass::Realtime(_) => {
            let is_ended = period_ends.last().is_some_and(|end| slice.from <= *end);
            let is_long = || !slice.thread.is_idle() && is_long_turn(pieces, slice, queued);
            (is_ended || is_long()).then_some(Throttle::Realtime)
        }
    }
}

/// Whether the turn of `slice`, the first of these pieces, takes [`LONG_TURN`] since `queued`.
fn is_long_turn(pieces: &[Piece], slice: &Slice, queued: Instant<Monotonic>) -> bool {
    let since = slice.thread_since.max(queued);
    let is_of_turn =
        |piece: &&Piece| piece.slice.as_ref().is_some_and(|other| is_same_turn(other, slice));
    let mut turn = pieces.iter().take_while(is_of_turn);
    turn.any(|piece| piece.to - since >= LONG_TURN)
}

/// Whether the fair server let the thread of a slice run: its timer expired on this CPU since the
/// last thread that the waiter does not outrank began its turn.
fn is_served(scene: &Scene<'_>, waiter: &Waiter, slice: &Slice) -> bool {
    let mut before =
        scene.log.between(Instant::from_nanos(0), slice.from).slices(slice.cpu).iter().rev();
    let mut turn = None;
    before
        .by_ref()
        .take_while(|other| match turn {
            Some(since) => other.thread_since == since,
            None => {
                if !other.thread.is_idle() && !waiter.outranks(other) {
                    turn = Some(other.thread_since);
                }
                true
            }
        })
        .any(|other| is_timer(scene, other, &["dl_task_timer"]))
}

/// Finds throttling by the quota of a control group in the time of an ordinary thread.
///
/// The group is throttled when one of its threads has used up the quota, until the quota is
/// renewed. Therefore the time is cut at renewals and at turns of the group's threads, and in each
/// stretch the waiter was throttled always or never.
fn add_quota(scene: &Scene<'_>, waiter: &Waiter, pieces: &[Piece], rules: &mut [Option<Throttle>]) {
    let renewals = served(scene, pieces, &RENEWALS);
    // Without a renewal, only what is shown already counts.
    if renewals.is_empty() && rules.iter().all(Option::is_none) {
        return;
    }
    let mut start = 0;
    for (here, piece) in pieces.iter().enumerate() {
        let of_group = is_of_group(scene, waiter, &pieces[here..]);
        let end = here + usize::from(!of_group);
        let later = renewals.partition_point(|renewal| *renewal <= piece.from);
        let renewed = renewals.get(later).is_some_and(|renewal| *renewal <= piece.to);
        if !(renewed || of_group || end == pieces.len()) {
            continue;
        }
        let (stretch, found) = (&pieces[start..end], &mut rules[start..end]);
        let shown = found.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        let throttled =
            match renewed && !of_group && (shown > 0 || is_passed_over(scene, waiter, stretch)) {
                true => stretch.len(),
                false => shown,
            };
        found[..throttled].fill(Some(Throttle::Cgroup));
        start = here + 1;
    }
}

/// Whether the first of these pieces belongs to a thread of the waiter's control group, as far as
/// is known: a thread of its process, or a thread that was throttled itself, since it left
/// runnable and the CPU became idle.
fn is_of_group(scene: &Scene<'_>, waiter: &Waiter, pieces: &[Piece]) -> bool {
    let Some(slice) = &pieces[0].slice else { return false };
    if slice.thread.is_idle() || !slice.priority.is_ordinary() {
        return false;
    }
    let process = scene.names.process_of(waiter.thread);
    if process.is_some() && scene.names.process_of(slice.thread) == process {
        return true;
    }
    let mut after = pieces.iter().map_while(|piece| piece.slice.as_ref());
    let next = after.find(|next| !is_same_turn(next, slice));
    next.is_some_and(|next| next.thread.is_idle() && !has_slept(scene, slice.thread, next.from))
}

/// Whether a thread that left its CPU at `left` went to sleep.
fn has_slept(scene: &Scene<'_>, thread: ThreadId, left: Instant<Monotonic>) -> bool {
    let over = scene.log.since(left).absences(thread).iter();
    over.chain(scene.machine.absence_of(thread))
        .find(|absence| absence.left_at == left)
        .is_none_or(|absence| absence.slept())
}

/// Whether the scheduler would have chosen an ordinary waiter in a stretch: it did not ask a
/// thread that had used up its slice, or it asked a thread and chose it again and again.
fn is_passed_over(scene: &Scene<'_>, waiter: &Waiter, stretch: &[Piece]) -> bool {
    let has_quota = scene.log.was_throttled(waiter.thread);
    let mut unasked = 0;
    let mut asked: BTreeMap<ThreadId, (bool, usize)> = BTreeMap::new();
    let mut before: Option<&Slice> = None;
    for slice in stretch.iter().filter_map(|piece| piece.slice.as_ref()) {
        let ticked = before.is_some_and(|before| is_tick(scene, before));
        before = Some(slice);
        if slice.thread.is_idle() || !slice.priority.is_ordinary() {
            continue;
        }
        let (is_asked, slices) = asked.entry(slice.thread).or_default();
        if slice.need_resched {
            unasked = if ticked { 0 } else { unasked };
        } else {
            unasked += usize::from(ticked);
            // A thread with a better nice value may be chosen more often.
            *slices += usize::from(*is_asked && slice.priority >= waiter.priority);
        }
        *is_asked = slice.need_resched;
        if unasked >= UNASKED_TICKS || has_quota && *slices >= CHOSEN_AGAIN {
            return true;
        }
    }
    false
}

/// When timers that call one of these `functions` were served, on any CPU, from the first of the
/// pieces to the last.
fn served(scene: &Scene<'_>, pieces: &[Piece], functions: &[&str]) -> Vec<Instant<Monotonic>> {
    let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else { return Vec::new() };
    let log = scene.log.between(first.from, last.to);
    log.served(|function| is_one_of(scene, function, functions))
}

/// Whether a slice is a tick of its CPU.
fn is_tick(scene: &Scene<'_>, slice: &Slice) -> bool {
    is_timer(scene, slice, &["tick_nohz_handler", "tick_sched_timer"])
}

fn is_timer(scene: &Scene<'_>, slice: &Slice, functions: &[&str]) -> bool {
    matches!(slice.activity, Activity::Timer { function } if is_one_of(scene, function, functions))
}

fn is_one_of(scene: &Scene<'_>, function: FunctionId, functions: &[&str]) -> bool {
    functions.contains(&source_name(scene.names.function_name(function)))
}

fn is_same_turn(one: &Slice, other: &Slice) -> bool {
    one.thread == other.thread && one.thread_since == other.thread_since
}
