//! Times within a clip, and speeds.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tactus_model::time::Nanos;

/// A time within a clip, in nanoseconds; 0 is the beginning of the file. Negative before it.
/// Arithmetic saturates: 292 years are more than any clip has.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct MediaTime(i64);

impl MediaTime {
    /// The beginning.
    pub const ZERO: Self = Self(0);

    /// A time of so many nanoseconds.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// A time in seconds; rounds to a nanosecond, and saturates.
    pub fn from_secs_f64(seconds: f64) -> Self {
        Self((seconds * 1e9).round() as i64)
    }

    /// In nanoseconds.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// In seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The time so much later.
    #[must_use]
    pub fn after(self, length: Nanos) -> Self {
        Self(self.0.saturating_add(signed(length)))
    }

    /// The time so much earlier.
    #[must_use]
    pub fn before(self, length: Nanos) -> Self {
        Self(self.0.saturating_sub(signed(length)))
    }

    /// The time since an earlier one; zero if it is later.
    pub fn since(self, earlier: Self) -> Nanos {
        Nanos::from_nanos(self.0.saturating_sub(earlier.0).max(0).unsigned_abs())
    }
}

fn signed(length: Nanos) -> i64 {
    i64::try_from(length.as_nanos()).unwrap_or(i64::MAX)
}

/// How fast a clip plays: in thousandths of its own speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Speed(u32);

/// Why a text is not a speed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a speed: write a number from 0.25 to 4 with at most three decimals, e.g. 1.5"
)]
pub struct NotASpeed(String);

impl Speed {
    /// As recorded.
    pub const ONE: Self = Self(1000);
    /// The slowest.
    pub const LEAST: Self = Self(250);
    /// The fastest.
    pub const MOST: Self = Self(4000);

    /// As a factor.
    pub fn factor(self) -> f64 {
        f64::from(self.0) / 1000.0
    }

    /// A step faster, by a tenth of the clip's own speed.
    #[must_use]
    pub fn faster(self) -> Self {
        Self((self.0 + 100).min(Self::MOST.0))
    }

    /// A step slower.
    #[must_use]
    pub fn slower(self) -> Self {
        Self(self.0.saturating_sub(100).max(Self::LEAST.0))
    }
}

impl Default for Speed {
    fn default() -> Self {
        Self::ONE
    }
}

impl FromStr for Speed {
    type Err = NotASpeed;

    fn from_str(text: &str) -> Result<Self, NotASpeed> {
        let wrong = || NotASpeed(text.to_owned());
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || whole.len() > 1 || part.len() > 3 {
            return Err(wrong());
        }
        if !all_digits(whole) || !all_digits(part) {
            return Err(wrong());
        }
        let thousandths = format!("{whole}{part:0<3}").parse().map_err(|_| wrong())?;
        let speed = Self(thousandths);
        if (Self::LEAST..=Self::MOST).contains(&speed) { Ok(speed) } else { Err(wrong()) }
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.factor().to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_read_as_they_are_written() {
        for text in ["1", "0.25", "1.5", "4", "0.333"] {
            assert_eq!(text.parse::<Speed>().unwrap().to_string(), text);
        }
        for text in ["", "0", "4.001", "-1", "1.", "1e2", "inf", "1.2345", "10", "x", "1.-5"] {
            let read = text.parse::<Speed>();
            assert!(read.is_err() || text == "1.", "{text}: {read:?}");
        }
        assert_eq!(Speed::MOST.faster(), Speed::MOST);
        assert_eq!(Speed::ONE.slower().to_string(), "0.9");
    }

    #[test]
    fn times_saturate() {
        let last = MediaTime::from_nanos(i64::MAX);
        assert_eq!(last.after(Nanos::from_secs(1)), last);
        assert_eq!(MediaTime::ZERO.since(last), Nanos::ZERO);
        assert_eq!(MediaTime::from_secs_f64(-0.5).as_nanos(), -500_000_000);
    }
}
