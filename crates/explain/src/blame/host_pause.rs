//! The host let no processor run.

use tactus_model::time::{Instant, Monotonic, Nanos};

use super::case::{Scene, Stretch};
use crate::machine::Silence;

/// How far apart processors may resume and still have been paused together.
///
/// One pause of 27 ms that was looked at ended within 3.6 µs on two processors;
/// a host starts many virtual processors one after the other.
const TOGETHER: Nanos = Nanos::from_micros(100);

/// How long after its first event a processor may take to serve the timer that
/// proves it was late: an interrupt serves its timers one after the other.
const PROOF_WITHIN: Nanos = Nanos::from_micros(200);

/// A pause shorter than this is not told apart from interrupts being off.
const PAUSE_MIN: Nanos = Nanos::from_micros(100);

/// The pauses of the whole machine between two instants, in order.
///
/// Silence alone proves nothing: an idle processor is silent, and ticks of all
/// processors come at the same moment. At least two processors must have been
/// silent, have resumed together, and each have had a timer that expired during
/// the silence and was served only at its end; every other processor must have
/// been silent too. The pause counts from the first of those expiries, since
/// what lies before it may have been ordinary quiet. A machine with one processor
/// gives no such proof.
pub(super) fn find(
    scene: &Scene<'_>,
    from: Instant<Monotonic>,
    to: Instant<Monotonic>,
) -> Vec<Stretch> {
    let mut pauses: Vec<Stretch> = scene
        .log
        .silences
        .iter()
        .filter(|silence| silence.to > from && silence.from < to)
        .filter_map(|silence| pause_at_end_of(scene, silence))
        .collect();
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

/// The pause that ended when this silence did, if it was one.
fn pause_at_end_of(scene: &Scene<'_>, silence: &Silence) -> Option<Stretch> {
    let mut start = silence.from;
    let mut end = silence.to;
    let mut first_expiry: Option<Instant<Monotonic>> = None;
    let mut witnesses = 0;
    for (cpu, processor) in scene.machine.processors().iter().enumerate() {
        let cpu = cpu as u32;
        let Some(last_at) = processor.last_at() else { continue };
        let mine = scene.log.silences.iter().filter(|other| other.cpu == cpu);
        let ending_together = mine.clone().find(|other| {
            other.to.as_nanos().abs_diff(silence.to.as_nanos()) <= TOGETHER.as_nanos()
        });
        if let Some(other) = ending_together {
            start = start.max(other.from);
            end = end.min(other.to);
            if let Some(expiry) = expiry_within(scene, other) {
                witnesses += 1;
                first_expiry = Some(first_expiry.map_or(expiry, |first| first.min(expiry)));
            }
        } else if let Some(other) =
            mine.clone().find(|other| other.from < silence.to && silence.to < other.to)
        {
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

/// When the timer expired that was served only when this silence ended.
fn expiry_within(scene: &Scene<'_>, silence: &Silence) -> Option<Instant<Monotonic>> {
    scene
        .log
        .overdue
        .iter()
        .filter(|overdue| overdue.cpu == silence.cpu)
        .filter(|overdue| {
            overdue.served >= silence.to && overdue.served - silence.to <= PROOF_WITHIN
        })
        .map(|overdue| Instant::from_nanos(overdue.served.as_nanos() - overdue.late.as_nanos()))
        .filter(|expiry| *expiry < silence.to)
        .map(|expiry| expiry.max(silence.from))
        .min()
}
