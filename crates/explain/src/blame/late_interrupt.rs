//! Why a timer was served late.

use tactus_model::time::{Instant, Monotonic, Nanos};

use super::case::Case;
use super::site::{Found, found};
use super::steal;
use crate::cause::{Cause, Hold};
use crate::machine::{Activity, TimerFire};

/// How long the timer hardware and the processor may take to deliver an
/// interrupt that nothing holds off.
///
/// Measured in a guest on a busy host: 1.5 µs at the median, up to 50 µs in code
/// that cannot hold interrupts off. What takes longer there was held below the
/// kernel.
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
    let tick = case.scene.machine.timer_tick().unwrap_or(Nanos::ZERO);
    // What goes beyond a tick's length was the tick's own lateness.
    let ticked = (allowed + tick).min(served);
    case.add(Cause::AwaitedTick, ticked - allowed);
    late(case, fire, ticked, served);
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
/// ran, and then the call chain of the interrupt that ended its stretch says
/// where that found it. In user mode nothing holds interrupts off, and in some
/// functions nothing switches them on, so the delay lies below the kernel. Where the kernel had just switched interrupts on they
/// had been off, in the function that did so; but not beside steal: a host that is
/// known to have had the processor had it for the rest of the silence too, only
/// the account does not show it. Elsewhere in the kernel it could be either, and
/// without a chain nothing is known: both remain a gap, the first with its place,
/// the second with its thread where other interrupts came with chains.
fn late(case: &mut Case<'_>, fire: &TimerFire, from: Instant<Monotonic>, to: Instant<Monotonic>) {
    let scene = case.scene;
    let has_chains = scene.names.chains().len() > 0;
    let delivered = to - from <= DELIVERY_MAX;
    let stolen = !steal::stretches(scene, fire.cpu, from, to).is_empty();
    case.spread(fire.cpu, from, to, |_, slice| {
        if let Activity::Idle { state } = slice.activity {
            return Cause::IdleExit { cpu: slice.cpu, state };
        }
        let in_time = slice.to.min(to) - slice.from.max(from) <= DELIVERY_MAX;
        match found(slice.end_chain, scene.names) {
            _ if delivered => Cause::TimerWork { function: None, cpu: slice.cpu },
            Found::InterruptsOn => Cause::BelowKernel { cpu: slice.cpu },
            Found::Unknown if slice.end_chain.is_none() && has_chains => {
                Cause::GapInThread { thread: scene.culprit(slice) }
            }
            Found::Unknown => Cause::UnexplainedGap,
            // The way out of another interrupt, most often.
            _ if in_time => Cause::TimerWork { function: None, cpu: slice.cpu },
            Found::SectionEnd(site) if !stolen => Cause::KernelSection {
                thread: scene.culprit(slice),
                hold: Hold::Interrupts,
                site: Some(site),
            },
            Found::SectionEnd(site) | Found::Kernel(site) => {
                Cause::GapInKernel { site: Some(site) }
            }
        }
    });
}
