//! The beginnings of tones in samples.

use std::f64::consts::TAU;

use crate::clip::{PITCHES, pitch_hz};

/// How long it must be quiet before a beginning, as a part of a second.
const QUIET: u32 = 10;

/// The samples by which a pitch is found, as a part of a second.
const WINDOW: u32 = 50;

/// The share of the power that a pitch must have.
const CLEAR: f64 = 0.5;

/// Finds where a signal exceeds a threshold after a quiet time.
#[derive(Clone, Debug)]
pub struct Beginnings {
    threshold: f32,
    /// How many samples must be quiet.
    quiet_least: u64,
    /// How many have been quiet.
    quiet: u64,
}

impl Beginnings {
    /// Finds where samples are further from zero than `threshold` after at least `quiet` that are
    /// not.
    pub const fn new(threshold: f32, quiet: u32) -> Self {
        Self { threshold, quiet_least: quiet as u64, quiet: 0 }
    }

    /// Whether something begins at this sample.
    pub fn push(&mut self, sample: f32) -> bool {
        if sample.abs() <= self.threshold {
            self.quiet = self.quiet.saturating_add(1);
            return false;
        }
        let begins = self.quiet >= self.quiet_least;
        self.quiet = 0;
        begins
    }

    /// Forgets the quiet time: samples are missing.
    pub const fn reset(&mut self) {
        self.quiet = 0;
    }
}

/// The beginning of a tone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beginning {
    /// The position of its first sample.
    pub position: u64,
    /// The number of its pitch; `None` if it is unclear.
    pub pitch: Option<u8>,
}

/// Finds tones of a clip in samples that come in blocks.
#[derive(Clone, Debug)]
pub struct Tones {
    rate: u32,
    beginnings: Beginnings,
    /// The position after the last block.
    next: Option<u64>,
    /// Where the tone began whose pitch is being found.
    begun: Option<u64>,
    window: Vec<f32>,
}

impl Tones {
    /// Finds tones that are louder than `threshold` in samples of this rate.
    pub fn new(rate: u32, threshold: f32) -> Self {
        Self {
            rate,
            beginnings: Beginnings::new(threshold, rate / QUIET),
            next: None,
            begun: None,
            window: Vec::with_capacity((rate / WINDOW) as usize),
        }
    }

    /// Reads samples from position `first` on. After a gap, a tone that has already begun is not
    /// found: nobody knows when it began.
    pub fn push(&mut self, first: u64, samples: &[f32], mut found: impl FnMut(Beginning)) {
        if self.next.is_some_and(|next| next != first) {
            self.beginnings.reset();
            self.begun = None;
        }
        for (position, sample) in (first..).zip(samples) {
            if self.beginnings.push(*sample) {
                self.begun = Some(position);
                self.window.clear();
            }
            let Some(begun) = self.begun else { continue };
            self.window.push(*sample);
            if self.window.len() >= (self.rate / WINDOW) as usize {
                self.begun = None;
                found(Beginning { position: begun, pitch: pitch(&self.window, self.rate) });
            }
        }
        self.next = Some(first + samples.len() as u64);
    }
}

/// The pitch that has most of the power.
fn pitch(samples: &[f32], rate: u32) -> Option<u8> {
    let power: f64 = samples.iter().map(|sample| f64::from(*sample).powi(2)).sum();
    let strength = |pitch: &u8| strength(samples, pitch_hz(*pitch) / f64::from(rate));
    let loudest = (0..PITCHES).max_by(|a, b| strength(a).total_cmp(&strength(b)))?;
    (strength(&loudest) > CLEAR * power).then_some(loudest)
}

/// The power of a frequency, in periods per sample, in samples: that of a pure tone is the sum of
/// their squares. G. Goertzel, *An algorithm for the evaluation of finite trigonometric series*,
/// 1958.
fn strength(samples: &[f32], frequency: f64) -> f64 {
    let step = 2.0 * (TAU * frequency).cos();
    let (last, before) = samples.iter().fold((0.0, 0.0), |(last, before), sample| {
        (f64::from(*sample) + step * last - before, last)
    });
    let squared = last * last + before * before - step * last * before;
    squared * 2.0 / samples.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clip::{Clip, SAMPLE_RATE, pitch_of};
    use crate::signed::SignedNanos;

    const CLIP: Clip =
        Clip { width: 320, height: 180, rate: 25, seconds: 12, shift: SignedNanos::ZERO };

    fn found(samples: &[f32], block: usize, gap: Option<usize>) -> Vec<Beginning> {
        let mut tones = Tones::new(SAMPLE_RATE, 0.05);
        let mut found = Vec::new();
        for (number, block_samples) in samples.chunks(block).enumerate() {
            if gap != Some(number) {
                let first = (number * block) as u64;
                tones.push(first, block_samples, |beginning| found.push(beginning));
            }
        }
        found
    }

    #[test]
    fn every_tone_is_found_at_its_sample_with_its_pitch() {
        let samples: Vec<f32> = (0..CLIP.samples()).map(|position| CLIP.sample(position)).collect();
        for block in [64, 1000, 1 << 20] {
            let found = found(&samples, block, None);
            assert_eq!(found.len(), usize::from(CLIP.marks()));
            for (mark, beginning) in (0..).zip(&found) {
                let position = u64::from(SAMPLE_RATE) * (u64::from(mark) + 1);
                assert_eq!(*beginning, Beginning { position, pitch: Some(pitch_of(mark)) });
            }
        }
    }

    #[test]
    fn a_tone_within_a_gap_is_not_found_at_its_end() {
        let samples: Vec<f32> = (0..CLIP.samples()).map(|position| CLIP.sample(position)).collect();
        // The block from 2.99 to 3.01 s.
        let found = found(&samples, 960, Some(149));
        assert!(found.iter().all(|beginning| !(143_000..145_000).contains(&beginning.position)));
        assert_eq!(found.len(), usize::from(CLIP.marks()) - 1);
    }

    #[test]
    fn noise_has_no_pitch() {
        let mut state = 1_u32;
        let noise: Vec<f32> = (0..960)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 8) as f32 / (1 << 24) as f32 - 0.5
            })
            .collect();
        assert_eq!(pitch(&noise, SAMPLE_RATE), None);
    }
}
