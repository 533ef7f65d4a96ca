//! A recording of a real room: a microphone and a photodiode in the two channels of a wave file.
//!
//! A tone begins where the microphone exceeds a quarter of its usual greatest deviation, a flash where the
//! photodiode exceeds half of it. What is usual are the greatest deviations of whole seconds without the
//! greatest quarter: a clap or a flash of something else does not move it. Both count only after a quiet
//! time. Marks come once a second: if something foreign is out of step and a mark that is in step follows it
//! soon, the mark counts. Any other foreign sound has no flash, or is one outlier. Pitches are
//! not used: a sound that is more than half a second off is paired with a wrong flash.

use std::io::Read;

use hound::{SampleFormat, WavReader};
use tactus_model::time::Nanos;

use crate::clip::MARK;
use crate::findings::{Findings, Flash};
use crate::observed::{Moment, Span, Tone};
use crate::tone::Beginnings;

/// The most frames of a recording: 10 minutes at 48 kHz.
pub const FRAMES_MOST: u32 = 28_800_000;

/// The rates of recordings.
const RATES: std::ops::RangeInclusive<u32> = 8_000..=192_000;

/// The most channels; only the first two are used.
const CHANNELS_MOST: u16 = 32;

/// The shares of the greatest deviation at which a tone and a flash begin.
const TONE: f32 = 0.25;
const FLASH: f32 = 0.5;

/// The part of a second that is quiet before a mark.
const QUIET: u32 = 3;

/// The part of a second that is quiet before a mark which a foreign sound precedes.
const QUIET_AGAIN: u32 = 50;

/// The part of a second by which regular marks may differ: players slip by less.
const NEAR: usize = 20;

/// The most phases among which the usual one is sought.
const PHASES_MOST: usize = 500;

/// A signal whose usual greatest deviation is less than this has no marks.
const SILENT: f32 = 0.001;

/// The least marks from which something can be concluded.
const MARKS_LEAST: usize = 3;

/// Why a recording cannot be judged.
#[derive(Debug, thiserror::Error)]
pub enum WaveError {
    /// It is not a wave file, or it is damaged.
    #[error("it is not a wave file that can be read: {0}")]
    Form(#[from] hound::Error),
    /// The channels.
    #[error(
        "it {}; 2 to {CHANNELS_MOST} channels are needed: the microphone first, then the photodiode", channels(*.0)
    )]
    Channels(u16),
    /// The rate.
    #[error("its rate is {0} Hz; it must be from {least} to {most} Hz", least = RATES.start(), most = RATES.end())]
    Rate(u32),
    /// The length.
    #[error("it has {0} frames; at most {FRAMES_MOST} are read: 10 minutes at 48 kHz")]
    Long(u32),
    /// A channel has no marks.
    #[error(
        "the {channel} has {found} marks in it, and at least {MARKS_LEAST} are needed; play a clip of `tactus judge --clip` and record louder"
    )]
    Marks {
        /// `microphone` or `photodiode`.
        channel: &'static str,
        /// The marks in it.
        found: usize,
    },
}

/// What a recording with this number of channels is.
fn channels(count: u16) -> String {
    if count == 1 { "is mono".to_owned() } else { format!("has {count} channels") }
}

/// The samples of both channels.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// Frames a second.
    pub rate: u32,
    /// The first channel.
    pub microphone: Vec<f32>,
    /// The second channel.
    pub photodiode: Vec<f32>,
}

/// Reads a wave file with samples of 8 to 32 bits, or of floating-point numbers of 32 bits.
///
/// # Errors
/// It is damaged, too long, or has other channels.
pub fn read(file: impl Read) -> Result<Recording, WaveError> {
    let reader = WavReader::new(file)?;
    let spec = reader.spec();
    if !(2..=CHANNELS_MOST).contains(&spec.channels) {
        return Err(WaveError::Channels(spec.channels));
    }
    if !RATES.contains(&spec.sample_rate) {
        return Err(WaveError::Rate(spec.sample_rate));
    }
    if reader.duration() > FRAMES_MOST {
        return Err(WaveError::Long(reader.duration()));
    }
    let mut recording =
        Recording { rate: spec.sample_rate, microphone: Vec::new(), photodiode: Vec::new() };
    let channels = usize::from(spec.channels);
    match spec.sample_format {
        SampleFormat::Float => recording.fill(reader.into_samples::<f32>(), channels)?,
        SampleFormat::Int => {
            let full = 2_f32.powi(i32::from(spec.bits_per_sample) - 1);
            let samples = reader.into_samples::<i32>();
            recording.fill(samples.map(|sample| Ok(sample? as f32 / full)), channels)?;
        }
    }
    Ok(recording)
}

impl Recording {
    fn fill(
        &mut self,
        samples: impl Iterator<Item = Result<f32, hound::Error>>,
        channels: usize,
    ) -> Result<(), hound::Error> {
        for (place, sample) in samples.enumerate() {
            let sample = sample?;
            let sample = if sample.is_finite() { sample } else { 0.0 };
            match place % channels {
                0 => self.microphone.push(sample),
                1 => self.photodiode.push(sample),
                _ => {}
            }
        }
        Ok(())
    }

    fn at(&self, position: usize) -> Moment {
        let nanos = position as u128 * 1_000_000_000 / u128::from(self.rate.max(1));
        Moment::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Judges the recording.
    ///
    /// # Errors
    /// A channel has too few marks.
    pub fn findings(&self) -> Result<Findings, WaveError> {
        let beginnings = |channel, samples: &[f32], share| {
            let found = beginnings(samples, share, self.rate);
            let count = found.len();
            if count < MARKS_LEAST {
                Err(WaveError::Marks { channel, found: count })
            } else {
                Ok(found)
            }
        };
        let flashes = beginnings("photodiode", &self.photodiode, FLASH)?;
        let tones = beginnings("microphone", &self.microphone, TONE)?;
        let first = self.at(flashes[0]);
        let flash = |position: &usize| {
            let at = self.at(*position);
            // The first flash in the recording may be any mark of the clip.
            let marks = ((at - first) + Nanos::from_nanos(MARK.as_nanos() / 2)).div_floor(MARK);
            Flash { mark: u16::try_from(marks).ok(), when: Span { from: at, to: at } }
        };
        let flashes: Vec<Flash> = flashes.iter().map(flash).collect();
        let tone = |position: &usize| Tone { at: self.at(*position), pitch: None };
        let tones: Vec<Tone> = tones.iter().map(tone).collect();
        Ok(Findings::of_marks(&flashes, &tones, &[], Moment::from_nanos(0)))
    }
}

/// Where a signal deviates from its median by this share of its usual greatest deviation, after a part
/// of a second that does not. What comes shortly before a mark does not take its place.
fn beginnings(samples: &[f32], share: f32, rate: u32) -> Vec<usize> {
    let middle = median(samples);
    let usual = usual(samples, middle, rate);
    if usual < SILENT {
        return Vec::new();
    }
    let after = |quiet: u32| -> Vec<usize> {
        let mut beginnings = Beginnings::new(usual * share, quiet);
        let begins = |sample: &f32| beginnings.push(sample - middle);
        let begins = samples.iter().map(begins).enumerate();
        begins.filter(|(_, begins)| *begins).map(|(at, _)| at).collect()
    };
    let (mut marks, again) = (after(rate / QUIET), after(rate / QUIET_AGAIN));
    let (second, near) = (rate.max(1) as usize, rate as usize / NEAR);
    let Some(phase) = usual_phase(&marks, second) else { return marks };
    let is_regular = |at: usize| distance(at % second, phase, second) <= near;
    for mark in &mut marks {
        if is_regular(*mark) {
            continue;
        }
        // A clap, and the tone after it.
        let first = again.partition_point(|at| at <= mark);
        let soon = again[first..].iter().take_while(|at| **at - *mark <= second / QUIET as usize);
        *mark = soon.copied().find(|at| is_regular(*at)).unwrap_or(*mark);
    }
    marks
}

/// The phase within a second that is nearest to those of all marks.
fn usual_phase(marks: &[usize], second: usize) -> Option<usize> {
    let mut phases: Vec<usize> = marks.iter().map(|mark| mark % second).collect();
    phases.sort_unstable();
    // Of many, some suffice.
    let tried = phases.iter().step_by(phases.len().div_ceil(PHASES_MOST).max(1));
    let far = |phase: &usize| -> usize {
        phases.iter().map(|other| distance(*other, *phase, second)).sum()
    };
    tried.copied().min_by_key(far)
}

/// How far two phases of a second are apart.
fn distance(one: usize, other: usize, second: usize) -> usize {
    let apart = one.abs_diff(other);
    apart.min(second - apart)
}

/// The greatest deviation of a second, without the seconds that deviate most: a quarter of them, and two
/// at least, since a foreign sound may be in two. There are [`MARKS_LEAST`] that have a mark.
fn usual(samples: &[f32], middle: f32, rate: u32) -> f32 {
    let greatest =
        |second: &[f32]| second.iter().map(|sample| (sample - middle).abs()).fold(0.0, f32::max);
    let mut seconds: Vec<f32> = samples.chunks(rate.max(1) as usize).map(greatest).collect();
    seconds.sort_unstable_by(|one, other| other.total_cmp(one));
    let left_out = (seconds.len() / 4).max(MARKS_LEAST - 1);
    seconds.get(left_out).or(seconds.last()).copied().unwrap_or(0.0)
}

/// The median of at most 100 000 samples, evenly distributed.
fn median(samples: &[f32]) -> f32 {
    const MOST: usize = 100_000;
    let step = samples.len().div_ceil(MOST).max(1);
    let mut some: Vec<f32> = samples.iter().copied().step_by(step).collect();
    let middle = some.len() / 2;
    if some.is_empty() {
        return 0.0;
    }
    *some.select_nth_unstable_by(middle, f32::total_cmp).1
}
