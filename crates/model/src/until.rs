//! The interval width of a quantile at which a run stops, and the time limit for reaching it.
//!
//! ```
//! use tactus_model::time::Nanos;
//! use tactus_model::until::{Aim, Width};
//!
//! let aim: Aim = "p99.9:5%".parse().unwrap();
//! assert_eq!(aim.widest(Nanos::from_micros(200)), Nanos::from_micros(10));
//! let aim: Aim = "p99:2us".parse().unwrap();
//! assert_eq!(aim.width, Width::Length(Nanos::from_micros(2)));
//! ```

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::format::{THIN_SPACE, axis_length};
use crate::text::serde_as_text;
use crate::time::Nanos;

/// When a run stops adding rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Until {
    /// The interval width that every cell must reach.
    pub aim: Aim,
    /// No round starts that is expected to end later than this after the start of the run.
    pub limit: Nanos,
}

impl Until {
    /// The default limit: ten minutes.
    pub const LIMIT: Nanos = Nanos::from_secs(600);

    /// The minimum number of rounds of a run that continues until an interval is narrow. Fewer
    /// rounds show hardly anything of how rounds differ, and their interval may be narrow by
    /// chance.
    pub const FEWEST_ROUNDS: u32 = 3;
}

/// A quantile, and the maximum width of its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Aim {
    /// The quantile in millionths, e.g. 999 000 for p99.9; between 0 and a million, both
    /// exclusive.
    millionths: u32,
    /// The maximum distance from the lower to the upper end of the interval.
    pub width: Width,
}

/// The maximum width of an interval, from its lower to its upper end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Width {
    /// A share of the quantile, in millionths.
    Millionths(u32),
    /// A duration.
    Length(Nanos),
}

impl Width {
    /// The width as a figure: `10 %`, `2 µs`.
    pub fn in_words(self) -> String {
        match self {
            Self::Millionths(share) => format!("{}{THIN_SPACE}%", Percent(share)),
            Self::Length(length) => axis_length(length),
        }
    }
}

/// A million.
const WHOLE: u32 = 1_000_000;

impl Aim {
    /// The quantile, between 0 and 1.
    pub fn quantile(self) -> f64 {
        f64::from(self.millionths) / f64::from(WHOLE)
    }

    /// The quantile as a percentile: `p99.9`.
    pub fn percentile(self) -> String {
        format!("p{}", Percent(self.millionths))
    }

    /// The maximum interval width for a quantile of `estimate`; fractions of a nanosecond are
    /// dropped.
    pub fn widest(self, estimate: Nanos) -> Nanos {
        match self.width {
            Width::Length(length) => length,
            Width::Millionths(share) => {
                let part = u128::from(estimate.as_nanos()) * u128::from(share) / u128::from(WHOLE);
                // The share is less than a whole, so the result does not exceed the estimate.
                Nanos::from_nanos(u64::try_from(part).unwrap_or(u64::MAX))
            }
        }
    }
}

/// The error for a text that is not an interval width.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAnAim {
    /// The form is wrong.
    #[error(
        "`{0}` is not an interval width: write a percentile and a width, e.g. p99.9:5% or p99:2us"
    )]
    Form(String),
    /// The interval of a maximum does not narrow with further rounds.
    #[error(
        "the interval of a maximum does not narrow: a maximum grows with the number of rounds; write a percentile, e.g. p99.9:5%, and see the tail estimate for longer durations"
    )]
    Maximum,
}

impl FromStr for Aim {
    type Err = NotAnAim;

    fn from_str(text: &str) -> Result<Self, NotAnAim> {
        let (quantile, width) = text.split_once(':').unwrap_or((text, ""));
        if matches!(quantile, "max" | "maximum" | "worst" | "p100") {
            return Err(NotAnAim::Maximum);
        }
        let read = || {
            let millionths = millionths(quantile.strip_prefix('p')?)?;
            let width = match width.strip_suffix('%') {
                Some(percent) => Width::Millionths(millionths_below_whole(percent)?),
                None => Width::Length(width.parse().ok().filter(|width| *width > Nanos::ZERO)?),
            };
            (millionths < WHOLE).then_some(Self { millionths, width })
        };
        read().ok_or_else(|| NotAnAim::Form(text.to_owned()))
    }
}

fn millionths_below_whole(percent: &str) -> Option<u32> {
    millionths(percent).filter(|share| *share < WHOLE)
}

/// A percentage as millionths; `None` if it is not a percentage, is zero, or has more than four
/// decimals.
fn millionths(percent: &str) -> Option<u32> {
    let (whole, decimals) = percent.split_once('.').unwrap_or((percent, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || whole.len() > 3 || decimals.len() > 4 {
        return None;
    }
    if !digits(whole) || !digits(decimals) {
        return None;
    }
    format!("{whole}{decimals:0<4}").parse().ok().filter(|share| *share > 0)
}

/// Millionths as a percentage without trailing zeros.
struct Percent(u32);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}.{:04}", self.0 / 10_000, self.0 % 10_000);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

impl fmt::Display for Aim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.percentile(), self.width)
    }
}

impl fmt::Display for Width {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Millionths(share) => write!(f, "{}%", Percent(*share)),
            Self::Length(length) => write!(f, "{length}"),
        }
    }
}

serde_as_text!(Aim);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aims_round_trip() {
        for text in ["p99.9:5%", "p50:10%", "p99:2us", "p99.9999:0.5%", "p0.1:1ns", "p5:99.9999%"] {
            assert_eq!(text.parse::<Aim>().unwrap().to_string(), text);
        }
        let aim: Aim = "p99.90:5.0%".parse().unwrap();
        assert_eq!(aim.to_string(), "p99.9:5%");
        assert!((aim.quantile() - 0.999).abs() < 1e-12);
    }

    #[test]
    fn text_that_is_not_an_aim_is_rejected_with_an_example() {
        for text in [
            "",
            "p99.9",
            "99.9:5%",
            "p0:5%",
            "p101:5%",
            "p99:0%",
            "p99:100%",
            "p99:0ns",
            "p99:5",
            "p99.99999:5%",
            "p:5%",
            "p-1:5%",
            "p99:%",
        ] {
            let error = text.parse::<Aim>().unwrap_err().to_string();
            assert!(error.contains("e.g. p99.9:5% or p99:2us"), "{text}: {error}");
        }
        for text in ["max:5%", "max", "p100:2us"] {
            assert_eq!(text.parse::<Aim>(), Err(NotAnAim::Maximum), "{text}");
        }
    }
}
