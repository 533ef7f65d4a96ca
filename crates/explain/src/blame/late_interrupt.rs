//! Why a timer was served late.

use tactus_model::time::{Instant, Monotonic, Nanos};

use super::case::{Case, Piece};
use super::site::{Found, found};
use super::steal;
use crate::cause::{Cause, Hold};
use crate::machine::{Activity, Slice, TimerFire};

/// The maximum time the timer hardware and the CPU need to deliver an interrupt when
/// interrupts are on.
///
/// Measured in a guest on a busy host: 1.5 µs at the median, up to 50 µs in code that
/// cannot disable interrupts. A longer delay in such code is a vCPU stall (hypervisor
/// or SMI).
const DELIVERY_MAX: Nanos = Nanos::from_micros(50);

/// The maximum time to leave an idle state.
///
/// The exit latencies of idle states are below 1 ms, except in some CPUs for tablets
/// (`drivers/idle/intel_idle.c`). Interrupts wake an idle CPU, so a longer delay is a vCPU stall
/// (hypervisor or SMI).
const EXIT_MAX: Nanos = Nanos::from_millis(1);

/// The cause of a piece in which an idle CPU had work to do.
pub(super) fn idle_exit(piece: &Piece, slice: &Slice) -> Cause {
    let cpu = slice.cpu;
    match slice.activity {
        Activity::Idle { state } if piece.length() <= EXIT_MAX => Cause::IdleExit { cpu, state },
        _ => Cause::BelowKernel { cpu },
    }
}

/// Divides the time from `from` to the wakeup at `to` for a thread that slept until the
/// timer of `fire`.
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
    // Time beyond the length of a tick is lateness of the tick itself.
    let ticked = (allowed + tick).min(served);
    case.add(Cause::AwaitedTick, ticked - allowed);
    late(case, fire, ticked, served);
    // From the entry of the interrupt on, the CPU works for timers, including ours.
    case.spread(fire.cpu, served, to, |_, _| {
        Some(Cause::TimerWork { function: None, cpu: fire.cpu })
    });
}

/// The end of the timer slack: the latest instant at which the kernel may serve the
/// timer (prctl(2), `PR_SET_TIMERSLACK`); `None` for a timer without slack.
fn slack_end(fire: &TimerFire) -> Option<Instant<Monotonic>> {
    let armed = fire.armed?;
    (armed.expires > armed.soft_expires).then(|| fire.on_monotonic(armed.expires))
}

/// Divides the time in which the timer was due and its interrupt had not come.
///
/// [`Case::spread`] has taken out host pauses, steal time, interrupts and softirqs. In the
/// remaining time:
///
/// - The CPU was idle: C-state exit, or a vCPU stall if it took longer than any C-state does.
/// - A thread ran, and the call chain of the interrupt that ended its slice shows code in which
///   interrupts were on: user mode, or a function that does not enable interrupts. The delay is a
///   vCPU stall (hypervisor or SMI).
/// - The kernel had just enabled interrupts: IRQ-off section of the function that did so. Not if
///   there was steal time: a host that is known to have taken the CPU probably had it for the rest
///   of the silence too, though the account does not show it.
/// - Elsewhere in the kernel, either is possible: a gap with its function.
/// - Without a call chain nothing is known: a gap, with its thread if other interrupts came with
///   call chains.
fn late(case: &mut Case<'_>, fire: &TimerFire, from: Instant<Monotonic>, to: Instant<Monotonic>) {
    let scene = case.scene;
    let has_chains = scene.names.chains().len() > 0;
    let delivered = to - from <= DELIVERY_MAX;
    let stolen = !steal::stretches(scene, fire.cpu, from, to).is_empty();
    case.spread(fire.cpu, from, to, |piece, slice| {
        if slice.activity.is_idle() {
            return Some(idle_exit(piece, slice));
        }
        let in_time = slice.to.min(to) - slice.from.max(from) <= DELIVERY_MAX;
        Some(match found(slice.end_chain, scene.names) {
            _ if delivered => Cause::TimerWork { function: None, cpu: slice.cpu },
            Found::InterruptsOn => Cause::BelowKernel { cpu: slice.cpu },
            Found::Unknown if slice.end_chain.is_none() && has_chains => {
                Cause::GapInThread { thread: scene.culprit(slice) }
            }
            Found::Unknown => Cause::UnexplainedGap,
            // Usually the exit path of another interrupt.
            _ if in_time => Cause::TimerWork { function: None, cpu: slice.cpu },
            Found::SectionEnd(site) if !stolen => Cause::KernelSection {
                thread: scene.culprit(slice),
                hold: Hold::Interrupts,
                site: Some(site),
            },
            Found::SectionEnd(site) | Found::Kernel(site) => {
                Cause::GapInKernel { site: Some(site) }
            }
        })
    });
}
