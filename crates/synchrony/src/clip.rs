//! A clip of flashes and tones.
//!
//! Every second, the picture flashes and a tone begins. Each frame has its [number](crate::strip),
//! and successive tones have different pitches, so a tone belongs to one flash even if a player is
//! seconds off.

use std::f64::consts::TAU;

use serde::{Deserialize, Serialize};
use tactus_model::time::Nanos;

use crate::signed::SignedNanos;
use crate::strip::Layout;

/// Samples a second.
pub const SAMPLE_RATE: u32 = 48_000;

/// The number of pitches; after the last comes the first.
pub const PITCHES: u8 = 8;

/// The time between two marks.
pub const MARK: Nanos = Nanos::from_secs(1);

/// The pitch of the first tones in Hz, and the distance to the next.
const LOWEST_HZ: f64 = 1000.0;
const STEP_HZ: f64 = 250.0;
/// The samples of a tone, the last of which fade out.
const TONE: u32 = SAMPLE_RATE / 25;
const FADE: u32 = SAMPLE_RATE / 250;
const LOUDNESS: f64 = 0.5;
/// The greatest shift of the sound: less than the time before the first mark.
pub const SHIFT_MOST: Nanos = Nanos::from_millis(500);

/// The rates, durations and sizes that a clip can have.
const RATES: std::ops::RangeInclusive<u16> = 10..=120;
const SECONDS: std::ops::RangeInclusive<u16> = 3..=900;
const SMALLEST: (u16, u16) = (224, 128);
const LARGEST: (u16, u16) = (1920, 1080);
/// Numbers of frames have 16 bits.
const FRAMES_MOST: u32 = 1 << 16;

/// A clip of flashes and tones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clip {
    /// Its width in pixels.
    pub width: u16,
    /// Its height in pixels.
    pub height: u16,
    /// Frames a second.
    pub rate: u16,
    /// Its duration in seconds.
    pub seconds: u16,
    /// How much later than its flash a tone begins: zero, unless an error is planted.
    pub shift: SignedNanos,
}

/// Why there is no such clip.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadClip {
    /// The size.
    #[error(
        "a clip of {width}x{height} pixels cannot be made: both numbers must be even, from {}x{} to {}x{}",
        SMALLEST.0, SMALLEST.1, LARGEST.0, LARGEST.1
    )]
    Size {
        /// The width.
        width: u16,
        /// The height.
        height: u16,
    },
    /// The rate.
    #[error("{0} frames/s is not a rate of a clip; it must be from {first} to {last}", first = RATES.start(), last = RATES.end())]
    Rate(u16),
    /// The duration.
    #[error("{0} s is not the duration of a clip; it must be from {first} s to {last} s", first = SECONDS.start(), last = SECONDS.end())]
    Seconds(u16),
    /// Rate and duration together.
    #[error("a clip has at most {FRAMES_MOST} frames, and {0} are requested; shorten it")]
    Frames(u32),
    /// The shift.
    #[error("the sound can be shifted by at most {SHIFT_MOST}")]
    Shift,
}

impl Clip {
    /// Checks a clip.
    ///
    /// # Errors
    /// A figure is out of its range.
    pub fn checked(self) -> Result<Self, BadClip> {
        let Self { width, height, rate, seconds, shift } = self;
        let is_even = width.is_multiple_of(2) && height.is_multiple_of(2);
        let fits =
            (SMALLEST.0..=LARGEST.0).contains(&width) && (SMALLEST.1..=LARGEST.1).contains(&height);
        if !is_even || !fits {
            Err(BadClip::Size { width, height })
        } else if !RATES.contains(&rate) {
            Err(BadClip::Rate(rate))
        } else if !SECONDS.contains(&seconds) {
            Err(BadClip::Seconds(seconds))
        } else if self.frames() > FRAMES_MOST {
            Err(BadClip::Frames(self.frames()))
        } else if shift.magnitude() > SHIFT_MOST {
            Err(BadClip::Shift)
        } else {
            Ok(self)
        }
    }

    /// The number of its frames.
    pub fn frames(&self) -> u32 {
        u32::from(self.rate) * u32::from(self.seconds)
    }

    /// The number of its samples.
    pub fn samples(&self) -> u32 {
        SAMPLE_RATE * u32::from(self.seconds)
    }

    /// The time of a frame in the clip.
    pub fn time_of(&self, number: u16) -> Nanos {
        Nanos::from_nanos(u64::from(number) * 1_000_000_000 / u64::from(self.rate.max(1)))
    }

    /// How long a frame is shown.
    pub fn period(&self) -> Nanos {
        self.time_of(1)
    }

    /// Its duration.
    pub fn duration(&self) -> Nanos {
        Nanos::from_secs(self.seconds.into())
    }

    /// The number of its marks. The last one is whole before the clip ends.
    pub fn marks(&self) -> u16 {
        self.seconds.saturating_sub(1)
    }

    /// The time of a mark in the clip: mark 0 is a second after the beginning.
    pub fn mark_time(mark: u16) -> Nanos {
        MARK.saturating_mul(u64::from(mark) + 1)
    }

    /// The mark whose flash shows a frame. The number may be that of the frame before: a picture that is
    /// just being changed shows the old number beside the new flash.
    pub fn mark_of(&self, number: u16) -> Option<u16> {
        let (number, rate) = (u32::from(number) + 1, u32::from(self.rate.max(1)));
        let (second, frame) = (number / rate, number % rate);
        let mark = u16::try_from(second.checked_sub(1)?).ok()?;
        (frame <= self.flash() && mark < self.marks()).then_some(mark)
    }

    /// The frames of a flash: about a tenth of a second.
    fn flash(&self) -> u32 {
        (u32::from(self.rate) / 10).max(1)
    }

    /// Whether a frame flashes.
    pub fn is_bright(&self, number: u16) -> bool {
        let (number, rate) = (u32::from(number), u32::from(self.rate.max(1)));
        let mark = (number / rate).checked_sub(1);
        number % rate < self.flash() && mark.is_some_and(|mark| mark < u32::from(self.marks()))
    }

    /// The pixel whose brightness shows a flash, as column and row: not in the middle, where an X
    /// server has its pointer at first.
    pub const fn flashing_pixel(&self) -> (u16, u16) {
        (self.width / 2, self.height / 4 * 3)
    }

    /// The strip with the number of the frame.
    pub const fn strip(&self) -> Layout {
        Layout::of(self.width, self.height)
    }

    /// Draws a frame as a grey picture of `width` times `height` bytes. Below its strip it is
    /// white in a flash. Otherwise a dark pattern moves, so that decoding costs something.
    pub fn draw(&self, number: u16, picture: &mut [u8]) {
        let width = usize::from(self.width.max(1));
        let strip = self.strip();
        let is_bright = self.is_bright(number);
        for (row, pixels) in picture.chunks_exact_mut(width).enumerate() {
            if row < usize::from(strip.height()) {
                strip.draw(number, pixels);
            } else if is_bright {
                pixels.fill(u8::MAX);
            } else {
                let moved = row + 4 * usize::from(number);
                for (column, pixel) in pixels.iter_mut().enumerate() {
                    // At most 79: clearly darker than a flash.
                    *pixel = 16 + ((column + moved) ^ (column / 4)) as u8 % 64;
                }
            }
        }
    }

    /// The sample at a position of the clip, from −1 to 1.
    pub fn sample(&self, position: u32) -> f32 {
        let shift = self.shift.as_nanos() * i64::from(SAMPLE_RATE) / 1_000_000_000;
        let unshifted = i64::from(position) - shift;
        let rate = i64::from(SAMPLE_RATE);
        let (second, place) = (unshifted.div_euclid(rate), unshifted.rem_euclid(rate));
        let place = place as u32;
        if !(1..=i64::from(self.marks())).contains(&second) || place >= TONE {
            return 0.0;
        }
        let time = f64::from(place) / f64::from(SAMPLE_RATE);
        let hertz = pitch_hz(((second - 1) % i64::from(PITCHES)) as u8);
        let fade = f64::from(TONE - place) / f64::from(FADE);
        // A cosine begins at once, and its first sample is the loudest.
        ((TAU * hertz * time).cos() * LOUDNESS * fade.min(1.0)) as f32
    }
}

/// The frequency of a pitch.
pub(crate) fn pitch_hz(pitch: u8) -> f64 {
    LOWEST_HZ + STEP_HZ * f64::from(pitch)
}

/// The pitch of the tone of a mark.
#[cfg(test)]
pub(crate) const fn pitch_of(mark: u16) -> u8 {
    (mark % PITCHES as u16) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strip;

    pub(crate) const CLIP: Clip =
        Clip { width: 320, height: 180, rate: 25, seconds: 6, shift: SignedNanos::ZERO };

    #[test]
    fn a_frame_shows_its_number_and_its_flash() {
        let clip = CLIP;
        let mut picture = vec![0; 320 * 180];
        for number in 0..clip.frames() as u16 {
            clip.draw(number, &mut picture);
            let pixel = |(column, row): (u16, u16)| {
                picture[usize::from(row) * 320 + usize::from(column)] > 127
            };
            let (columns, row) = clip.strip().middles();
            let cells = columns.map(|column| pixel((column, row)));
            assert_eq!(strip::read(&cells), Some(number));
            assert_eq!(pixel(clip.flashing_pixel()), clip.is_bright(number), "{number}");
        }
    }

    #[test]
    fn flashes_and_tones_begin_together() {
        let bright: Vec<u16> =
            (0..CLIP.frames() as u16).filter(|number| CLIP.is_bright(*number)).collect();
        assert_eq!(bright[..4], [25, 26, 50, 51]);
        assert_eq!(bright.len(), 10);
        for mark in 0..CLIP.marks() {
            let number = 25 * (mark + 1);
            assert_eq!(CLIP.time_of(number), Clip::mark_time(mark));
            assert_eq!(CLIP.mark_of(number), Some(mark));
            assert_eq!(CLIP.mark_of(number - 1), Some(mark), "the strip is a frame behind");
            assert_eq!(CLIP.mark_of(number + 5), None);
            let first = SAMPLE_RATE * u32::from(mark + 1);
            assert_eq!((CLIP.sample(first - 1), CLIP.sample(first)), (0.0, 0.5));
        }
        assert_eq!(CLIP.mark_of(0), None);
    }

    #[test]
    fn a_shift_moves_the_sound() {
        for (millis, samples) in [(-40, -1920), (5, 240)] {
            let clip = Clip { shift: SignedNanos::from_millis(millis), ..CLIP };
            let first = (i64::from(SAMPLE_RATE) + samples) as u32;
            assert_eq!((clip.sample(first - 1), clip.sample(first)), (0.0, 0.5));
        }
    }

    #[test]
    fn figures_out_of_range_are_refused() {
        assert_eq!(CLIP.checked(), Ok(CLIP));
        assert_eq!(Clip { rate: 0, ..CLIP }.checked(), Err(BadClip::Rate(0)));
        assert_eq!(Clip { seconds: 901, ..CLIP }.checked(), Err(BadClip::Seconds(901)));
        let odd = Clip { width: 641, ..CLIP };
        assert_eq!(odd.checked(), Err(BadClip::Size { width: 641, height: 180 }));
        let long = Clip { rate: 120, seconds: 600, ..CLIP };
        assert_eq!(long.checked(), Err(BadClip::Frames(72_000)));
        let shift = SignedNanos::from_millis(-501);
        assert_eq!(Clip { shift, ..CLIP }.checked(), Err(BadClip::Shift));
    }
}
