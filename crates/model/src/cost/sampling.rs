//! What a sample of an operation is, and how long the task rests before it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::text::{keywords, serde_as_text};
use crate::time::Nanos;

keywords! {
    /// What a sample of a round trip is.
    pub enum Way: "way" {
        /// Until the answer is there.
        RoundTrip = "round-trip",
        /// Until the partner runs.
        OneWay = "one-way",
        /// From the answer of the partner until the task runs, whose CPU was idle only since it woke
        /// the partner.
        Back = "back",
    }
}

/// How an operation is sampled.
///
/// Back to back, an operation finds its memory in the caches and its partner's CPU awake. A task
/// that runs once in a period finds neither: with a pause as long as the period, and as many
/// operations in a sample as it does in a period, a sample is what that task experiences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Sampling {
    /// How long the task sleeps before each sample; zero repeats back to back.
    #[serde(default)]
    pub pause: Nanos,
    /// How many operations a sample has.
    #[serde(default)]
    pub times: Times,
    /// What a sample of a round trip is.
    #[serde(default = "round_trip")]
    pub way: Way,
}

/// The value for plans stored before this setting existed.
const fn round_trip() -> Way {
    Way::RoundTrip
}

impl Sampling {
    /// Back to back, as many operations as usual, round trips.
    pub const USUAL: Self = Self { pause: Nanos::ZERO, times: Times(None), way: Way::RoundTrip };
}

/// A number of operations in a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Times(Option<u32>);

/// The error for a text that is not a number of operations.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a number of operations; write 1 to {max}, or usual", max = Times::MAX)]
pub struct NotTimes(String);

impl Times {
    /// The most operations in a sample.
    pub const MAX: u32 = 1_000_000;

    /// This number; `None` for zero and above [`Self::MAX`].
    pub fn new(times: u32) -> Option<Self> {
        (1..=Self::MAX).contains(&times).then_some(Self(Some(times)))
    }

    /// The number; `None` for what is usual for the operation.
    pub const fn get(self) -> Option<u32> {
        self.0
    }
}

/// The word for the number that is usual for the operation.
const USUAL: &str = "usual";

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(times) => f.pad(&times.to_string()),
            None => f.pad(USUAL),
        }
    }
}

impl FromStr for Times {
    type Err = NotTimes;

    fn from_str(text: &str) -> Result<Self, NotTimes> {
        if text == USUAL {
            return Ok(Self(None));
        }
        text.parse().ok().and_then(Self::new).ok_or_else(|| NotTimes(text.to_owned()))
    }
}

serde_as_text!(Times);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_operations_is_read_as_it_is_written() {
        for text in ["usual", "1", "1000000"] {
            assert_eq!(text.parse::<Times>().unwrap().to_string(), text);
        }
        for text in ["0", "1000001", "-1", "", "many"] {
            assert!(text.parse::<Times>().is_err(), "{text}");
        }
    }
}
