//! Media time by the positions of a sound device.

use tactus_delivery::device_clock::Correction;
use tactus_delivery::item::Moment;

use crate::clock::Clock;
use crate::media::{MediaTime, Speed};

/// Which part of the clip is at which position of the device.
///
/// Samples are those of the clip at its speed: at twice the speed, a second of samples is two
/// seconds of the clip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoundClock {
    position: u64,
    media: MediaTime,
    /// Nanoseconds of media time in a frame.
    frame: f64,
}

impl SoundClock {
    /// The frame at `position` is that of `media`, on a device of so many frames a second.
    pub fn new(position: u64, media: MediaTime, rate: u32, speed: Speed) -> Self {
        Self { position, media, frame: speed.factor() * 1e9 / f64::from(rate.max(1)) }
    }

    /// The media time of a position.
    pub fn media_of(&self, position: u64) -> MediaTime {
        let frames = position.wrapping_sub(self.position).cast_signed() as f64;
        MediaTime::from_nanos(
            self.media.as_nanos().saturating_add((frames * self.frame).round() as i64),
        )
    }

    /// The first position that is not before a media time; `None` before position 0.
    pub fn position_of(&self, media: MediaTime) -> Option<u64> {
        /// Media times are whole nanoseconds: a frame that is a part of one before is not before.
        const ROUNDING: f64 = 0.75;
        let ahead = media.as_nanos().saturating_sub(self.media.as_nanos()) as f64;
        self.position.checked_add_signed(((ahead - ROUNDING) / self.frame).ceil() as i64)
    }

    /// Drives a clock: the device was heard at `position` at this instant.
    pub fn steer(
        &self,
        clock: &mut Clock,
        position: u64,
        heard: Moment,
        correction: Option<Correction>,
    ) {
        let relative_rate = 1.0 + correction.map_or(0.0, |correction| correction.ppm() / 1e6);
        clock.steer(heard, self.media_of(position), relative_rate);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn positions_and_media_times_are_inverse(
            frames in -10_000_000_i64..100_000_000,
            rate in prop::sample::select(vec![44_100_u32, 48_000, 96_000]),
            speed in prop::sample::select(vec!["0.25", "1", "1.3", "4"]),
        ) {
            let (position, media) = (1_u64 << 40, MediaTime::from_secs_f64(12.0));
            let clock = SoundClock::new(position, media, rate, speed.parse().unwrap());
            let wanted = position.saturating_add_signed(frames);
            prop_assert_eq!(clock.position_of(clock.media_of(wanted)), Some(wanted));
        }
    }
}
