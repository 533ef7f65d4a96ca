//! Divides the time of a late sample among its causes.
//!
//! The window of a sample, from its due time to its arrival, consists of
//! [legs](crate::path): asleep, waiting for a CPU, running. Each leg lies on one CPU.
//! Each slice of that CPU in the leg gets a cause by the rules below, so the parts add
//! up to the latency by construction. Time without a slice is an unexplained gap.
//!
//! | leg | rule |
//! |---|---|
//! | any | [`host_pause`], then [`steal`] come first |
//! | any | [`interrupts`]: interrupts, softirqs and timers by name |
//! | asleep until its timer | [`late_interrupt`]: slack, tick, idle exit, interrupts off, gap |
//! | asleep until another acts | [`waker`]: follows the chain of wakers |
//! | asleep after a fault, running after a fault | [`fault`] |
//! | waiting | [`throttling`], then [`waiting`]: other threads, preemption-off sections, the move to another CPU, the switch |

mod case;
mod fault;
mod host_pause;
mod interrupts;
mod late_interrupt;
mod site;
mod steal;
mod throttling;
mod waiting;
pub(crate) mod waker;

use tactus_model::recording::{Dictionary, NameId, ProcessId, ThreadId};
use tactus_model::time::{Instant, Monotonic};

pub(crate) use case::{Carved, Case, Scene, carve};
pub(crate) use interrupts::name as interrupt_name;

use crate::cause::{Cause, Culprit};
use crate::explanation::Part;
use crate::machine::{Absence, Machine};
use crate::path::{Standing, legs};

/// What is known about a late sample's thread in its window.
#[derive(Clone, Debug)]
pub(crate) struct Window<'a> {
    pub(crate) due: Instant<Monotonic>,
    pub(crate) came: Instant<Monotonic>,
    pub(crate) absences: &'a [Absence],
    pub(crate) faults: &'a [Instant<Monotonic>],
    /// The CPU on which the thread ran before its first absence.
    pub(crate) cpu: Option<u32>,
}

/// A thread known only by its number; see [`Scene::late`].
pub(crate) fn culprit(
    thread: ThreadId,
    late: Option<ProcessId>,
    machine: &Machine,
    names: &Dictionary,
) -> Culprit {
    let (name, priority) = machine.known(thread);
    let process = process(thread, name, late, machine, names);
    let name = names.name(name).to_owned();
    let base = machine.own_priority(thread);
    Culprit { name, process, thread: Some(thread), priority, base, or_higher: false }
}

/// The name of a process of this program.
const TACTUS: &str = "tactus";

/// The name of the process of a thread, if it is known and not `name`: the name of the thread with
/// which the process began. A Tactus that did not make this recording gets its number, since it
/// would look like the observer; so does a process that would look like the `late` one.
fn process(
    thread: ThreadId,
    name: NameId,
    late: Option<ProcessId>,
    machine: &Machine,
    names: &Dictionary,
) -> Option<String> {
    let process = names.process_of(thread)?;
    let (first, _) = machine.known(ThreadId(process.0));
    if names.name(first) == TACTUS && machine.is_foreign(process, names) {
        return Some(format!("another tactus (process {})", process.0));
    }
    let has_its_name = |late: ProcessId| machine.known(ThreadId(late.0)).0 == first;
    if first != NameId::UNKNOWN && late.is_some_and(|late| late != process && has_its_name(late)) {
        return Some(format!("another process named {} ({})", names.name(first), process.0));
    }
    (first != NameId::UNKNOWN && first != name).then(|| names.name(first).to_owned())
}

/// The parts of a late sample, the greatest first. They add up to its latency.
pub(crate) fn blame(scene: &Scene<'_>, window: &Window<'_>) -> Vec<Part> {
    case(scene, window).into_parts()
}

/// The parts of a late sample that a thread handed over at the end of its `window` and a
/// `receiver` stamped at `came`, the greatest first.
///
/// From then on it is the receiver that is late, so the chain of those who had to act before it is
/// followed: the worker that carries the bytes of a line waits for a CPU like any thread.
pub(crate) fn blame_received(
    scene: &Scene<'_>,
    window: &Window<'_>,
    receiver: ThreadId,
    came: Instant<Monotonic>,
) -> Vec<Part> {
    let mut case = Case::new(scene, window.due, came);
    divide(&mut case, window);
    let absences = scene.log.between(window.came, came).absences(receiver);
    divide(&mut case, &Window { due: window.came, came, absences, faults: &[], cpu: None });
    case.into_parts()
}

/// A late sample whose whole latency is divided.
pub(crate) fn case<'a>(scene: &'a Scene<'a>, window: &Window<'_>) -> Case<'a> {
    let mut case = Case::new(scene, window.due, window.came);
    divide(&mut case, window);
    case
}

/// Divides the time of a window among its causes.
fn divide(case: &mut Case<'_>, window: &Window<'_>) {
    for leg in legs(window.due, window.came, window.absences, window.cpu) {
        match leg.standing {
            Standing::Asleep(absence) if fault::is_fault_sleep(&absence, window) => {
                case.add(Cause::PageFault, leg.to - leg.from);
            }
            Standing::Asleep(absence) => waker::asleep(case, &absence, leg.from, leg.to),
            Standing::Waiting(absence) => waiting::wait(case, &absence, leg.from, leg.to),
            Standing::Running(Some(cpu)) => {
                fault::running(case, window, cpu, leg.from, leg.to);
            }
            Standing::Running(None) => case.add(Cause::UnexplainedGap, leg.to - leg.from),
        }
    }
}
