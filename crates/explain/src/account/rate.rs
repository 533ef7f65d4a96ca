//! How often a clock ticks.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tactus_model::format::{THIN_SPACE, count};
use tactus_model::time::Nanos;

/// How often a clock ticks: whole ticks per second, from 1 to 100 000.
///
/// Written as a number, with or without its unit: `1000`, `1000Hz`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct TickRate(u32);

impl TickRate {
    /// The maximum rate: a tick every 10 µs.
    pub const MAX: Self = Self(100_000);

    /// Makes a rate of `hertz` ticks per second; `None` if that is out of range.
    pub const fn new(hertz: u32) -> Option<Self> {
        if hertz >= 1 && hertz <= Self::MAX.0 { Some(Self(hertz)) } else { None }
    }

    /// Ticks per second.
    pub const fn hertz(self) -> u32 {
        self.0
    }

    /// The rate as a figure: `100 Hz`.
    pub fn in_words(self) -> String {
        format!("{}{THIN_SPACE}Hz", count(self.0.into()))
    }

    /// The period, rounded to the nearest nanosecond.
    pub const fn period(self) -> Nanos {
        Nanos::from_nanos((1_000_000_000 + self.0 as u64 / 2) / self.0 as u64)
    }
}

impl fmt::Display for TickRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}Hz", self.0))
    }
}

/// Why a text or a number is not a tick rate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a tick rate; give ticks per second from 1 to 100000, such as 1000")]
pub struct NotATickRate(String);

impl FromStr for TickRate {
    type Err = NotATickRate;

    fn from_str(text: &str) -> Result<Self, NotATickRate> {
        let number = text.trim().trim_end_matches("Hz").trim_end();
        let digits = number.bytes().all(|byte| byte.is_ascii_digit());
        let hertz = if digits { number.parse().ok() } else { None };
        hertz.and_then(Self::new).ok_or_else(|| NotATickRate(text.to_owned()))
    }
}

impl TryFrom<u32> for TickRate {
    type Error = NotATickRate;

    fn try_from(hertz: u32) -> Result<Self, NotATickRate> {
        Self::new(hertz).ok_or_else(|| NotATickRate(hertz.to_string()))
    }
}

impl From<TickRate> for u32 {
    fn from(rate: TickRate) -> Self {
        rate.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_read_and_written() {
        let rate: TickRate = "1000".parse().unwrap();
        assert_eq!(rate.to_string(), "1000Hz");
        assert_eq!(rate.to_string().parse(), Ok(rate));
        assert_eq!(rate.period(), Nanos::from_millis(1));
        assert_eq!(TickRate::new(300).unwrap().period(), Nanos::from_nanos(3_333_333));
        for wrong in ["", "0", "-5", "1e3", "100001", "Hz", "4ms"] {
            assert!(wrong.parse::<TickRate>().is_err(), "{wrong}");
        }
    }
}
