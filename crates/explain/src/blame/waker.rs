//! Follows the chain of threads that had to act before a thread was woken.

use tactus_model::recording::ThreadId;
use tactus_model::time::{Instant, Monotonic};

use super::case::Case;
use super::{interrupts, late_interrupt, waiting};
use crate::cause::Cause;
use crate::machine::{Absence, Activity, Waker};

/// The maximum number of wakers to follow; time of earlier ones counts as work of the
/// last.
const CHAIN_MAX: usize = 16;

/// Divides the time from `from` to the wakeup at `to` in which a thread slept.
pub(super) fn asleep(
    case: &mut Case<'_>,
    absence: &Absence,
    from: Instant<Monotonic>,
    to: Instant<Monotonic>,
) {
    asleep_at(case, absence, from, to, 0);
}

fn asleep_at(
    case: &mut Case<'_>,
    absence: &Absence,
    from: Instant<Monotonic>,
    to: Instant<Monotonic>,
    depth: usize,
) {
    if absence.left_state.is_stopped() {
        let thread = case.scene.culprit_by_number(absence.thread);
        return case.add(Cause::Stopped { thread }, to - from);
    }
    match absence.waking.map(|waking| waking.by) {
        None => case.add(Cause::UnexplainedGap, to - from),
        Some(Waker::Timer(fire)) => {
            // A thread that waits for its own timer within the window is not late before that
            // timer expires; nor is a relay.
            let own_time = match depth {
                0 if absence.left_at < from => from,
                _ => fire.soft_expires().map_or(from, |expires| expires.clamp(from, to)),
            };
            let thread = case.scene.culprit_by_number(absence.thread);
            case.add(Cause::Asleep { thread }, own_time - from);
            late_interrupt::asleep_until_timer(case, &fire, own_time, to);
        }
        Some(Waker::Interrupt(activity)) => {
            let name = interrupts::name(activity, case.scene.names);
            case.add(Cause::AwaitedInterrupt { name }, to - from);
        }
        Some(Waker::Thread(waker)) => {
            let cpu = absence.waking.map_or(absence.left_cpu, |waking| waking.cpu);
            follow(case, waker, cpu, from, to, depth);
        }
    }
}

/// Divides the time up to `to`, when `thread` on `cpu` woke the thread that waited for
/// it. Before that, `thread` ran; before that it waited for a CPU; before that it was
/// stopped, or slept until it was woken itself.
fn follow(
    case: &mut Case<'_>,
    thread: ThreadId,
    cpu: u32,
    from: Instant<Monotonic>,
    to: Instant<Monotonic>,
    depth: usize,
) {
    let scene = case.scene;
    let absence = match depth {
        CHAIN_MAX.. => None,
        _ => scene.log.last_absence(thread, from, to).copied(),
    };
    let back = absence.map_or(from, |absence| absence.back_at);
    if let Some(absence) = absence {
        let woken = match absence.waking {
            Some(waking) if absence.slept() => waking.at.clamp(from, back),
            _ => absence.left_at.clamp(from, back),
        };
        let left = absence.left_at.clamp(from, woken);
        // Before it left, it ran or was absent for yet another reason.
        if left > from {
            follow(case, thread, absence.left_cpu, from, left, depth + 1);
        }
        if woken > left {
            asleep_at(case, &absence, left, woken, depth + 1);
        }
        waiting::wait(case, &absence, woken, back);
    }
    case.spread(cpu, back, to, |_, slice| match slice.activity {
        Activity::Idle { state } => Cause::IdleExit { cpu: slice.cpu, state },
        // Interrupt handling is already excluded from the divided time.
        Activity::Thread
        | Activity::Vector(_)
        | Activity::Irq { .. }
        | Activity::Softirq(_)
        | Activity::Timer { .. }
        | Activity::JiffyTimer { .. } => Cause::OtherThread { thread: scene.culprit(slice) },
    });
}
