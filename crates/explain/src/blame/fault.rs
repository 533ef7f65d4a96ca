//! Page faults of the probe itself.

use tactus_model::recording::TaskState;
use tactus_model::time::{Instant, Monotonic};

use super::Window;
use super::case::Case;
use crate::cause::Cause;
use crate::machine::{Absence, Waker};

/// Whether the thread slept because of a page fault.
///
/// It did if a fault began while it ran in the window and it then left the CPU asleep.
/// If faults are not recorded, uninterruptible sleep that began after the due time and
/// that no timer ended counts as a fault: in that part the measured loop does nothing
/// else in the kernel that could sleep this way.
pub(super) fn is_fault_sleep(absence: &Absence, window: &Window<'_>) -> bool {
    if absence.left_state.is_stopped() || absence.left_at < window.due {
        return false;
    }
    if matches!(absence.waking.map(|waking| waking.by), Some(Waker::Timer(_))) {
        return false;
    }
    let faulted = window.faults.iter().any(|fault| *fault <= absence.left_at);
    faulted || absence.left_state.0 & TaskState::UNINTERRUPTIBLE.0 != 0
}

/// Divides the time in which the thread ran on `cpu`.
///
/// The end of a fault is not recorded. From a fault until the arrival, the thread's own
/// time counts as part of the fault; the loop stamps the arrival a few instructions
/// later.
pub(super) fn running(
    case: &mut Case<'_>,
    window: &Window<'_>,
    cpu: u32,
    from: Instant<Monotonic>,
    to: Instant<Monotonic>,
) {
    let since_due = window.faults.iter().filter(|fault| **fault >= window.due);
    let faulted = since_due.min().map_or(to, |fault| (*fault).clamp(from, to));
    case.spread(cpu, from, faulted, |_, _| Some(Cause::Switch));
    case.spread(cpu, faulted, to, |_, _| Some(Cause::PageFault));
}
