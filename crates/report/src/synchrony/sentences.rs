//! What a judgement says in sentences.

use tactus_model::time::Nanos;
use tactus_synchrony::clip::SAMPLE_RATE;
use tactus_synchrony::judgement::Row;
use tactus_synchrony::thresholds::Rating;
use tactus_synchrony::{Clip, Judgement, Pooled, SignedNanos};

use super::uncertain;
use crate::format;

/// The sign of offsets, stated once.
pub(super) const SIGN: &str = "Sound − picture is positive if the sound comes after the picture, and slip if the player is late.";

/// What the figures mean.
pub(super) const MEANINGS: [&str; 3] = [
    SIGN,
    "By ITU-R BT.1359, viewers detect sound that is more than 45 ms early or 125 ms late, and do not accept it beyond 90 ms early or 185 ms late.",
    "Drift is the slope of sound − picture, the median of the slopes between all pairs. Slip is how much longer than in the clip the time from the first marks to the last was, of picture or sound, whichever is worse; it is of the time between the medians of these marks, up to five at each end.",
];

/// What the observers do.
pub(super) const OBSERVERS: [&str; 4] = [
    "The photodiode reads the memory of the X server: a change lies between the look that still saw the old picture and the look that saw the new one, and its middle counts. The microphone reads the monitor of a sink without hardware, by the clock of its device. Neither sees a panel or hears a loudspeaker.",
    "Dropped frames never appeared, though frames before and after them did. A frame that remains for another period counts as repeated. Phase is how far a frame appears from a regular sequence through all frames of its playback.",
    "A reserve guarantees CPU time to the thread that shows the frames and to the X server; the sound server has the real-time policy that it asks for. CPU time per frame is that of the player's processes, without both servers.",
    "Blind time is when the observers did not look or listen: what may have happened then is unobserved, and neither dropped nor lost.",
];

pub(super) fn title(judgement: &Judgement) -> String {
    let plan = &judgement.plan;
    let mut names: Vec<&str> = plan.players.iter().map(|player| player.name.as_str()).collect();
    names.dedup();
    let under = if plan.has_loads() { " under load" } else { "" };
    format!("Sound and picture of {}{under}", listed(&names))
}

fn listed(names: &[&str]) -> String {
    match names {
        [] => "nothing".to_owned(),
        [only] => (*only).to_owned(),
        [before @ .., last] => format!("{} and {last}", before.join(", ")),
    }
}

/// A headline, and a sentence about each clip.
pub(super) fn findings(judgement: &Judgement, rows: &[Row]) -> Vec<String> {
    let mut found: Vec<String> = headline(judgement, rows).into_iter().collect();
    found.extend(clips(judgement, rows));
    if rows.is_empty() {
        found.push("No player was judged.".to_owned());
    }
    found
}

/// Which player is best: the one whose worst median of any clip, without load, is closest to what the
/// clip has.
fn headline(judgement: &Judgement, rows: &[Row]) -> Option<String> {
    let plan = &judgement.plan;
    let worst = |player: usize| {
        let idle = rows.iter().filter(|row| row.player == player && plan.loads[row.load].is_idle());
        let off = |row: &Row| Some(row.pooled.offset?.median - plan.clips[row.clip].shift);
        idle.filter_map(off).max_by_key(|median| median.magnitude())
    };
    let judged = (0..plan.players.len()).filter_map(|player| Some((player, worst(player)?)));
    let judged: Vec<(usize, SignedNanos)> = judged.collect();
    let (best, median) = judged.iter().min_by_key(|(_, median)| median.magnitude())?;
    let name = &plan.players[*best];
    let beside = if plan.has_loads() { ", without load" } else { "" };
    let of =
        if plan.has_shifts() { "sound − picture less the shift" } else { "sound − picture" };
    let at_worst = if plan.clips.len() > 1 { " at worst" } else { "" };
    if judged.len() == 1 {
        return Some(format!("{name}: {of} is {median}{at_worst} (median{beside})."));
    }
    Some(match uncertain::no_closest(judgement, rows) {
        Some(reason) => format!("Which player is closest is not known: {reason}."),
        None => format!("{name} is closest: its {of} is {median}{at_worst} (median{beside})."),
    })
}

fn clips(judgement: &Judgement, rows: &[Row]) -> Vec<String> {
    let plan = &judgement.plan;
    let places =
        (0..plan.clips.len()).flat_map(|clip| (0..plan.loads.len()).map(move |load| (clip, load)));
    let about = |(clip, load): (usize, usize)| {
        let rows = rows.iter().filter(|row| (row.clip, row.load) == (clip, load));
        let said: Vec<String> = rows
            .map(|row| format!("{} {}", plan.players[row.player], figures(&row.pooled)))
            .collect();
        let planted = planted(&plan.clips[clip]);
        let (rate, load) = (plan.clips[clip].rate, &plan.loads[load]);
        let under = if load.is_idle() { String::new() } else { format!(" under {load}") };
        (!said.is_empty())
            .then(|| format!("At {rate} frames/s{under}{planted}: {}.", said.join("; ")))
    };
    places.filter_map(about).collect()
}

/// The shift of a clip's sound, after its rate.
pub(super) fn planted(clip: &Clip) -> String {
    match clip.shift == SignedNanos::ZERO {
        true => String::new(),
        false => format!(" with sound shifted by {}", clip.shift),
    }
}

fn figures(pooled: &Pooled) -> String {
    let offset = match pooled.offset {
        Some(offset) => format!("has sound − picture {} (worst {})", offset.median, offset.worst),
        None => "has no pairs of flash and tone".to_owned(),
    };
    let frames = pooled.frames.map(|frames| match frames.dropped {
        0 => "dropped nothing".to_owned(),
        dropped => {
            let share = format::share(dropped.into(), frames.intended.into());
            format!("dropped {share} of the frames")
        }
    });
    let slip = slip(pooled).map(|slip| format!("slipped by {slip}"));
    let parts: Vec<String> = [Some(offset), frames, slip].into_iter().flatten().collect();
    listed(&parts.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The slip, and over which time of the clip.
fn slip(pooled: &Pooled) -> Option<String> {
    let over = pooled.slip_over.map(|over| format!(" over {}", format::span(over)));
    Some(format!("{}{}", pooled.slip?, over.unwrap_or_default()))
}

/// A sentence about a recording of a room.
pub(super) fn room(pooled: &Pooled) -> String {
    let Some(offset) = pooled.offset else {
        return "No flash has a tone within half a second.".to_owned();
    };
    let side = match offset.median.as_nanos() {
        0.. => "after",
        _ => "before",
    };
    let noticed = match pooled.rating {
        // The recommendation counts early sound as positive.
        Rating { detectable: 0, .. } => {
            "That is within the detection thresholds of ITU-R BT.1359: from 45 ms early to 125 ms late (+45 and −125 ms by its sign)"
                .to_owned()
        }
        Rating { detectable, unacceptable } => {
            let of = offset.count as u64;
            format!(
                "Viewers detect {} of the offsets, and do not accept {} (ITU-R BT.1359)",
                format::share(detectable as u64, of),
                format::share(unacceptable as u64, of)
            )
        }
    };
    let slip = slip(pooled).map(|slip| format!(" The slip is {slip}.")).unwrap_or_default();
    format!(
        "The sound comes {} {side} the picture (median of {}; worst {}). {noticed}.{slip}",
        format::latency(offset.median.magnitude()),
        format::counted(offset.count as u64, "pair"),
        offset.worst
    )
}

/// What the sink without hardware does to players that rely on its latency.
fn sink(quantum: u32) -> String {
    let cycle = u64::from(quantum) * 1_000_000_000 / u64::from(SAMPLE_RATE);
    let cycle = format::latency(Nanos::from_nanos(cycle));
    format!(
        "the sink plays a cycle ({cycle}) after it gets it, as hardware does, and PipeWire reports that for hardware only: the sound of players that rely on the report is judged later by that here"
    )
}

/// Turns whose load did nothing.
fn unlike_planned(judgement: &Judgement) -> Vec<String> {
    let plan = &judgement.plan;
    let idle = judgement.playbacks.iter().filter(|playback| {
        let achieved = &playback.conditions.load;
        !plan.loads[playback.turn.load].is_idle() && achieved.operations == Some(0)
    });
    idle.map(|playback| format!("{}: the load did nothing", plan.label(playback.turn))).collect()
}

/// What limits the figures: notes of playbacks, each once with its turns, and failures.
pub(super) fn notes(judgement: &Judgement) -> Vec<String> {
    let plan = &judgement.plan;
    let mut notes = vec![(sink(plan.quantum), 1)];
    let mut add = |text: String| match notes.iter_mut().find(|(known, _)| *known == text) {
        Some((_, count)) => *count += 1,
        None => notes.push((text, 1)),
    };
    for playback in &judgement.playbacks {
        for note in &playback.notes {
            add(format!("{}: {note}", plan.label(playback.turn)));
        }
    }
    for note in unlike_planned(judgement) {
        add(note);
    }
    for note in uncertain::busy(judgement).into_iter().chain(uncertain::medians(judgement)) {
        add(note);
    }
    for failed in &judgement.failed {
        let fix = failed.hint.as_ref().map(|hint| format!("; fix: {hint}")).unwrap_or_default();
        add(format!("{} failed: {}{fix}", plan.label(failed.turn), failed.reason));
    }
    let times = |(text, count): (String, usize)| match count {
        1 => text,
        count => format!("{text} ({count} times)"),
    };
    notes.into_iter().map(times).collect()
}
