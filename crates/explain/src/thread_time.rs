//! Where the time of a thread goes: on a CPU, waiting for one, blocked and on what, asleep by
//! choice.
//!
//! `divide` splits any stretch of a thread's time without a remainder. The recorded time of
//! a thread ([`ThreadTime`]) is divided the same way while events come in, with the reasons of
//! its sleeps, who ended them, and for the longest what had to happen first
//! ([`chain`](Link)).

mod chain;
mod classify;
mod ender;
mod kernel_functions;
mod sleep;
mod sums;

use serde::{Deserialize, Serialize};
use tactus_model::recording::ThreadId;
use tactus_model::time::{Instant, Monotonic, Nanos};

pub(crate) use chain::INHERITED_BEFORE;
pub use chain::{Inheritance, Inversion, Link};
use chain::{inversion, links};
pub use ender::Ender;
pub use sleep::{Backing, KernelLock, Sleep, SleepReason};
pub(crate) use sums::{Doing, Follow, Sums, THREADS_MAX, ThreadTimes};

use crate::blame::waker::{asleep, before_wakeup};
use crate::blame::{Case, Scene, Window, blame};
use crate::cause::Cause;
use crate::explanation::Part;
use crate::machine::{Absence, Activity, Machine};
use crate::path::{Standing, legs};

/// The recorded time of the threads with one name, divided.
///
/// The parts add up to `recorded`, in whole nanoseconds. A thread counts from its creation, or
/// from the beginning of the recording, until its end or that of the recording.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadTime {
    /// The time that was recorded, of all these threads.
    pub recorded: Nanos,
    /// On a CPU, interrupts included.
    pub on_cpu: Nanos,
    /// How much of `on_cpu` the threads freed memory before they got some (direct reclaim), without
    /// interrupts.
    #[serde(default)]
    pub reclaim: Nanos,
    /// Runnable, or with a timer that was due, and not on a CPU.
    pub runqueue_wait: Nanos,
    /// Asleep until something else came.
    pub blocked: Nanos,
    /// Asleep by choice: until a timer of its own, or an idle kernel thread.
    pub asleep: Nanos,
    /// Not known: before the thread's first event, and across losses of events.
    pub unknown: Nanos,
    /// The sleeps by reason, the greatest time first. Their times add up to `blocked` and
    /// `asleep`.
    pub sleeps: Vec<SleepRow>,
}

/// The sleeps for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SleepRow {
    /// The reason.
    #[serde(flatten)]
    pub sleep: Sleep,
    /// How many sleeps.
    pub count: u64,
    /// Their time, without the runqueue wait at the end.
    pub time: Nanos,
    /// The longest of them.
    pub max: Nanos,
    /// The runqueue wait at the end of these sleeps, from the wakeup to the CPU.
    pub runqueue_wait: Nanos,
    /// What ended them, the greatest time first.
    pub enders: Vec<EnderRow>,
    /// The longest of them over the threshold, the longest first; none for sleep by choice.
    pub longest: Vec<BlockedStretch>,
}

/// What ended some sleeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnderRow {
    /// What ended them.
    pub ender: Ender,
    /// How many.
    pub count: u64,
    /// The time slept.
    pub time: Nanos,
}

/// A sleep that something else had to end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockedStretch {
    /// The thread that slept.
    pub thread: ThreadId,
    /// When it began, from the start of the recording.
    pub from: Nanos,
    /// How long the thread slept.
    pub slept: Nanos,
    /// How long it then waited for a CPU.
    pub runqueue_wait: Nanos,
    /// What ended the sleep.
    pub ender: Ender,
    /// How much of the sleep, from its end backwards, the chain covers.
    pub followed: Nanos,
    /// The threads that had to act first: the waker, then whoever the waker slept for longest,
    /// and so on.
    pub chain: Vec<Link>,
    /// Whether a thread of lower rank kept this one waiting.
    pub inversion: Option<Inversion>,
}

/// A part of a thread's time in which it did one thing.
#[derive(Clone, Debug)]
pub(crate) struct Stretch {
    pub(crate) from: Instant<Monotonic>,
    pub(crate) to: Instant<Monotonic>,
    pub(crate) kind: StretchKind,
}

/// What a thread did in a stretch of its time.
#[derive(Clone, Debug)]
pub(crate) enum StretchKind {
    /// It was on this CPU, if that is known.
    OnCpu { cpu: Option<u32> },
    /// It was runnable, or its timer was due, at the end of this absence.
    RunqueueWait(Absence),
    /// It slept.
    Asleep { absence: Absence, sleep: Sleep },
}

/// Divides the time from `from` to `to` of `thread` into what it did, in the order of time,
/// without gaps or overlaps. The log of `scene` must reach back to `from`.
pub(crate) fn divide(
    scene: &Scene<'_>,
    thread: ThreadId,
    from: Instant<Monotonic>,
    to: Instant<Monotonic>,
) -> Vec<Stretch> {
    let absences = absences(scene, thread, from, to);
    let mut stretches = Vec::with_capacity(absences.len() * 3 + 1);
    for leg in legs(from, to, &absences, running_on(scene.machine, thread)) {
        let mut add = |from, to, kind| {
            if to > from {
                stretches.push(Stretch { from, to, kind });
            }
        };
        match leg.standing {
            Standing::Running(cpu) => add(leg.from, leg.to, StretchKind::OnCpu { cpu }),
            Standing::Waiting(absence) => {
                add(leg.from, leg.to, StretchKind::RunqueueWait(absence));
            }
            Standing::Asleep(absence) => {
                let ready = absence.ready_at().unwrap_or(leg.to).clamp(leg.from, leg.to);
                let sleep = classify::sleep(&absence, scene.names);
                add(leg.from, ready, StretchKind::Asleep { absence, sleep });
                add(ready, leg.to, StretchKind::RunqueueWait(absence));
            }
        }
    }
    stretches
}

/// The absences of `thread` that ended after `from` or have not ended, and began before `to`.
pub(crate) fn absences(
    scene: &Scene<'_>,
    thread: ThreadId,
    from: Instant<Monotonic>,
    to: Instant<Monotonic>,
) -> Vec<Absence> {
    let ended = scene.log.since(from).absences(thread).iter();
    let absences = ended.chain(scene.machine.absence_of(thread)).copied();
    absences.take_while(|absence| absence.left_at < to).collect()
}

impl Stretch {
    /// How long it was.
    pub(crate) fn length(&self) -> Nanos {
        self.to - self.from
    }

    /// Whether the thread slept.
    pub(crate) fn is_sleep(&self) -> bool {
        matches!(self.kind, StretchKind::Asleep { .. })
    }

    /// What a sleep was for, and what ended it; `None` if the thread did not sleep.
    pub(crate) fn ended(&self, scene: &Scene<'_>) -> Option<(Sleep, Ender)> {
        let StretchKind::Asleep { absence, sleep } = &self.kind else { return None };
        Some((sleep.clone(), Ender::of(absence, scene)))
    }

    /// What a sleep was for, and what had to happen first; `None` if the thread did not sleep.
    /// `started` is the start of the recording.
    pub(crate) fn blocked(
        &self,
        scene: &Scene<'_>,
        started: Instant<Monotonic>,
    ) -> Option<(Sleep, BlockedStretch)> {
        let StretchKind::Asleep { absence, sleep } = &self.kind else { return None };
        let back = if absence.is_over() { absence.back_at } else { self.to };
        let followed_from = self.from.max(scene.log.kept_from()).min(self.to);
        let slept = Slept { from: self.from, followed_from, ready: self.to, back };
        Some((sleep.clone(), blocked(scene, absence, sleep, slept, started)))
    }

    /// The causes of the stretch, the greatest first. They add up to its duration.
    ///
    /// A sleep that another thread ended is followed to what that thread did meanwhile.
    pub(crate) fn causes(&self, scene: &Scene<'_>) -> Vec<Part> {
        let &Self { from, to, ref kind } = self;
        let mut case = Case::new(scene, from, to);
        match kind {
            StretchKind::OnCpu { cpu: Some(cpu) } => {
                case.spread(*cpu, from, to, |_, slice| match slice.activity {
                    Activity::Reclaim => Some(Cause::Reclaim),
                    _ => Some(Cause::OwnWork),
                });
            }
            StretchKind::OnCpu { cpu: None } => case.add(Cause::OwnWork, to - from),
            StretchKind::RunqueueWait(absence) => return runqueue_wait(scene, absence, from, to),
            StretchKind::Asleep { absence, sleep } => match Ender::of(absence, scene) {
                Ender::Thread { .. } => asleep(&mut case, absence, from, to),
                Ender::OwnTimer => {
                    let thread = scene.culprit_by_number(absence.thread);
                    case.add(Cause::Asleep { thread }, to - from);
                }
                _ => case.add(Cause::Blocked { on: sleep.reason.clone() }, to - from),
            },
        }
        case.into_parts()
    }
}

/// A sleep and the runqueue wait at its end.
#[derive(Clone, Copy, Debug)]
struct Slept {
    from: Instant<Monotonic>,
    /// Since when the events of the sleep are there to follow it.
    followed_from: Instant<Monotonic>,
    ready: Instant<Monotonic>,
    back: Instant<Monotonic>,
}

/// A blocked stretch with what had to happen first.
fn blocked(
    scene: &Scene<'_>,
    absence: &Absence,
    sleep: &Sleep,
    slept: Slept,
    started: Instant<Monotonic>,
) -> BlockedStretch {
    let Slept { from, followed_from, ready, back } = slept;
    let chain = links(scene, &before_wakeup(scene, absence, followed_from, ready));
    BlockedStretch {
        thread: absence.thread,
        from: from - started,
        slept: ready - from,
        runqueue_wait: back - ready,
        ender: Ender::of(absence, scene),
        followed: ready - followed_from,
        inversion: inversion(absence.priority, &sleep.reason, &chain),
        chain,
    }
}

/// The causes of a runqueue wait, the greatest first.
fn runqueue_wait(
    scene: &Scene<'_>,
    absence: &Absence,
    from: Instant<Monotonic>,
    to: Instant<Monotonic>,
) -> Vec<Part> {
    let absences = &[*absence];
    let cpu = Some(absence.left_cpu);
    blame(scene, &Window { due: from, came: to, absences, faults: &[], cpu })
}

/// The CPU on which a thread is current.
pub(crate) fn running_on(machine: &Machine, thread: ThreadId) -> Option<u32> {
    let mut cpus = machine.cpus().iter();
    let position = cpus.position(|cpu| cpu.thread() == Some(thread));
    position.map(|cpu| cpu as u32)
}
