//! What a device's own clock says: its position, mapped to the monotonic clock.
//!
//! A sound card counts frames by a crystal of its own. A program that wakes up for each block of
//! frames sees positions with the jitter of its wakeups. A second-order delay-locked loop filters
//! that jitter and follows the rate of the crystal.
//!
//! Source: Fons Adriaensen, *Using a DLL to filter time*, 2005.

use std::f64::consts::{SQRT_2, TAU};

use serde::{Deserialize, Serialize};
use tactus_model::time::Nanos;

use crate::item::Moment;

/// How much faster a device's clock runs than its nominal rate says, in parts per billion; slower
/// if negative. Saturates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Correction(pub i32);

impl Correction {
    /// In parts per million, the unit of crystals.
    pub fn ppm(self) -> f64 {
        f64::from(self.0) / 1e3
    }
}

/// What an observation showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observed {
    /// The clock goes on.
    Followed,
    /// The loop starts with this observation.
    Started,
    /// The position is not later than the last one: the loop starts again.
    SteppedBack,
    /// The position is elsewhere than the loop expected, e.g. because frames were left out: the
    /// loop starts again.
    Gap,
}

/// How many restarts a clock has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restarts {
    /// Positions that stepped back.
    pub steps_back: u64,
    /// Gaps.
    pub gaps: u64,
}

/// Maps the positions of a device, in frames, to the monotonic clock.
#[derive(Clone, Debug)]
pub struct DeviceClock {
    /// Nanoseconds of a frame, by the nominal rate.
    nominal: f64,
    state: Option<State>,
    restarts: Restarts,
}

/// The loop. Times are in nanoseconds after `start`: below 2⁵³ for a hundred days.
#[derive(Clone, Copy, Debug)]
struct State {
    start: Moment,
    position: u64,
    /// When the device was at `position`, filtered.
    time: f64,
    /// Nanoseconds of a frame.
    frame: f64,
}

/// The bandwidth of the loop, in Hz: it follows changes of temperature and filters jitter.
const BANDWIDTH: f64 = 0.1;
/// The bandwidth after one second; it falls with the time since the start, so that the loop locks
/// soon.
const BANDWIDTH_AFTER_1S: f64 = 1.0;
/// The largest angle of an update. Beyond about 1 the loop would be unstable.
const OMEGA_MAX: f64 = 0.3;
/// The largest deviation from the nominal rate that is followed. Crystals are within 0.0001.
const DEVIATION_MAX: f64 = 0.01;
/// A position that comes so much earlier or later than expected is a gap.
const GAP: f64 = 20e6;

impl DeviceClock {
    /// A clock of `rate` frames per second that was not observed yet.
    pub fn new(rate: u32) -> Self {
        let nominal = 1e9 / f64::from(rate.max(1));
        Self { nominal, state: None, restarts: Restarts::default() }
    }

    /// Follows the device, which was at `position` at this time.
    pub fn observe(&mut self, position: u64, at: Moment) -> Observed {
        let Some(state) = &mut self.state else {
            self.state = Some(State { start: at, position, time: 0.0, frame: self.nominal });
            return Observed::Started;
        };
        let found = state.follow(position, at, self.nominal);
        match found {
            Observed::SteppedBack => self.restarts.steps_back += 1,
            Observed::Gap => self.restarts.gaps += 1,
            Observed::Followed | Observed::Started => return found,
        }
        // The crystal is the same, so its rate is kept.
        *state = State { start: at, position, time: 0.0, frame: state.frame };
        found
    }

    /// When the device is at `position`; `None` before the first observation.
    pub fn time_of(&self, position: u64) -> Option<Moment> {
        let State { start, position: last, time, frame } = self.state?;
        let after = time + signed_difference(position, last) * frame;
        Some(if after < 0.0 {
            start - Nanos::from_nanos(-after as u64)
        } else {
            start + Nanos::from_nanos(after.round() as u64)
        })
    }

    /// The first position that is not before a time; `None` before the first observation, and if
    /// it would be before position 0.
    pub fn position_from(&self, at: Moment) -> Option<u64> {
        /// Times are whole nanoseconds: a position that is a part of one before is not before.
        const ROUNDING: f64 = 0.75;
        let State { start, position, time, frame } = self.state?;
        let after = signed_difference(at.as_nanos(), start.as_nanos());
        let frames = ((after - ROUNDING - time) / frame).ceil();
        position.checked_add_signed(frames as i64)
    }

    /// The rate of the device, relative to its nominal rate; `None` before the first observation.
    pub fn correction(&self) -> Option<Correction> {
        let state = self.state?;
        Some(Correction(((self.nominal / state.frame - 1.0) * 1e9).round() as i32))
    }

    /// The restarts so far.
    pub const fn restarts(&self) -> Restarts {
        self.restarts
    }
}

impl State {
    fn follow(&mut self, position: u64, at: Moment, nominal: f64) -> Observed {
        if position <= self.position || at < self.start {
            return Observed::SteppedBack;
        }
        let frames = (position - self.position) as f64;
        let expected = self.time + frames * self.frame;
        let error = (at - self.start).as_nanos() as f64 - expected;
        if error.abs() > GAP {
            return Observed::Gap;
        }
        let elapsed = (expected / 1e9).max(f64::MIN_POSITIVE);
        let bandwidth = (BANDWIDTH_AFTER_1S / elapsed).max(BANDWIDTH);
        let omega = (TAU * bandwidth * frames * self.frame / 1e9).min(OMEGA_MAX);
        let range = nominal * (1.0 - DEVIATION_MAX)..=nominal * (1.0 + DEVIATION_MAX);
        self.position = position;
        self.time = expected + SQRT_2 * omega * error;
        self.frame += omega * omega * error / frames;
        self.frame = self.frame.clamp(*range.start(), *range.end());
        Observed::Followed
    }
}

/// The difference of two numbers as a floating point number, exact below 2⁵³.
fn signed_difference(left: u64, right: u64) -> f64 {
    left.wrapping_sub(right).cast_signed() as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RATE: u32 = 48_000;
    const START: Moment = Moment::from_nanos(5_000_000_000_000);

    fn at(nanos: f64) -> Moment {
        START + Nanos::from_nanos(nanos as u64)
    }

    /// A device whose frames take `frame` nanoseconds, in blocks of `block` frames.
    struct Simulated {
        frame: f64,
        block: u64,
    }

    impl Simulated {
        fn new(ppm: f64, block: u64) -> Self {
            Self { frame: 1e9 / f64::from(RATE) / (1.0 + ppm / 1e6), block }
        }

        fn time(&self, position: u64) -> f64 {
            position as f64 * self.frame
        }

        /// The clock after all blocks in this time, each of which is seen late by what `jitter`
        /// returns, in nanoseconds.
        fn observed(&self, seconds: f64, mut jitter: impl FnMut() -> f64) -> (DeviceClock, u64) {
            let mut clock = DeviceClock::new(RATE);
            let blocks = (seconds * 1e9 / self.frame / self.block as f64) as u64;
            for index in 0..blocks {
                let position = index * self.block;
                clock.observe(position, at(self.time(position) + jitter()));
            }
            (clock, blocks * self.block)
        }
    }

    #[test]
    fn without_jitter_the_rate_is_found_exactly() {
        let device = Simulated::new(120.0, 256);
        let (clock, position) = device.observed(120.0, || 0.0);
        let correction = clock.correction().unwrap();
        assert!((correction.ppm() - 120.0).abs() < 0.5, "{correction:?}");
        let error = clock.time_of(position).unwrap() - at(device.time(position));
        assert!(error < Nanos::from_nanos(500), "{error}");
        assert_eq!(clock.position_from(at(device.time(position + 77))), Some(position + 77));
        assert_eq!(clock.restarts(), Restarts::default());
    }

    #[test]
    fn steps_back_and_gaps_are_counted_and_restart_the_loop() {
        let device = Simulated::new(-80.0, 512);
        let (mut clock, position) = device.observed(60.0, || 0.0);
        let rate = clock.correction().unwrap();
        let now = at(device.time(position));
        assert_eq!(clock.observe(7, now), Observed::SteppedBack);
        assert_eq!(clock.time_of(7), Some(now));
        assert_eq!(clock.correction(), Some(rate), "the crystal is the same");
        assert_eq!(clock.observe(7 + 512 + 2048, now + Nanos::from_millis(10)), Observed::Gap);
        assert_eq!(clock.restarts(), Restarts { steps_back: 1, gaps: 1 });
    }

    #[test]
    fn an_unobserved_clock_says_nothing() {
        let clock = DeviceClock::new(RATE);
        assert_eq!((clock.time_of(0), clock.position_from(START)), (None, None));
        assert_eq!(clock.correction(), None);
    }

    #[test]
    fn times_before_the_start_are_mapped_too() {
        let mut clock = DeviceClock::new(1000);
        assert_eq!(clock.observe(100, START), Observed::Started);
        let earlier = Moment::from_nanos(START.as_nanos() - 50_000_000);
        assert_eq!(clock.time_of(50), Some(earlier));
        assert_eq!(clock.position_from(earlier), Some(50));
        assert_eq!(clock.position_from(Moment::from_nanos(0)), None);
    }

    proptest! {
        /// After half a minute, times are off by a small part of the jitter, and the rate by a few
        /// parts per million.
        #[test]
        fn jitter_is_filtered(
            ppm in -200.0_f64..200.0,
            block in prop::sample::select(vec![64_u64, 256, 1024]),
            jitter_us in 1_u32..500,
            seed in any::<u64>(),
        ) {
            let mut state = seed | 1;
            let jitter = || {
                // xorshift64.
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                (state >> 11) as f64 / (1_u64 << 53) as f64 * f64::from(jitter_us) * 1e3
            };
            let device = Simulated::new(ppm, block);
            let (clock, position) = device.observed(40.0, jitter);
            // A device that is later by the mean of the jitter looks the same.
            let mean = f64::from(jitter_us) * 1e3 / 2.0;
            let wanted = at(device.time(position) + mean);
            let found = clock.time_of(position).unwrap();
            let error = (found - wanted).max(wanted - found);
            let allowed = Nanos::from_nanos(u64::from(jitter_us) * 250 + 2_000);
            prop_assert!(error < allowed, "{error} of {jitter_us} us");
            let off = (clock.correction().unwrap().ppm() - ppm).abs();
            prop_assert!(off < 3.0 + f64::from(jitter_us) / 10.0, "{off} ppm");
            prop_assert_eq!(clock.restarts(), Restarts::default());
        }

        /// Positions and times are inverse.
        #[test]
        fn positions_come_back(ppm in -200.0_f64..200.0, ahead in 0_u64..96_000) {
            let device = Simulated::new(ppm, 256);
            let (clock, position) = device.observed(5.0, || 0.0);
            let time = clock.time_of(position + ahead).unwrap();
            prop_assert_eq!(clock.position_from(time), Some(position + ahead));
        }
    }
}
