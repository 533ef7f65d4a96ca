//! Sixteen steps of percussion, with a light for each sound.

use tactus_toolkit::{
    Dmx, IfLate, Midi, Nanos, Problem, Score, Task, TempoMap, Timeline, beat, bpm,
};

/// The steps of a bar.
const STEPS: i64 = 16;

/// A sound, the channel of its light, and its steps.
struct Track {
    name: &'static str,
    key: u8,
    light: usize,
    steps: [u8; STEPS as usize],
}

#[rustfmt::skip]
const TRACKS: [Track; 3] = [
    Track { name: "kick", key: 36, light: 1, steps: [1,0,0,0, 0,0,1,0, 0,0,1,0, 0,0,0,0] },
    Track { name: "snare", key: 38, light: 2, steps: [0,0,0,0, 1,0,0,0, 0,0,0,0, 1,0,0,1] },
    Track { name: "hat", key: 42, light: 3, steps: [1,0,1,0, 1,0,1,0, 1,0,1,0, 1,0,1,1] },
];

/// What the hat plays in the second half.
const OPEN_HAT: [u8; STEPS as usize] = [0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0];

/// A light that comes too late is left dark.
const LIGHT: IfLate = IfLate::Drop(Nanos::from_millis(20));

/// So many bars; the second half is a little faster, and its hat is another.
pub fn compose(bars: u32) -> Result<Score, Problem> {
    let score = Score::new();
    let (drums, lights) = (score.midi("drums").channel(9), score.dmx("lights"));
    let bars = i64::from(bars);
    let half = beat(bars / 2 * 4);
    let map = TempoMap::new(bpm(120))?.ramp(half, half + beat(4), bpm(126))?;
    let line = score.timeline(map);
    for Track { name, key, light, steps } in TRACKS {
        let (lights, line) = (lights.clone(), line.clone());
        let part = Part { drums, lights, line, name, key, light, steps };
        score.spawn(name, async move |s| part.play(&s, 0, bars * STEPS).await)?;
    }
    score.spawn("arranger", async move |s| {
        let name = "open hat";
        let part = Part { drums, lights, line, name, key: 46, light: 4, steps: OPEN_HAT };
        // Ahead of its time, so that nothing of the old hat sounds from there on.
        s.beat(&part.line, half - (beat(1) / 2).min(half)).await?;
        s.cut("hat", part.line.time(half)?)?;
        let first = bars / 2 * STEPS;
        s.spawn("hat", async move |s| part.play(&s, first, bars * STEPS).await)
    })?;
    Ok(score)
}

struct Part {
    drums: Midi,
    lights: Dmx,
    line: Timeline,
    name: &'static str,
    key: u8,
    light: usize,
    steps: [u8; STEPS as usize],
}

impl Part {
    /// Plays from one step up to another.
    async fn play(&self, s: &Task, first: i64, end: i64) -> Result<(), Problem> {
        for step in first..end {
            if self.steps[(step % STEPS) as usize] == 0 {
                continue;
            }
            let at = beat(step) / 4;
            s.beat(&self.line, at).await?;
            let length = self.line.span(at, beat(1) / 8)?;
            let label = format!("{} {step}", self.name);
            s.play(self.drums.note(self.key, 100).lasting(length).named(&label))?;
            s.play(self.lights.set(self.light, 255).if_late(LIGHT).named(&label))?;
            s.beat(&self.line, at + beat(1) / 8).await?;
            s.play(self.lights.set(self.light, 0))?;
        }
        Ok(())
    }
}
