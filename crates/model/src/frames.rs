//! Frames shown at a rate, and the ticks at which timers expire.
//!
//! A player shows no frame early and skips a frame that is late by more than half its slot
//! (Etsion, Tsafrir and Feitelson, *Effects of Clock Resolution on the Scheduling of
//! Interactive and Soft Real-Time Processes*, SIGMETRICS 2003, section 5). A kernel that serves
//! timers only at its ticks wakes the player at the first tick at or after the requested time.
//!
//! ```
//! use tactus_model::frames::{FrameTimes, Ticks};
//! use tactus_model::time::Nanos;
//!
//! let frames = FrameTimes::new("60".parse().unwrap());
//! assert_eq!(frames.due(3), Nanos::from_millis(50));
//! let ticks = Ticks::new("100".parse().unwrap(), Nanos::from_millis(4));
//! assert_eq!(ticks.at_or_after(Nanos::from_millis(15)), Nanos::from_millis(24));
//! ```

use std::fmt;
use std::str::FromStr;

use num_rational::Ratio;
use serde::{Deserialize, Serialize};

use crate::probe::TimerProbe;
use crate::text::{keywords, serde_as_text};
use crate::time::{Nanos, NotALength};

/// Nanoseconds in a second.
const SECOND: u128 = 1_000_000_000;

/// An exact rate in events per second, as a fraction.
///
/// As text: `60`, `59.94`, `60000/1001`. The range is 0.001 to 1 000 000 per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(Ratio<u64>);

impl Rate {
    /// The greatest rate: a timer every microsecond.
    pub const MAX: u64 = 1_000_000;
    /// The maximum of the numerator and the denominator; it keeps products of two rates exact.
    const TERM_MAX: u64 = 1_000_000_000;

    /// Once per second.
    pub const ONE: Self = Self(Ratio::new_raw(1, 1));

    /// A rate in events per second; `None` if it is out of range.
    pub fn of_ratio(ratio: Ratio<u64>) -> Option<Self> {
        let terms =
            (1..=Self::TERM_MAX).contains(ratio.numer()) && *ratio.denom() <= Self::TERM_MAX;
        let range = Ratio::new(1, 1_000)..=Ratio::from_integer(Self::MAX);
        (terms && range.contains(&ratio)).then_some(Self(ratio))
    }

    /// Events per second, in lowest terms.
    pub const fn per_second(self) -> Ratio<u64> {
        self.0
    }

    /// Events per second, rounded to a floating-point number.
    pub fn as_f64(self) -> f64 {
        *self.0.numer() as f64 / *self.0.denom() as f64
    }

    /// The time between two events, to the nearest nanosecond.
    pub fn period(self) -> Nanos {
        let (times, seconds) = self.terms();
        nanos((2 * SECOND * seconds + times) / (2 * times))
    }

    /// The time of event `number`, with event 0 at time 0, rounded up to a whole nanosecond.
    fn at(self, number: u64) -> Nanos {
        let (times, seconds) = self.terms();
        nanos((u128::from(number) * seconds * SECOND).div_ceil(times))
    }

    fn terms(self) -> (u128, u128) {
        (u128::from(*self.0.numer()), u128::from(*self.0.denom()))
    }
}

/// Saturates: a window is always shorter.
fn nanos(count: u128) -> Nanos {
    Nanos::from_nanos(u64::try_from(count).unwrap_or(u64::MAX))
}

impl fmt::Display for Rate {
    /// Writes a decimal number if six decimals are exact, else a fraction.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (times, seconds) = (*self.0.numer(), *self.0.denom());
        let text = if seconds == 1 {
            times.to_string()
        } else if 1_000_000_u64.is_multiple_of(seconds) {
            let millionths = times % seconds * (1_000_000 / seconds);
            let digits = format!("{millionths:06}");
            format!("{}.{}", times / seconds, digits.trim_end_matches('0'))
        } else {
            format!("{times}/{seconds}")
        };
        f.pad(&text)
    }
}

/// The error for a text that is not a rate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a rate: write a number of times per second from 0.001 to 1000000, e.g. 60, 59.94 or 60000/1001"
)]
pub struct NotARate(String);

impl FromStr for Rate {
    type Err = NotARate;

    fn from_str(text: &str) -> Result<Self, NotARate> {
        ratio_of(text).and_then(Self::of_ratio).ok_or_else(|| NotARate(text.to_owned()))
    }
}

fn ratio_of(text: &str) -> Option<Ratio<u64>> {
    let digits = |text: &str| -> Option<u64> {
        let only_digits = text.bytes().all(|byte| byte.is_ascii_digit());
        only_digits.then(|| text.parse().ok()).flatten()
    };
    if let Some((times, seconds)) = text.split_once('/') {
        let (times, seconds) = (digits(times)?, digits(seconds)?);
        return (seconds > 0).then(|| Ratio::new(times, seconds));
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let power = 10_u64.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let times = digits(whole)?.checked_mul(power)?.checked_add(digits(fraction)?)?;
    Some(Ratio::new(times, power))
}

serde_as_text!(Rate);

/// When frames are due: the first at time 0, then one per slot.
#[derive(Clone, Copy, Debug)]
pub struct FrameTimes {
    rate: Rate,
    half_slot: Nanos,
}

impl FrameTimes {
    /// Frames at this rate.
    pub fn new(rate: Rate) -> Self {
        let (times, seconds) = rate.terms();
        Self { rate, half_slot: nanos(seconds * SECOND / (2 * times)) }
    }

    /// When frame `frame` is due, counted from 0.
    ///
    /// Rounded up to a whole nanosecond, so that no frame is shown early.
    pub fn due(&self, frame: u64) -> Nanos {
        self.rate.at(frame)
    }

    /// How many frames are due before the end of a window.
    pub fn within(&self, window: Nanos) -> u64 {
        let (times, seconds) = self.rate.terms();
        let Some(last) = window.as_nanos().checked_sub(1) else { return 0 };
        let frames = u128::from(last) * times / (seconds * SECOND) + 1;
        u64::try_from(frames).unwrap_or(u64::MAX)
    }

    /// Whether a frame this late is still shown: a frame late by more than half its slot is
    /// skipped.
    #[inline]
    pub fn shows(&self, late: Nanos) -> bool {
        late <= self.half_slot
    }
}

/// The ticks at which a kernel with this tick rate serves timers.
#[derive(Clone, Copy, Debug)]
pub struct Ticks {
    rate: Rate,
    shift: Nanos,
}

impl Ticks {
    /// Ticks at this rate, with one at `shift`.
    pub const fn new(rate: Rate, shift: Nanos) -> Self {
        Self { rate, shift }
    }

    /// The first tick at or after `time`, rounded up to a whole nanosecond.
    pub fn at_or_after(&self, time: Nanos) -> Nanos {
        let (times, seconds) = self.rate.terms();
        let (time, shift) = (u128::from(time.as_nanos()), u128::from(self.shift.as_nanos()));
        // Ticks before the tick at `shift` have lower numbers.
        let lead = (shift * times).div_ceil(seconds * SECOND);
        // In units of 1/times nanoseconds, ticks are whole numbers.
        let first = (lead * seconds * SECOND) - shift * times;
        let number = (time * times + first).div_ceil(seconds * SECOND);
        nanos((number * seconds * SECOND).saturating_sub(first).div_ceil(times))
    }
}

/// The timers that wake a player.
///
/// As text: `none` for the kernel's own timers, or the tick rate to which requests are rounded
/// up, for example `100`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tick {
    /// Timers that expire when requested.
    None,
    /// Timers that expire at ticks of this rate.
    Every(Rate),
}

impl fmt::Display for Tick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.pad("none"),
            Self::Every(rate) => rate.fmt(f),
        }
    }
}

/// The error for a text that is not a tick rate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}; or `none` for the kernel's own timers")]
pub struct NotATick(#[from] NotARate);

impl FromStr for Tick {
    type Err = NotATick;

    fn from_str(text: &str) -> Result<Self, NotATick> {
        match text {
            "none" => Ok(Self::None),
            rate => Ok(Self::Every(rate.parse()?)),
        }
    }
}

serde_as_text!(Tick);

/// The phase of the ticks relative to the frames.
///
/// As text: `sweep`, or the time from the first frame to the first tick, for example `5ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TickShift {
    /// The phase moves evenly by one whole tick during the window, as between two independent
    /// clocks, so that the window covers every shift equally.
    Sweep,
    /// A tick comes this long after the first frame.
    At(Nanos),
}

impl fmt::Display for TickShift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sweep => f.pad("sweep"),
            Self::At(shift) => shift.fmt(f),
        }
    }
}

/// The error for a text that is not a shift.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}; or `sweep` for every shift in turn")]
pub struct NotAShift(#[from] NotALength);

impl FromStr for TickShift {
    type Err = NotAShift;

    fn from_str(text: &str) -> Result<Self, NotAShift> {
        match text {
            "sweep" => Ok(Self::Sweep),
            shift => Ok(Self::At(shift.parse()?)),
        }
    }
}

serde_as_text!(TickShift);

keywords! {
    /// Who plays the frames, and which of them are shown.
    pub enum PlayerKind: "player" {
        /// A loop with the rule of 2003: it skips a frame that is late by more than half its slot.
        HalfSlot = "half-slot",
        /// A loop with the rule of `tactus play`: it shows the latest frame that is due.
        Latest = "latest",
        /// `tactus play` itself, whose connection to an X server carries the pixels.
        PlaySocket = "play-socket",
        /// `tactus play` itself, which shares memory with an X server.
        PlayShm = "play-shm",
    }
}

impl PlayerKind {
    /// Whether it is a whole player: a decoder, a process that plays, an X server.
    pub const fn is_whole(self) -> bool {
        matches!(self, Self::PlaySocket | Self::PlayShm)
    }
}

/// For plans stored before the setting existed.
const fn player_of_2003() -> PlayerKind {
    PlayerKind::HalfSlot
}

/// The settings of the frames probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FramesProbe {
    /// How the players sleep. Its interval is the slot of a frame to the nearest nanosecond.
    #[serde(flatten)]
    pub timer: TimerProbe,
    /// The desired frame rate.
    pub frame_rate: Rate,
    /// The ticks to which timers are rounded up.
    pub tick: Tick,
    /// The phase of the ticks relative to the frames.
    pub tick_shift: TickShift,
    /// Who plays.
    #[serde(default = "player_of_2003")]
    pub player: PlayerKind,
}

impl FramesProbe {
    /// The bytes of a frame of a whole player: 160 × 120 pixels of a byte, as in 1993 (Dannenberg and
    /// others, section 11).
    pub const FRAME_BYTES: u64 = 19_200;

    /// The most frames of the clip that a whole player gets: 192 MB.
    pub const CLIP_FRAMES_MAX: u64 = 10_000;

    /// When frames are due.
    pub fn frames(&self) -> FrameTimes {
        FrameTimes::new(self.frame_rate)
    }

    /// The timer expiry that a player requests for a frame due at `due`, in a window of
    /// duration `window`.
    pub fn asked_for(&self, due: Nanos, window: Nanos) -> Nanos {
        match self.tick {
            Tick::None => due,
            Tick::Every(rate) => Ticks::new(rate, self.shift(rate, due, window)).at_or_after(due),
        }
    }

    /// A tick rate whose ticks sweep through every shift in a window: one tick fewer in it. `None` if
    /// timers expire when requested. Without an exact such rate, that of the ticks.
    pub fn sweeping_ticks(&self, window: Nanos) -> Option<Rate> {
        let Tick::Every(rate) = self.tick else { return None };
        let fewer = Ratio::new(1_000, (window.as_nanos() / 1_000_000).max(1));
        let swept = (rate.per_second() > fewer).then(|| rate.per_second() - fewer);
        Some(swept.and_then(Rate::of_ratio).unwrap_or(rate))
    }

    fn shift(&self, rate: Rate, due: Nanos, window: Nanos) -> Nanos {
        match self.tick_shift {
            TickShift::At(shift) => shift,
            TickShift::Sweep => {
                let swept = u128::from(rate.period().as_nanos()) * u128::from(due.as_nanos());
                nanos(swept / u128::from(window.as_nanos()).max(1))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rate(text: &str) -> Rate {
        text.parse().unwrap()
    }

    #[test]
    fn rates_round_trip_exactly() {
        for (text, shown) in [
            ("60", "60"),
            ("59.94", "59.94"),
            ("60000/1001", "60000/1001"),
            ("50/100", "0.5"),
            ("0.001", "0.001"),
            ("1000000", "1000000"),
            ("24.000", "24"),
        ] {
            assert_eq!(rate(text).to_string(), shown);
            assert_eq!(rate(shown), rate(text));
        }
        for text in [
            "0",
            "-1",
            "1e3",
            "60Hz",
            "1/0",
            "",
            ".5",
            "1000001",
            "0.0001",
            "1.",
            "9999999999/9999999998",
        ] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
    }

    #[test]
    fn ticks_and_shifts_round_trip() {
        for text in ["none", "100", "1024"] {
            assert_eq!(text.parse::<Tick>().unwrap().to_string(), text);
        }
        for text in ["sweep", "5ms"] {
            assert_eq!(text.parse::<TickShift>().unwrap().to_string(), text);
        }
        assert!("fast".parse::<Tick>().unwrap_err().to_string().contains("`none`"));
        assert!("5".parse::<TickShift>().unwrap_err().to_string().contains("`sweep`"));
    }

    #[test]
    fn a_frame_half_a_slot_late_is_shown() {
        let frames = FrameTimes::new(rate("50"));
        assert!(frames.shows(Nanos::from_millis(10)));
        assert!(!frames.shows(Nanos::from_nanos(10_000_001)));
    }

    #[test]
    fn a_sweep_covers_every_shift_once() {
        let timer = TimerProbe::blank();
        let probe = FramesProbe {
            timer,
            frame_rate: rate("50"),
            tick: Tick::Every(rate("50")),
            tick_shift: TickShift::Sweep,
            player: PlayerKind::HalfSlot,
        };
        let window = Nanos::from_secs(2);
        let late: Vec<Nanos> = (0..100)
            .map(|frame| probe.frames().due(frame))
            .map(|due| probe.asked_for(due, window) - due)
            .collect();
        assert!(late.is_sorted());
        assert_eq!((late[0], late[50]), (Nanos::ZERO, Nanos::from_millis(10)));
    }

    #[test]
    fn sweeping_ticks_have_one_tick_fewer_in_the_window() {
        let probe = |tick| FramesProbe {
            timer: TimerProbe::blank(),
            frame_rate: rate("60"),
            tick,
            tick_shift: TickShift::Sweep,
            player: PlayerKind::PlayShm,
        };
        let of = |tick, seconds| probe(tick).sweeping_ticks(Nanos::from_secs(seconds));
        assert_eq!(of(Tick::None, 3), None);
        assert_eq!(of(Tick::Every(rate("100")), 4), Some(rate("99.75")));
        // A window with a single tick has nothing to sweep.
        assert_eq!(of(Tick::Every(rate("1")), 1), Some(rate("1")));
    }

    fn any_rate() -> impl Strategy<Value = Rate> {
        (1_u64..2_000_000, 1_u64..2_000).prop_filter_map("out of range", |(times, seconds)| {
            Rate::of_ratio(Ratio::new(times, seconds))
        })
    }

    proptest! {
        #[test]
        fn every_rate_round_trips(rate in any_rate()) {
            prop_assert_eq!(rate.to_string().parse(), Ok(rate));
        }

        #[test]
        fn a_frame_is_due_within_a_nanosecond_after_its_exact_time(rate in any_rate(), frame in 0_u64..1_000_000) {
            let (times, seconds) = rate.terms();
            let due = u128::from(FrameTimes::new(rate).due(frame).as_nanos());
            let exact = u128::from(frame) * seconds * SECOND;
            prop_assert!(due * times >= exact && (due * times) - exact < times);
        }

        #[test]
        fn the_frames_of_a_window_are_those_due_in_it(rate in any_rate(), window in 0_u64..10_000_000_000) {
            let (frames, window) = (FrameTimes::new(rate), Nanos::from_nanos(window));
            let count = frames.within(window);
            prop_assert!(frames.due(count) >= window);
            prop_assert!(count == 0 || frames.due(count - 1) < window);
        }

        #[test]
        fn a_tick_is_the_first_at_or_after_a_time(
            rate in any_rate(),
            shift in 0_u64..100_000_000,
            time in 0_u64..100_000_000_000,
        ) {
            let ticks = Ticks::new(rate, Nanos::from_nanos(shift));
            let time = Nanos::from_nanos(time);
            let tick = ticks.at_or_after(time);
            let (times, seconds) = rate.terms();
            prop_assert!(tick >= time);
            prop_assert!(u128::from((tick - time).as_nanos()) * times < seconds * SECOND + times);
            // Whole ticks lie between it and the shift, except for rounding to a nanosecond.
            let apart = u128::from(tick.as_nanos().abs_diff(shift)) * times % (seconds * SECOND);
            prop_assert!(apart < times || seconds * SECOND - apart < times, "{}", apart);
        }
    }
}
