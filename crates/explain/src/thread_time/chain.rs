//! Why a sleep took so long: what its waker did meanwhile, in words.

use serde::{Deserialize, Serialize};
use tactus_model::recording::{Priority, PriorityClass, ThreadId};
use tactus_model::time::{Instant, Nanos};

use super::classify;
use super::runqueue_wait;
use super::sleep::{Sleep, SleepReason};
use crate::blame::Scene;
use crate::blame::waker::{Doing, Step, running_parts};
use crate::cause::{Cause, Culprit};
use crate::explanation::Part;
use crate::machine::Absence;

/// How long after a step of a waker the events last that explain it: steal time shows with the next
/// charge, throttling when the group's threads run again. More events would have to be looked
/// through for every step.
const AFTERWARDS: Nanos = Nanos::from_millis(20);

/// How long before a thread sleeps for a lock the lock's holder may already have inherited its
/// priority.
pub(crate) const INHERITED_BEFORE: Nanos = Nanos::from_millis(1);

/// What a thread did before it woke the thread that waited for it.
///
/// `ran`, `interrupted`, `waited`, `slept` and `unknown` add up to the time from when the other
/// began to wait for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The thread, with the priority of its own, not an inherited one, as far as it was seen.
    pub thread: Culprit,
    /// The highest priority at which it was seen meanwhile: an inherited one, if that is higher
    /// than its own.
    pub boosted: Option<Priority>,
    /// How long it was on a CPU.
    pub ran: Nanos,
    /// How long interrupts, softirqs and the hypervisor took its CPU meanwhile.
    pub interrupted: Nanos,
    /// How long it waited for a CPU.
    pub waited: Nanos,
    /// Why it waited, the greatest cause first.
    pub behind: Vec<Part>,
    /// How long it slept itself.
    pub slept: Nanos,
    /// What its longest sleep was for, and how long that was. If a thread ended that sleep, it
    /// is the next link.
    pub longest_sleep: Option<(Sleep, Nanos)>,
    /// For how long its events do not show what it did.
    pub unknown: Nanos,
}

/// A thread waited for one of lower rank, which did not get the CPU: priority inversion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inversion {
    /// The thread of lower rank that had to act first.
    pub holder: Culprit,
    /// Threads of lower rank than the waiting one that ran in its place, with their time.
    pub by: Vec<Part>,
    /// How long they did.
    pub time: Nanos,
    /// Whether the lock inherits priorities.
    pub inheritance: Inheritance,
}

/// Whether a lock gives the priority of its waiters to its holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Inheritance {
    /// It does, and the holder ran with the priority of the waiting thread.
    Active,
    /// It does, but the holder was not seen with that priority.
    Inactive,
    /// It does not. Inheritance would give the holder the CPU.
    Absent,
    /// The call chain that would show it was not recorded.
    Unknown,
}

/// Whether a thread of priority `one` always runs before one of priority `other`. Nice values
/// are weights, not ranks.
fn outranks(one: Priority, other: Priority) -> bool {
    !matches!(one.class(), PriorityClass::Ordinary { .. }) && one < other
}

/// The links of a chain, from the steps of a waker.
pub(super) fn links(scene: &Scene<'_>, waker: &[Step]) -> Vec<Link> {
    let mut links = Vec::new();
    let mut steps = waker;
    while let Some(first) = steps.first() {
        let (link, next) = link(scene, first.thread, steps);
        links.push(link);
        steps = next;
    }
    links
}

/// The link of `thread`, and the steps of whoever it waited for longest.
fn link<'s>(scene: &Scene<'_>, thread: ThreadId, steps: &'s [Step]) -> (Link, &'s [Step]) {
    let mut link = Link {
        thread: scene.culprit_by_number(thread),
        boosted: None,
        ran: Nanos::ZERO,
        waited: Nanos::ZERO,
        behind: Vec::new(),
        slept: Nanos::ZERO,
        longest_sleep: None,
        interrupted: Nanos::ZERO,
        unknown: Nanos::ZERO,
    };
    let (mut longest, mut next): (Option<(&Absence, Nanos)>, &[Step]) = (None, &[]);
    let mut seen: Vec<Priority> = vec![link.thread.priority];
    if let (Some(first), Some(last)) = (steps.first(), steps.last()) {
        let changes =
            scene.log.between(Instant::from_nanos(0), last.to).inheritances(thread).iter().rev();
        let changes = changes.take_while(|change| change.at + INHERITED_BEFORE >= first.from);
        seen.extend(changes.map(|change| change.priority));
    }
    for step in steps {
        let time = step.to - step.from;
        let scene = &Scene { log: scene.log.between(step.from, step.to + AFTERWARDS), ..*scene };
        match &step.doing {
            Doing::Running { cpu } => {
                for Part { cause, time } in running_parts(scene, *cpu, step.from, step.to) {
                    let sum = match cause {
                        Cause::OtherThread { thread: ran } if ran.thread == Some(thread) => {
                            &mut link.ran
                        }
                        Cause::OtherThread { .. } | Cause::IdleExit { .. } => &mut link.unknown,
                        cause if cause.explains() => &mut link.interrupted,
                        _ => &mut link.unknown,
                    };
                    *sum = *sum + time;
                }
            }
            Doing::Waiting(absence) => {
                link.waited = link.waited + time;
                seen.push(absence.priority);
                for part in runqueue_wait(scene, absence, step.from, step.to) {
                    add(&mut link.behind, part);
                }
            }
            Doing::Asleep { absence, waker } => {
                link.slept = link.slept + time;
                seen.push(absence.priority);
                if longest.is_none_or(|(_, longest)| time > longest) {
                    (longest, next) = (Some((absence, time)), waker);
                }
            }
        }
    }
    link.behind.sort_by(|a, b| b.time.cmp(&a.time).then_with(|| a.cause.cmp(&b.cause)));
    let own = seen.iter().copied().max().unwrap_or(link.thread.priority);
    link.thread.priority = own;
    link.boosted = seen.into_iter().min().filter(|seen| *seen < own);
    link.longest_sleep =
        longest.map(|(absence, time)| (classify::sleep(absence, scene.names), time));
    (link, next)
}

fn add(parts: &mut Vec<Part>, more: Part) {
    match parts.iter_mut().find(|part| part.cause == more.cause) {
        Some(part) => part.time = part.time + more.time,
        None => parts.push(more),
    }
}

/// Finds priority inversion: a thread of priority `waiting` sleeps for a lock, and a link of its
/// chain, of lower rank, waited for a CPU while threads ran that the sleeper outranks.
pub(super) fn inversion(
    waiting: Priority,
    reason: &SleepReason,
    chain: &[Link],
) -> Option<Inversion> {
    if !reason.is_lock() {
        return None;
    }
    let mut held_by = Some(reason.clone());
    for link in chain {
        let lock = held_by.take().filter(SleepReason::is_lock)?;
        let between = |part: &&Part| match &part.cause {
            Cause::OtherThread { thread } | Cause::KernelSection { thread, .. } => {
                outranks(waiting, thread.priority)
            }
            _ => false,
        };
        let by: Vec<Part> = link.behind.iter().filter(between).cloned().collect();
        let time: Nanos = by.iter().map(|part| part.time).sum();
        if outranks(waiting, link.thread.priority) && time > Nanos::ZERO {
            let boosted = link.boosted.is_some_and(|boosted| boosted <= waiting);
            let inheritance = match lock {
                SleepReason::Futex { inherits: true } if boosted => Inheritance::Active,
                SleepReason::Futex { inherits: true } => Inheritance::Inactive,
                SleepReason::Futex { inherits: false } => Inheritance::Absent,
                _ => Inheritance::Unknown,
            };
            return Some(Inversion { holder: link.thread.clone(), by, time, inheritance });
        }
        held_by = link.longest_sleep.as_ref().map(|(sleep, _)| sleep.reason.clone());
    }
    None
}
