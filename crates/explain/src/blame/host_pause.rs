//! The host paused all CPUs of the guest.

use tactus_model::time::{Instant, Monotonic, Nanos};

use super::case::{Scene, Stretch};
use crate::machine::Silence;

/// The maximum time between the resumption of two CPUs that were paused together.
///
/// Measured: a pause of 27 ms ended within 3.6 µs on two CPUs. A host starts many vCPUs
/// one after the other.
const TOGETHER: Nanos = Nanos::from_micros(100);

/// How long after its first event a CPU may take to serve the timer that proves the
/// delay: an interrupt serves its timers one after the other.
const PROOF_WITHIN: Nanos = Nanos::from_micros(200);

/// A shorter pause cannot be distinguished from disabled interrupts.
const PAUSE_MIN: Nanos = Nanos::from_micros(100);

/// Finds the pauses of the whole machine between two instants, in order.
///
/// Silence alone proves nothing: an idle CPU has no events, and the ticks of all CPUs
/// come at the same moment. A pause requires that at least two CPUs were silent,
/// resumed together, and each had a timer that expired during the silence and was
/// served only at its end; every other CPU must have been silent too. The pause starts
/// at the first of those expiries, since the time before may have been ordinary idle
/// time. On a machine with one CPU no pause can be proved.
pub(super) fn find(
    scene: &Scene<'_>,
    from: Instant<Monotonic>,
    to: Instant<Monotonic>,
) -> Vec<Stretch> {
    // Most stretches have silences and no late timer: then there is nothing to prove.
    if scene.log.since(just_before(from, TOGETHER)).late_timers().is_empty() {
        return Vec::new();
    }
    let cpus = 0..scene.machine.cpus().len() as u32;
    let silences = cpus.flat_map(|cpu| {
        let silences = scene.log.since(from).silences(cpu).iter();
        silences.take_while(|silence| silence.from < to)
    });
    let near = silences.filter(|silence| {
        let late = scene
            .log
            .between(just_before(silence.to, TOGETHER), silence.to + TOGETHER + PROOF_WITHIN);
        !late.late_timers().is_empty()
    });
    let mut pauses: Vec<Stretch> =
        near.filter_map(|silence| pause_at_end_of(scene, silence)).collect();
    pauses.sort_unstable();
    let mut merged: Vec<Stretch> = Vec::new();
    for pause in pauses {
        match merged.last_mut() {
            Some(last) if pause.0 <= last.1 => last.1 = last.1.max(pause.1),
            _ => merged.push(pause),
        }
    }
    merged
}

/// The pause that ended together with this silence, if there was one.
fn pause_at_end_of(scene: &Scene<'_>, silence: &Silence) -> Option<Stretch> {
    let mut start = silence.from;
    let mut end = silence.to;
    let mut first_expiry: Option<Instant<Monotonic>> = None;
    let mut witnesses = 0;
    for (number, cpu) in scene.machine.cpus().iter().enumerate() {
        let number = number as u32;
        let Some(last_at) = cpu.last_at() else { continue };
        // The silences of a CPU do not overlap, so no later one can end together with this one or
        // contain its end.
        let next = scene.log.since(just_before(silence.to, TOGETHER)).silences(number).first();
        if let Some(other) = next.filter(|other| other.to <= silence.to + TOGETHER) {
            start = start.max(other.from);
            end = end.min(other.to);
            if let Some(expiry) = expiry_within(scene, other) {
                witnesses += 1;
                first_expiry = Some(first_expiry.map_or(expiry, |first| first.min(expiry)));
            }
        } else if let Some(other) = next.filter(|other| other.from < silence.to) {
            start = start.max(other.from);
        } else if last_at <= silence.to {
            start = start.max(last_at);
        } else {
            return None;
        }
    }
    let start = start.max(first_expiry?);
    (witnesses >= 2 && end - start >= PAUSE_MIN).then_some((start, end))
}

/// The expiry of the timer that was served only when this silence ended.
fn expiry_within(scene: &Scene<'_>, silence: &Silence) -> Option<Instant<Monotonic>> {
    let served = scene.log.between(just_before(silence.to, Nanos::ZERO), silence.to + PROOF_WITHIN);
    let overdue = served.overdue(silence.cpu).iter();
    overdue
        .map(|overdue| overdue.served - overdue.late)
        .filter(|expiry| *expiry < silence.to)
        .map(|expiry| expiry.max(silence.from))
        .min()
}

/// The last instant that is more than `length` before another.
fn just_before(at: Instant<Monotonic>, length: Nanos) -> Instant<Monotonic> {
    at - length - Nanos::from_nanos(1)
}
