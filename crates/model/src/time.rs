//! Durations and instants. The clock is part of an instant's type.

use std::fmt;
use std::hash::Hash;
use std::marker::PhantomData;
use std::ops::{Add, Sub};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A duration in whole nanoseconds, from 0 to about 584 years.
///
/// Arithmetic saturates at both ends: no measurable duration comes near the upper end, and a
/// difference below zero means "not late". In JSON it is a number of nanoseconds; as text it
/// carries its unit (`1.5ms`).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Nanos(u64);

impl Nanos {
    /// A duration of zero.
    pub const ZERO: Self = Self(0);
    /// The longest duration that can be represented.
    pub const MAX: Self = Self(u64::MAX);

    /// Makes a duration of `count` nanoseconds.
    pub const fn from_nanos(count: u64) -> Self {
        Self(count)
    }

    /// Makes a duration of `count` microseconds, saturating.
    pub const fn from_micros(count: u64) -> Self {
        Self(count.saturating_mul(1_000))
    }

    /// Makes a duration of `count` milliseconds, saturating.
    pub const fn from_millis(count: u64) -> Self {
        Self(count.saturating_mul(1_000_000))
    }

    /// Makes a duration of `count` seconds, saturating.
    pub const fn from_secs(count: u64) -> Self {
        Self(count.saturating_mul(1_000_000_000))
    }

    /// The duration in nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The duration in microseconds, with its fraction.
    pub fn as_micros_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// The duration in seconds, with its fraction.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The difference of two durations, zero if `other` is longer.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// This duration times `factor`, saturating.
    pub const fn saturating_mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }

    /// How many whole `other` fit into this duration; 0 if `other` is zero.
    pub const fn div_floor(self, other: Self) -> u64 {
        match self.0.checked_div(other.0) {
            Some(count) => count,
            None => 0,
        }
    }
}

impl Add for Nanos {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Nanos {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.saturating_sub(other)
    }
}

impl std::iter::Sum for Nanos {
    fn sum<I: Iterator<Item = Self>>(lengths: I) -> Self {
        lengths.fold(Self::ZERO, Add::add)
    }
}

impl From<Nanos> for std::time::Duration {
    fn from(length: Nanos) -> Self {
        Self::from_nanos(length.0)
    }
}

impl From<std::time::Duration> for Nanos {
    fn from(length: std::time::Duration) -> Self {
        Self(u64::try_from(length.as_nanos()).unwrap_or(u64::MAX))
    }
}

/// Units from the longest to the shortest, in nanoseconds.
const UNITS: [(&str, u64); 6] = [
    ("h", 3_600_000_000_000),
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

impl fmt::Display for Nanos {
    /// Writes the duration exactly, in the longest unit that needs at most three decimals.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, length) = UNITS
            .into_iter()
            .find(|&(_, length)| {
                self.0 >= length && self.0.is_multiple_of((length / 1000).max(1))
                    // Hours and minutes are hard to read as decimals.
                    && (length <= 1_000_000_000 || self.0.is_multiple_of(length))
            })
            .unwrap_or(("ns", 1));
        let whole = self.0 / length;
        let thousandths = (self.0 % length) * 1000 / length;
        let text = if thousandths == 0 {
            format!("{whole}{unit}")
        } else {
            let decimals = format!("{thousandths:03}");
            format!("{whole}.{}{unit}", decimals.trim_end_matches('0'))
        };
        f.pad(&text)
    }
}

/// The error for a text that is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotALength {
    /// The form is wrong.
    #[error(
        "`{0}` is not a duration: write a number and a unit (ns, us, ms, s, min, h), e.g. 250us; the resolution is 1ns"
    )]
    Form(String),
    /// A duration is never negative.
    #[error("`{0}` is negative: write a duration without a sign, e.g. 250us")]
    Negative(String),
    /// It does not fit into [`Nanos`].
    #[error("`{0}` is too long: the limit is 5124095h, about 584 years")]
    TooLong(String),
}

impl FromStr for Nanos {
    type Err = NotALength;

    fn from_str(text: &str) -> Result<Self, NotALength> {
        let wrong = || NotALength::Form(text.to_owned());
        let too_long = || NotALength::TooLong(text.to_owned());
        let text = text.trim();
        if let Some(unsigned) = text.strip_prefix('-') {
            let negative = NotALength::Negative(text.to_owned());
            return Err(if unsigned.parse::<Self>().is_ok() { negative } else { wrong() });
        }
        let split = text.find(|c: char| c.is_alphabetic() || c == 'µ').ok_or_else(wrong)?;
        let (number, unit) = (text[..split].trim(), &text[split..]);
        let unit = match unit {
            "µs" | "μs" => "us",
            // As in cyclictest, timeout(1) and systemd.time(7). `M` is a month there.
            "m" => "min",
            unit => unit,
        };
        // No duration is measured in megaseconds, so the case of `Ms` does not matter.
        let (_, length) = UNITS
            .into_iter()
            .find(|&(name, _)| name.eq_ignore_ascii_case(unit))
            .ok_or_else(wrong)?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !all_digits(whole) || !all_digits(fraction) || fraction.len() > 12 {
            return Err(wrong());
        }
        let whole: u64 = whole.parse().map_err(|_| too_long())?;
        let scale = 10_u128.pow(fraction.len() as u32);
        let part = fraction.parse::<u128>().unwrap_or(0) * u128::from(length);
        // A fraction of a nanosecond cannot be represented, and nothing is rounded silently.
        if !part.is_multiple_of(scale) {
            return Err(wrong());
        }
        let part = part / scale;
        let total = u128::from(whole) * u128::from(length) + part;
        Ok(Self(u64::try_from(total).map_err(|_| too_long())?))
    }
}

/// One of the clocks of `clock_gettime(2)`, as a type.
pub trait Clock: Copy + Ord + Hash + fmt::Debug + Send + Sync + 'static {
    /// The clock's name as a value.
    const NAME: ClockName;
}

/// The clock `CLOCK_MONOTONIC`: starts at boot, is never set back, stops during suspend.
#[doc(alias = "CLOCK_MONOTONIC")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Monotonic;

/// The clock `CLOCK_REALTIME`: nanoseconds since 1970 in UTC; it can be set.
#[doc(alias = "CLOCK_REALTIME")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Realtime;

/// The clock `CLOCK_TAI`: like realtime, without leap seconds.
#[doc(alias = "CLOCK_TAI")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tai;

/// The clock `CLOCK_BOOTTIME`: like monotonic, but includes suspend time.
#[doc(alias = "CLOCK_BOOTTIME")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Boottime;

impl Clock for Monotonic {
    const NAME: ClockName = ClockName::Monotonic;
}
impl Clock for Realtime {
    const NAME: ClockName = ClockName::Realtime;
}
impl Clock for Tai {
    const NAME: ClockName = ClockName::Tai;
}
impl Clock for Boottime {
    const NAME: ClockName = ClockName::Boottime;
}

/// A point in time on the clock `C`, in nanoseconds since that clock's origin.
///
/// Instants of different clocks do not mix:
///
/// ```compile_fail
/// use tactus_model::time::{Instant, Monotonic, Realtime};
/// let due = Instant::<Monotonic>::from_nanos(5);
/// let came = Instant::<Realtime>::from_nanos(9);
/// let _ = came - due;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent, bound = "")]
pub struct Instant<C: Clock> {
    nanos: u64,
    #[serde(skip)]
    clock: PhantomData<C>,
}

impl<C: Clock> Instant<C> {
    /// Makes the instant `nanos` after the clock's origin.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self { nanos, clock: PhantomData }
    }

    /// Nanoseconds since the clock's origin.
    pub const fn as_nanos(self) -> u64 {
        self.nanos
    }
}

impl<C: Clock> Add<Nanos> for Instant<C> {
    type Output = Self;
    /// Saturates at the end of the clock's range.
    fn add(self, length: Nanos) -> Self {
        Self::from_nanos(self.nanos.saturating_add(length.0))
    }
}

impl<C: Clock> Sub<Nanos> for Instant<C> {
    type Output = Self;
    /// Saturates at the clock's origin.
    fn sub(self, length: Nanos) -> Self {
        Self::from_nanos(self.nanos.saturating_sub(length.0))
    }
}

impl<C: Clock> Sub for Instant<C> {
    type Output = Nanos;
    /// The time from `earlier` to this instant, zero if `earlier` is later.
    fn sub(self, earlier: Self) -> Nanos {
        Nanos(self.nanos.saturating_sub(earlier.nanos))
    }
}

/// An instant of the monotonic clock, or of virtual time in its place.
pub type Moment = Instant<Monotonic>;

crate::text::keywords! {
    /// The name of a clock that a probe can sleep by.
    pub enum ClockName: "clock" {
        /// `CLOCK_MONOTONIC`
        Monotonic = "monotonic",
        /// `CLOCK_REALTIME`
        Realtime = "realtime",
        /// `CLOCK_TAI`
        Tai = "tai",
        /// `CLOCK_BOOTTIME`
        Boottime = "boottime",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, nanos: u64, shown: &str) {
        let length: Nanos = text.parse().unwrap();
        assert_eq!(length, Nanos::from_nanos(nanos), "{text}");
        assert_eq!(length.to_string(), shown, "{text}");
        assert_eq!(shown.parse(), Ok(length), "{text}");
    }

    #[test]
    fn durations_round_trip_exactly() {
        check("0ns", 0, "0ns");
        check("1ms", 1_000_000, "1ms");
        check("1.5 ms", 1_500_000, "1.5ms");
        check("250µs", 250_000, "250us");
        check("1234567ns", 1_234_567, "1234.567us");
        check("90s", 90_000_000_000, "90s");
        check("2min", 120_000_000_000, "2min");
        check("10m", 600_000_000_000, "10min");
        check("0.5us", 500, "500ns");
        check("1000ms", 1_000_000_000, "1s");
        check("10MS", 10_000_000, "10ms");
        check("5 Min", 300_000_000_000, "5min");
    }

    #[test]
    fn an_error_says_what_is_wrong_with_a_duration() {
        for (text, expected) in [
            ("99999999h", "is too long: the limit is 5124095h"),
            ("99999999999999999999ns", "is too long"),
            ("-1ms", "is negative"),
            ("-x", "is not a duration"),
            ("10M", "is not a duration"),
        ] {
            let error = text.parse::<Nanos>().unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn a_number_without_a_unit_is_rejected() {
        for text in
            ["5", "", "ms", "1..2ms", "-1ms", "1 x", "99999999999h", "1e3ms", "1.5ns", "0.0001us"]
        {
            assert!(text.parse::<Nanos>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_difference_is_never_below_zero() {
        let early = Instant::<Monotonic>::from_nanos(5);
        let late = Instant::<Monotonic>::from_nanos(9);
        assert_eq!(late - early, Nanos::from_nanos(4));
        assert_eq!(early - late, Nanos::ZERO);
    }

    #[test]
    fn no_instant_is_before_the_clocks_origin() {
        let instant = Instant::<Monotonic>::from_nanos(5);
        assert_eq!(instant - Nanos::from_nanos(2), Instant::from_nanos(3));
        assert_eq!(instant - Nanos::from_nanos(9), Instant::from_nanos(0));
    }
}
