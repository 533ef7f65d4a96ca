//! Which part of a clip is due at an instant, and the reverse.

use tactus_delivery::item::Moment;
use tactus_model::time::Nanos;

use crate::media::{MediaTime, Speed};

/// The relation between media time and the monotonic clock: a line, or a point while it rests.
///
/// Wall time alone drives it by its speed. A sound device drives it by
/// [`steer`](Self::steer): the clock then follows the crystal of the device, and
/// [`slip`](Self::slip) says how far that has led from wall time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    /// A point of the line.
    at: Moment,
    media: MediaTime,
    /// Media time that passes in a nanosecond, as it is driven; 0 while it rests.
    pace: f64,
    speed: Speed,
    /// Where wall time alone would have the clock: another line through the point of its last
    /// start.
    wall: (Moment, MediaTime),
    is_running: bool,
}

impl Clock {
    /// A clock that rests at a media time.
    pub const fn resting(media: MediaTime, speed: Speed) -> Self {
        let at = Moment::from_nanos(0);
        Self { at, media, pace: 0.0, speed, wall: (at, media), is_running: false }
    }

    /// Whether it runs.
    pub const fn is_running(&self) -> bool {
        self.is_running
    }

    /// Its speed.
    pub const fn speed(&self) -> Speed {
        self.speed
    }

    /// Lets it run from where it rests, at an instant that may be in the future. It has no slip
    /// then.
    pub fn start(&mut self, at: Moment) {
        let media = self.media;
        *self = Self {
            at,
            media,
            pace: self.speed.factor(),
            wall: (at, media),
            is_running: true,
            ..*self
        };
    }

    /// Lets it rest where it is at an instant.
    pub fn rest(&mut self, at: Moment) {
        *self = Self::resting(self.media_at(at), self.speed);
    }

    /// Lets it rest at a media time.
    pub fn seek(&mut self, media: MediaTime) {
        *self = Self::resting(media, self.speed);
    }

    /// Changes the speed of a clock that rests.
    pub fn set_speed(&mut self, speed: Speed) {
        self.speed = speed;
    }

    /// Drives a clock that runs: at this instant it was at this media time, and its device runs so
    /// much faster than its nominal rate.
    pub fn steer(&mut self, at: Moment, media: MediaTime, relative_rate: f64) {
        if self.is_running {
            (self.at, self.media) = (at, media);
            self.pace = self.speed.factor() * relative_rate;
        }
    }

    /// The media time at an instant. Before it starts, a clock is where it starts.
    pub fn media_at(&self, at: Moment) -> MediaTime {
        let (start, media) = self.wall;
        if at <= start { media } else { line(self.at, self.media, self.pace, at) }
    }

    /// When a media time is due; `None` while it rests.
    pub fn due(&self, media: MediaTime) -> Option<Moment> {
        if self.pace <= 0.0 {
            return None;
        }
        let ahead = media.as_nanos().saturating_sub(self.media.as_nanos()) as f64 / self.pace;
        let nanos = self.at.as_nanos().saturating_add_signed(ahead.round() as i64);
        Some(Moment::from_nanos(nanos))
    }

    /// How far the clip is behind wall time, in nanoseconds of media time since the last start;
    /// negative if it is ahead.
    pub fn slip(&self, at: Moment) -> i64 {
        if !self.is_running {
            return 0;
        }
        self.media_by_wall(at).as_nanos().saturating_sub(self.media_at(at).as_nanos())
    }

    /// The media time at an instant if wall time alone had driven the clock since its last start.
    pub fn media_by_wall(&self, at: Moment) -> MediaTime {
        let (start, media) = self.wall;
        if at <= start {
            return media;
        }
        line(start, media, if self.is_running { self.speed.factor() } else { 0.0 }, at)
    }

    /// How long media time of this length lasts.
    pub fn lasts(&self, media: Nanos) -> Nanos {
        Nanos::from_nanos((media.as_nanos() as f64 / self.speed.factor()).round() as u64)
    }
}

/// The media time at an instant, on the line through a point.
fn line(start: Moment, media: MediaTime, pace: f64, at: Moment) -> MediaTime {
    // Exact below 2⁵³ ns, which is a hundred days.
    let elapsed = at.as_nanos().wrapping_sub(start.as_nanos()).cast_signed() as f64;
    MediaTime::from_nanos(media.as_nanos().saturating_add((elapsed * pace).round() as i64))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const START: Moment = Moment::from_nanos(7_000_000_000_000);

    fn media(seconds: f64) -> MediaTime {
        MediaTime::from_secs_f64(seconds)
    }

    #[test]
    fn a_clock_rests_runs_and_is_moved() {
        let mut clock = Clock::resting(media(3.0), Speed::ONE);
        assert_eq!((clock.due(media(4.0)), clock.media_at(START)), (None, media(3.0)));
        clock.start(START);
        assert_eq!(clock.due(media(4.0)), Some(START + Nanos::from_secs(1)));
        assert_eq!(
            clock.due(media(2.0)),
            Some(Moment::from_nanos(START.as_nanos() - 1_000_000_000))
        );
        clock.rest(START + Nanos::from_secs(2));
        assert_eq!(clock.media_at(START + Nanos::from_secs(9)), media(5.0));
        clock.seek(media(60.0));
        clock.set_speed("2".parse().unwrap());
        clock.start(START);
        assert_eq!(clock.media_at(START + Nanos::from_secs(5)), media(70.0));
        assert_eq!(clock.lasts(Nanos::from_secs(3)), Nanos::from_millis(1500));
    }

    #[test]
    fn a_device_that_is_slow_makes_the_clip_slip() {
        let mut clock = Clock::resting(MediaTime::ZERO, Speed::ONE);
        clock.start(START);
        // 100 ppm slow: after 10 s, 1 ms behind.
        let at = START + Nanos::from_secs(10);
        clock.steer(at, media(9.999), 0.9999);
        assert_eq!(clock.slip(at), 1_000_000);
        assert_eq!(clock.slip(at + Nanos::from_secs(10)), 2_000_000);
        clock.rest(at);
        assert_eq!(clock.slip(at), 0);
    }

    proptest! {
        #[test]
        fn due_is_the_inverse(
            from in -1e3_f64..1e5,
            ahead in 2.0_f64..1e4,
            speed in 250_u32..4000,
            ppm in -500.0_f64..500.0,
        ) {
            let speed: Speed = format!("{}.{:03}", speed / 1000, speed % 1000).parse().unwrap();
            let mut clock = Clock::resting(media(from), speed);
            clock.start(START);
            clock.steer(START + Nanos::from_secs(3), media(from + 2.0), 1.0 + ppm / 1e6);
            let wanted = media(from + ahead);
            let found = clock.media_at(clock.due(wanted).unwrap());
            let error = found.as_nanos() - wanted.as_nanos();
            prop_assert!(error.abs() <= 8, "{error} ns");
        }
    }
}
