//! Selects the CPUs of a timeline to show, and lists what ran there.

use tactus_explain::timeline::{Bar, Lane, Occupant, Timeline};
use tactus_model::time::Nanos;

/// The most CPUs that are shown: hundreds would hide the one that matters.
const LANES: usize = 8;

/// The CPUs to show, by number, and how many are omitted.
///
/// CPUs on which the sample's own thread ran come first, then the least idle.
pub(super) fn shown(timeline: &Timeline) -> (Vec<&Lane>, usize) {
    let mut lanes: Vec<&Lane> = timeline.lanes.iter().collect();
    lanes.sort_by_key(|lane| (!runs_probe(lane), std::cmp::Reverse(busy(lane)), lane.cpu));
    let left_out = lanes.len().saturating_sub(LANES);
    lanes.truncate(LANES);
    lanes.sort_by_key(|lane| lane.cpu);
    (lanes, left_out)
}

fn runs_probe(lane: &Lane) -> bool {
    lane.bars.iter().any(|bar| bar.occupant == Occupant::Probe)
}

fn busy(lane: &Lane) -> Nanos {
    let is_active = |bar: &&Bar| !matches!(bar.occupant, Occupant::Idle | Occupant::HostPause);
    lane.bars.iter().filter(is_active).map(length).sum()
}

/// The duration of a bar.
pub(super) fn length(bar: &Bar) -> Nanos {
    bar.to - bar.from
}

/// The occupant as named in a legend: the same with need_resched set or clear, and the same for all
/// short stretches.
pub(super) fn named(occupant: &Occupant) -> Occupant {
    match occupant {
        Occupant::Thread { thread, .. } => {
            Occupant::Thread { thread: thread.clone(), asked: false }
        }
        Occupant::Several { .. } => Occupant::Several { count: 0 },
        other => other.clone(),
    }
}

/// The occupants of these lanes with their time, the longest first.
pub(super) fn parts(lanes: &[&Lane]) -> Vec<(Occupant, Nanos)> {
    let mut parts: Vec<(Occupant, Nanos)> = Vec::new();
    for bar in lanes.iter().flat_map(|lane| &lane.bars) {
        let name = named(&bar.occupant);
        match parts.iter_mut().find(|(other, _)| *other == name) {
            Some((_, time)) => *time = *time + length(bar),
            None => parts.push((name, length(bar))),
        }
    }
    parts.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
    parts
}

/// The name of an occupant in a legend.
pub(super) fn name(occupant: &Occupant) -> String {
    match occupant {
        Occupant::Several { .. } => "several, each too short to draw".to_owned(),
        Occupant::Probe => "the late thread".to_owned(),
        other => other.to_string(),
    }
}
