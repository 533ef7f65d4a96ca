//! Why a timer was served late.

use tactus_model::time::{Instant, Monotonic, Nanos};

use super::case::Case;
use super::site::{Interrupted, interrupted};
use super::steal;
use crate::cause::{Cause, Hold};
use crate::machine::{Activity, TimerFire};

/// How long the timer hardware and the processor may take to deliver an
/// interrupt that nothing holds off.
///
/// Measured in a guest on a busy host: 1.5 µs at the median, up to 50 µs in code
/// that cannot hold interrupts off. What takes longer there is a gap: the host
/// or firmware had the processor.
const DELIVERY_MAX: Nanos = Nanos::from_micros(50);

/// Divides the time from `from` to the wakeup at `to` of a thread that slept
/// until the timer of `fire`.
pub(super) fn asleep_until_timer(
    case: &mut Case<'_>,
    fire: &TimerFire,
    from: Instant<Monotonic>,
    to: Instant<Monotonic>,
) {
    let served = fire.irq_at.clamp(from, to);
    let allowed = slack_end(fire).map_or(from, |end| end.clamp(from, served));
    case.add(Cause::TimerSlack, allowed - from);
    late(case, fire, allowed, served);
    // From the interrupt's entry on the processor works for timers, ours among them.
    case.spread(fire.cpu, served, to, |_, _| Cause::TimerWork { function: None, cpu: fire.cpu });
}

/// Until when the kernel was allowed to wait before it served the timer
/// (prctl(2), `PR_SET_TIMERSLACK`); none for a timer without slack.
fn slack_end(fire: &TimerFire) -> Option<Instant<Monotonic>> {
    let armed = fire.armed?;
    (armed.expires > armed.soft_expires).then(|| fire.on_monotonic(armed.expires))
}

/// Divides the time in which the timer was due and its interrupt did not come.
///
/// After host pause, steal, interrupts and softirqs (taken out by
/// [`Case::spread`]): the processor was idle and had to leave idle; or a thread
/// ran, and then the call chain at the interrupt's entry says whether it was in
/// kernel code, which must have held interrupts off, or in user mode, which
/// cannot. Without a chain nothing is claimed, and neither is beside steal: a host
/// that is known to have had the processor had it for the rest of the silence
/// too, only the account does not show it.
fn late(case: &mut Case<'_>, fire: &TimerFire, from: Instant<Monotonic>, to: Instant<Monotonic>) {
    let scene = case.scene;
    let at_entry = interrupted(fire.irq_chain, scene.names);
    let delivered = to - from <= DELIVERY_MAX;
    let stolen = !steal::stretches(scene, fire.cpu, from, to).is_empty();
    case.spread(fire.cpu, from, to, |_, slice| match (slice.activity, &at_entry) {
        (Activity::Idle { state }, _) => Cause::IdleExit { cpu: slice.cpu, state },
        _ if delivered => Cause::TimerWork { function: None, cpu: slice.cpu },
        (_, Interrupted::Kernel(site)) if !stolen => Cause::KernelSection {
            thread: scene.culprit(slice),
            hold: Hold::Interrupts,
            site: Some(site.clone()),
        },
        _ => Cause::UnexplainedGap,
    });
}
