//! Where the scheduler withheld a CPU from a runnable thread.
//!
//! No event reports throttling. It shows in what the CPU does meanwhile: a runnable thread is
//! in the queue of its CPU, so the kernel asks an idle or lower-ranked thread at once to
//! reschedule, and chooses neither. Where events show that it did not ask, or chose one, the
//! thread was not in the queue: its class or its control group had used up its runtime.
//!
//! A recording shows which control groups have a quota and which threads belong to them: of an
//! ordinary thread in such a group, the CPU time of the group's threads in the period before a
//! renewal shows whether the quota was used up, and no other thread is throttled by a quota. Older
//! recordings do not show it, so there a thread that was passed over alone names no rule. A budget
//! is renewed by a timer of its own, and the throttled thread comes back then: a rule is named only
//! before its timer, or if the scheduler chose a thread of lower rank for long. A thread that ran
//! already when the other became runnable, and that was not asked, has a rank that no event shows:
//! its class changed while it ran.

use std::collections::BTreeMap;

use tactus_model::recording::{FunctionId, PriorityClass, QuotaGroup, ThreadId};
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

/// How long a CPU does something else while a thread is in its queue only if that one is not in the
/// queue or has a lower rank: longer than any wakeup takes to arrive, shorter than the budgets that
/// are in use.
const LONG: Nanos = Nanos::from_millis(1);

/// How much of a quota may be left on each CPU when the group is throttled: a thread that leaves
/// keeps 1 ms there, and what a thread used beyond the quota before the tick that noticed it, up
/// to 4 ms, is missing in the next period (`kernel/sched/fair.c`).
const UNUSED_MAX: Nanos = Nanos::from_millis(5);

/// The timers that renew the runtime of control groups (`kernel/sched/fair.c`).
const QUOTA_RENEWALS: [&str; 2] = ["sched_cfs_period_timer", "sched_cfs_slack_timer"];

/// The timer that renews the runtime of real-time threads (`kernel/sched/rt.c`).
const REALTIME_RENEWALS: [&str; 1] = ["sched_rt_period_timer"];

/// The timer that renews the runtime of a deadline thread or of the fair server
/// (`kernel/sched/deadline.c`).
const DEADLINE_RENEWALS: [&str; 1] = ["dl_task_timer"];

/// The rule by which the waiter was throttled in each of the `pieces` of its CPU's time, which
/// follow each other; `None` where it was not, as far as events show. It is empty if no event shows
/// throttling in any of them.
pub(super) fn find(scene: &Scene<'_>, waiter: &Waiter, pieces: &[Piece]) -> Vec<Option<Throttle>> {
    let functions = match waiter.priority.class() {
        PriorityClass::Realtime(_) => &REALTIME_RENEWALS[..],
        PriorityClass::Deadline => &DEADLINE_RENEWALS,
        PriorityClass::Ordinary { .. } => return by_quota(scene, waiter, pieces),
    };
    let renewals = served(scene, pieces, functions);
    let withheld = |here: usize| withheld(scene, waiter, pieces, here, &renewals);
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
    rules
}

/// Whether events between two instants may show that the waiter was throttled.
pub(super) fn may_be(
    scene: &Scene<'_>,
    waiter: &Waiter,
    from: Instant<Monotonic>,
    to: Instant<Monotonic>,
) -> bool {
    // Without a renewal, nothing shows a quota.
    !waiter.priority.is_ordinary() || !served_between(scene, from, to, &QUOTA_RENEWALS).is_empty()
}

/// Whether the first of these pieces belongs to a turn of a thread that the waiter seems to
/// outrank, which began before the waiter was in the queue, and an event shows that it was not
/// asked to reschedule since. If no throttling explains it, that thread's class changed while it
/// ran, which no event shows.
pub(super) fn is_of_higher_rank(scene: &Scene<'_>, waiter: &Waiter, pieces: &[Piece]) -> bool {
    let (Some(slice), Some(noticed)) = (&pieces[0].slice, waiter.noticed) else { return false };
    let slices = pieces.iter().map_while(|piece| piece.slice.as_ref());
    let turn = slices.take_while(|other| is_same_turn(other, slice));
    let mut unasked = turn.take_while(|other| waiter.passed_over(scene, other));
    !slice.thread.is_idle()
        && slice.thread_since < noticed
        && unasked.any(|other| other.from >= noticed)
        && !was_chosen_before_another(scene, slice)
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

/// The rule by which a waiter above the ordinary class was throttled in the piece with the
/// number `here`, if an event shows that it was.
///
/// A wakeup of another CPU takes a moment to arrive, and a slice in that moment looks as if the
/// waiter were throttled. So does a thread whose class changed while it ran. Throttling lasts until
/// one of the `renewals`, and ends with it. A long turn of a thread that was chosen in place of a
/// real-time thread is the fair server's.
fn withheld(
    scene: &Scene<'_>,
    waiter: &Waiter,
    pieces: &[Piece],
    here: usize,
    renewals: &[Instant<Monotonic>],
) -> Option<Throttle> {
    let (slice, queued) = (pieces[here].slice.as_ref()?, waiter.queued?);
    if slice.from < queued || !waiter.passed_over(scene, slice) {
        return None;
    }
    let is_realtime = matches!(waiter.priority.class(), PriorityClass::Realtime(_));
    if is_realtime && is_served(scene, waiter, slice) {
        return Some(Throttle::FairServer);
    }
    let later = renewals.partition_point(|renewal| *renewal < slice.from);
    let ends = renewals.get(later).is_some_and(|renewal| {
        let after = pieces.partition_point(|piece| piece.to <= *renewal + LONG);
        let after = pieces.get(after).and_then(|piece| piece.slice.as_ref());
        after.is_none_or(|slice| !waiter.passed_over(scene, slice))
    });
    if ends {
        return Some(if is_realtime { Throttle::Realtime } else { Throttle::Deadline });
    }
    // Real-time throttling ends with its timer. The fair server ends with its own, on a tick.
    let was_chosen = slice.thread_since >= queued || was_chosen_before_another(scene, slice);
    let is_long = was_chosen && !slice.thread.is_idle() && is_long_turn(&pieces[here..], slice);
    (is_realtime && is_long).then_some(Throttle::FairServer)
}

/// Whether another thread, of higher rank than the thread of a slice, waited in the queue of its
/// CPU when its turn began: the scheduler chose it by a rule other than rank.
fn was_chosen_before_another(scene: &Scene<'_>, slice: &Slice) -> bool {
    let over = scene.log.absences_at(slice.thread_since);
    over.chain(scene.machine.absences()).any(|absence| {
        let (since, cpu) = match absence.queued {
            None if absence.slept() => return false,
            None => (absence.left_at, absence.left_cpu),
            Some(queued) => queued,
        };
        let is_higher = !absence.priority.is_ordinary() && absence.priority < slice.priority;
        is_higher && cpu == slice.cpu && since <= slice.thread_since
    })
}

/// Whether the turn of `slice`, the first of these pieces, takes [`LONG`].
fn is_long_turn(pieces: &[Piece], slice: &Slice) -> bool {
    let is_of_turn =
        |piece: &&Piece| piece.slice.as_ref().is_some_and(|other| is_same_turn(other, slice));
    let mut turn = pieces.iter().take_while(is_of_turn);
    turn.any(|piece| piece.to - slice.thread_since >= LONG)
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
        .any(|other| is_timer(scene, other, &DEADLINE_RENEWALS))
}

/// Finds throttling by the quota of a control group in the time of an ordinary thread; empty if no
/// quota was renewed in it.
///
/// The group is throttled when one of its threads has used up the quota, until the quota is
/// renewed. Therefore the time is cut at renewals and at turns of the group's threads, and in each
/// stretch that ends with a renewal the waiter was throttled always or never.
fn by_quota(scene: &Scene<'_>, waiter: &Waiter, pieces: &[Piece]) -> Vec<Option<Throttle>> {
    let renewals = served(scene, pieces, &QUOTA_RENEWALS);
    // Without a renewal, nothing shows a quota.
    if renewals.is_empty() {
        return Vec::new();
    }
    let group = Group::of(scene, waiter);
    if group.as_ref().is_some_and(|group| group.quotas.is_empty()) {
        return Vec::new();
    }
    let mut rules = vec![None; pieces.len()];
    let mut start = 0;
    for (here, piece) in pieces.iter().enumerate() {
        let of_group = match &group {
            Some(group) => piece.slice.as_ref().is_some_and(|slice| group.runs(scene, slice)),
            None => is_of_group(scene, waiter, &pieces[here..]),
        };
        let end = here + usize::from(!of_group);
        let later = renewals.partition_point(|renewal| *renewal <= piece.from);
        let renewed = renewals.get(later).is_some_and(|renewal| *renewal <= piece.to);
        if !(renewed || of_group || end == pieces.len()) {
            continue;
        }
        let stretch = &pieces[start..end];
        if renewed && !of_group {
            let used_up =
                group.as_ref().and_then(|group| group.has_used_up(scene, renewals[later]));
            if used_up.unwrap_or_else(|| is_passed_over(scene, waiter, stretch)) {
                rules[start..end].fill(Some(Throttle::Cgroup));
            }
        }
        start = here + 1;
    }
    rules
}

/// The control groups with a quota that a waiter belongs to, in a recording that shows them.
struct Group<'a> {
    quotas: Vec<&'a QuotaGroup>,
}

impl<'a> Group<'a> {
    fn of(scene: &Scene<'a>, waiter: &Waiter) -> Option<Self> {
        Some(Self { quotas: scene.machine.quotas_of(waiter.thread, scene.names)? })
    }

    /// Whether a slice is time of an ordinary thread of one of these groups.
    fn runs(&self, scene: &Scene<'_>, slice: &Slice) -> bool {
        let is_in = |group: &&QuotaGroup| group.includes(slice.thread, scene.names);
        !slice.thread.is_idle() && slice.priority.is_ordinary() && self.quotas.iter().any(is_in)
    }

    /// Whether the threads of one of the groups had used up its quota in the period before it was
    /// `renewed`; `None` if the events of that period are not kept.
    fn has_used_up(&self, scene: &Scene<'_>, renewed: Instant<Monotonic>) -> Option<bool> {
        let quotas = self.quotas.iter().map(|group| {
            let start = renewed - group.period;
            if start < scene.log.kept_from() {
                return None;
            }
            let cpus = scene.machine.cpus().len() as u64;
            let used = used(scene, group, start, renewed);
            let slack = Nanos::from_nanos(UNUSED_MAX.as_nanos().saturating_mul(cpus));
            let half = Nanos::from_nanos(group.quota.as_nanos() / 2);
            Some(
                used >= half
                    && used.as_nanos().saturating_add(slack.as_nanos()) >= group.quota.as_nanos(),
            )
        });
        quotas.reduce(|one, other| Some(one? || other?)).flatten()
    }
}

/// The CPU time of the ordinary threads of a group.
fn used(
    scene: &Scene<'_>,
    group: &QuotaGroup,
    from: Instant<Monotonic>,
    to: Instant<Monotonic>,
) -> Nanos {
    // The period began before the wait.
    let log = scene.log.anywhere_between(from, to);
    let cpus = 0..scene.machine.cpus().len() as u32;
    let slices = cpus.flat_map(|cpu| log.slices(cpu));
    let of_group = slices.filter(|slice| {
        slice.priority.is_ordinary()
            && !slice.thread.is_idle()
            && group.includes(slice.thread, scene.names)
    });
    of_group.map(|slice| slice.to - slice.from.max(from)).sum()
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

/// Whether the scheduler would have chosen an ordinary waiter in a stretch: its CPU was idle for
/// long, or it did not ask a thread that had used up its slice. Of a thread that was throttled
/// before, also any idle moment shows it, or a thread that it asked and chose again and again.
fn is_passed_over(scene: &Scene<'_>, waiter: &Waiter, stretch: &[Piece]) -> bool {
    let has_quota = scene.log.was_throttled(waiter.thread);
    if longest_idle(scene, waiter, stretch) >= if has_quota { Nanos::from_nanos(1) } else { LONG } {
        return true;
    }
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

/// The longest time in a stretch for which the CPU was idle while the waiter was surely in its
/// queue, and was not asked to reschedule.
fn longest_idle(scene: &Scene<'_>, waiter: &Waiter, stretch: &[Piece]) -> Nanos {
    let Some(queued) = waiter.queued else { return Nanos::ZERO };
    let (mut idle, mut longest) = (Nanos::ZERO, Nanos::ZERO);
    for piece in stretch {
        idle = match &piece.slice {
            Some(slice) if slice.thread.is_idle() && slice.from >= queued => {
                match waiter.passed_over(scene, slice) {
                    true => idle + piece.length(),
                    false => Nanos::ZERO,
                }
            }
            _ => Nanos::ZERO,
        };
        longest = longest.max(idle);
    }
    longest
}

/// When timers that call one of these `functions` were served, on any CPU, from the first of the
/// pieces to the last.
fn served(scene: &Scene<'_>, pieces: &[Piece], functions: &[&str]) -> Vec<Instant<Monotonic>> {
    let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else { return Vec::new() };
    served_between(scene, first.from, last.to, functions)
}

fn served_between(
    scene: &Scene<'_>,
    from: Instant<Monotonic>,
    to: Instant<Monotonic>,
    functions: &[&str],
) -> Vec<Instant<Monotonic>> {
    let log = scene.log.between(from, to);
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
