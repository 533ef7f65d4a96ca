//! Why a runnable thread did not run.

use tactus_model::recording::{Priority, PriorityClass, ThreadId};
use tactus_model::time::{Instant, Monotonic, Nanos};

use super::case::{Case, Piece, Scene};
use super::site::{Interrupted, gave_way, interrupted_thread};
use crate::cause::{Cause, Hold, Throttle};
use crate::machine::{Absence, Activity, Slice, Waker};
use crate::symbol::source_name;

/// How long a thread that was asked to reschedule may take for the switch itself: the
/// end of the interrupt, the scheduler, its lock. Measured: 2.7 µs at the median, below
/// 20 µs while events are recorded. More time means a preemption-off section.
const SWITCH_MAX: Nanos = Nanos::from_micros(20);

/// How long after the timer that ends a throttling the throttled thread may take to
/// run.
const AFTER_RELEASE: Nanos = Nanos::from_millis(2);

/// The maximum time between the expiry of the fair server's timer and its choice of a
/// thread.
const BEFORE_SERVER: Nanos = Nanos::from_millis(1);

/// Divides the time in which the thread of `absence` was runnable and did not run.
pub(super) fn wait(
    case: &mut Case<'_>,
    absence: &Absence,
    from: Instant<Monotonic>,
    to: Instant<Monotonic>,
) {
    for (cpu, from, to) in queues(case.scene, absence, from, to) {
        wait_on(case, absence, cpu, from, to);
    }
}

/// The runqueues on which the thread waited, with start and end.
fn queues(
    scene: &Scene<'_>,
    absence: &Absence,
    from: Instant<Monotonic>,
    to: Instant<Monotonic>,
) -> Vec<(u32, Instant<Monotonic>, Instant<Monotonic>)> {
    let (queued_at, mut cpu) = match absence.queued {
        Some((at, cpu)) => (at, cpu),
        None if absence.slept() => (from, absence.back_cpu),
        None => (from, absence.left_cpu),
    };
    let mut queues = Vec::with_capacity(1);
    let mut reached = from;
    let moves = scene.log.migrations.iter();
    for migration in moves.filter(|migration| migration.thread == absence.thread) {
        // Migrations before the thread was queued are the wakeup's own choice of a CPU.
        if migration.at < queued_at || migration.at <= reached || migration.at >= to {
            continue;
        }
        queues.push((cpu, reached, migration.at));
        reached = migration.at;
        cpu = migration.to_cpu;
    }
    queues.push((cpu, reached, to));
    queues
}

fn wait_on(
    case: &mut Case<'_>,
    absence: &Absence,
    cpu: u32,
    from: Instant<Monotonic>,
    to: Instant<Monotonic>,
) {
    let scene = case.scene;
    let pieces = scene.pieces(cpu, from, to);
    let waiter = Waiter { priority: absence.priority, since: from };
    let release = release(scene, waiter.priority, from, to);
    let sections = sections(scene, absence, &waiter, &pieces);
    case.spread(cpu, from, to, |piece, slice| {
        if let Some(rule) = throttled(scene, &waiter, release, piece, slice) {
            return Cause::Throttling { rule };
        }
        if let Activity::Idle { state } = slice.activity {
            return match absence.back_at_min {
                Some(_) => Cause::MissingSwitch { cpu },
                None => Cause::IdleExit { cpu, state },
            };
        }
        if slice.thread == absence.thread {
            return Cause::Switch;
        }
        if !waiter.had_asked(slice) {
            return Cause::OtherThread { thread: scene.culprit(slice) };
        }
        let section = section_of(&sections, slice);
        match section {
            Some(section) if section.time > SWITCH_MAX => Cause::KernelSection {
                thread: scene.culprit(slice),
                hold: Hold::Preemption,
                site: section.site.clone(),
            },
            _ => Cause::Switch,
        }
    });
}

/// The thread that waits.
struct Waiter {
    priority: Priority,
    since: Instant<Monotonic>,
}

impl Waiter {
    /// Whether the scheduler must prefer the waiter to the thread of a slice.
    fn outranks(&self, slice: &Slice) -> bool {
        let ordinary =
            |priority: Priority| matches!(priority.class(), PriorityClass::Ordinary { .. });
        !ordinary(self.priority) && self.priority < slice.priority
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
        if slice.activity != Activity::Thread || !waiter.had_asked(slice) {
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

/// The timer that ended the throttling of the waiter.
#[derive(Clone, Copy)]
struct Release {
    rule: Throttle,
    at: Instant<Monotonic>,
}

/// The last release from throttling before the waiter ran.
///
/// The kernel's timers show it: `sched_rt_period_timer` renews the runtime of real-time
/// threads (`kernel/sched/rt.c`), `sched_cfs_period_timer` and `sched_cfs_slack_timer`
/// renew the quota of a control group (`kernel/sched/fair.c`), `dl_task_timer` renews
/// the runtime of a deadline thread (`kernel/sched/deadline.c`).
fn release(
    scene: &Scene<'_>,
    priority: Priority,
    from: Instant<Monotonic>,
    to: Instant<Monotonic>,
) -> Option<Release> {
    let start = scene.log.slices.partition_point(|slice| slice.to <= from);
    scene.log.slices[start..].iter().rev().find_map(|slice| {
        let Activity::Timer { function } = slice.activity else { return None };
        if slice.from > to || to - slice.from > AFTER_RELEASE {
            return None;
        }
        let rule = match (source_name(scene.names.function_name(function)), priority.class()) {
            ("sched_rt_period_timer", PriorityClass::Realtime(_)) => Throttle::Realtime,
            ("dl_task_timer", PriorityClass::Deadline) => Throttle::Deadline,
            (
                "sched_cfs_period_timer" | "sched_cfs_slack_timer",
                PriorityClass::Ordinary { .. },
            ) => Throttle::Cgroup,
            _ => return None,
        };
        Some(Release { rule, at: slice.from })
    })
}

/// The throttling rule that held the waiter back in a slice, if any.
///
/// The scheduler throttled the waiter if, before a release, it left the CPU idle or ran
/// a lower-ranked thread that had not been asked to reschedule, or if it chose such a
/// thread while the waiter was runnable.
fn throttled(
    scene: &Scene<'_>,
    waiter: &Waiter,
    release: Option<Release>,
    piece: &Piece,
    slice: &Slice,
) -> Option<Throttle> {
    let idle = matches!(slice.activity, Activity::Idle { .. });
    let ordinary = matches!(waiter.priority.class(), PriorityClass::Ordinary { .. });
    let passed_over = idle || waiter.outranks(slice) || (ordinary && !slice.need_resched);
    if !passed_over || is_stopper(scene, slice) {
        return None;
    }
    if let Some(release) = release
        && piece.from < release.at
        && !slice.need_resched
    {
        return Some(release.rule);
    }
    let chosen = slice.thread_since > waiter.since;
    match waiter.priority.class() {
        _ if !chosen => None,
        PriorityClass::Ordinary { .. } => None,
        PriorityClass::Deadline => Some(Throttle::Deadline),
        PriorityClass::Realtime(_) if idle => Some(Throttle::Realtime),
        PriorityClass::Realtime(_) => served_by_timer(scene, slice)
            .then_some(Throttle::FairServer)
            .or(Some(Throttle::Realtime)),
    }
}

/// Whether the fair server's timer expired just before the thread of a slice came.
fn served_by_timer(scene: &Scene<'_>, slice: &Slice) -> bool {
    scene.log.slices.iter().any(|timer| {
        let Activity::Timer { function } = timer.activity else { return false };
        timer.cpu == slice.cpu
            && timer.from <= slice.thread_since
            && slice.thread_since - timer.from <= BEFORE_SERVER
            && source_name(scene.names.function_name(function)) == "dl_task_timer"
    })
}

/// Whether a slice belongs to the kernel's stopper thread, which goes before every
/// other class and reports a real-time priority (`kernel/stop_machine.c`).
fn is_stopper(scene: &Scene<'_>, slice: &Slice) -> bool {
    scene.names.name(slice.name).starts_with("migration/")
}
