//! Trials of an experiment on perception: a flash, a tone and a marker at the same time.

use std::collections::BTreeMap;

use serde::Serialize;
use tactus_model::random::SplitMix64;
use tactus_toolkit::{Nanos, Outcome, Problem, Row, Score};

/// How long the flash is.
const FLASH: Nanos = Nanos::from_millis(50);
/// How long the tone is.
const TONE: Nanos = Nanos::from_millis(200);
/// The shortest time before the stimuli.
const FOREPERIOD_LEAST: u64 = 500;
/// What is drawn in addition, in milliseconds.
const FOREPERIOD_DRAWN: u64 = 1001;

/// The stimuli of a trial, which are due together.
pub const STIMULI: [&str; 3] = ["flash", "tone", "marker"];

/// So many trials. What is drawn depends on `seed` alone.
pub fn compose(trials: u32, seed: u64) -> Result<Score, Problem> {
    let score = Score::new();
    let (lights, synth) = (score.dmx("lights"), score.midi("synth"));
    let markers = score.bytes("markers");
    score.spawn("trials", async move |s| {
        let mut random = SplitMix64::new(seed);
        for trial in 1..=trials {
            let foreperiod = FOREPERIOD_LEAST + random.below(FOREPERIOD_DRAWN);
            s.after(Nanos::from_millis(foreperiod)).await;
            let [flash, tone, marker] = STIMULI.map(|stimulus| format!("{trial} {stimulus}"));
            s.play(lights.set(1, 255).named(&flash))?;
            s.play(synth.note(69, 100).lasting(TONE).named(&tone))?;
            s.play(markers.send(marker.as_bytes()).named(&marker))?;
            s.after(FLASH).await;
            s.play(lights.set(1, 0))?;
        }
        Ok(())
    })?;
    Ok(score)
}

/// A trial as a laboratory publishes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Trial {
    /// Its number, from 1.
    pub trial: u32,
    /// When its stimuli were due, on the clock of the server.
    pub due_ns: u64,
    /// How much later than due each began.
    pub flash_error_ns: Option<i64>,
    pub tone_error_ns: Option<i64>,
    pub marker_error_ns: Option<i64>,
    /// What lies between the first and the last; `None` if one is missing.
    pub spread_ns: Option<u64>,
    /// Whether all were delivered.
    pub is_complete: bool,
}

/// The trials of the items of a performance.
pub fn trials(rows: &[Row]) -> Vec<Trial> {
    let mut found: BTreeMap<u32, BTreeMap<&str, &Row>> = BTreeMap::new();
    for row in rows {
        let Some((trial, stimulus)) = row.label.as_deref().and_then(|label| label.split_once(' '))
        else {
            continue;
        };
        if let Ok(trial) = trial.parse() {
            found.entry(trial).or_default().insert(stimulus, row);
        }
    }
    found.into_iter().map(|(trial, stimuli)| summary(trial, &stimuli)).collect()
}

fn summary(trial: u32, stimuli: &BTreeMap<&str, &Row>) -> Trial {
    let [flash, tone, marker] = STIMULI.map(|stimulus| stimuli.get(stimulus));
    let began: Option<Vec<u64>> =
        [flash, tone, marker].into_iter().map(|row| row.and_then(|row| row.began_ns)).collect();
    let spread = |began: Vec<u64>| Some(began.iter().max()? - began.iter().min()?);
    let error = |row: Option<&&Row>| row.and_then(|row| row.error_ns);
    let is_delivered =
        |row: Option<&&Row>| row.is_some_and(|row| row.outcome == Outcome::Delivered);
    Trial {
        trial,
        due_ns: stimuli.values().map(|row| row.due_ns).min().unwrap_or_default(),
        flash_error_ns: error(flash),
        tone_error_ns: error(tone),
        marker_error_ns: error(marker),
        spread_ns: began.and_then(spread),
        is_complete: [flash, tone, marker].into_iter().all(is_delivered),
    }
}
