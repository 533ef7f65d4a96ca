//! A computation of fixed size, repeated: an array is filled and sorted.
//!
//! The duration of one iteration shows what else used the CPU in the meantime: for clock
//! interrupts, their own time and their effect on the caches (Etsion, Tsafrir and Feitelson,
//! *Effects of Clock Resolution on the Scheduling of Interactive and Soft Real-Time Processes*,
//! SIGMETRICS 2003, section 3).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::probe::TimerProbe;
use crate::text::serde_as_text;

/// The settings of the sort probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SortProbe {
    /// Its clock and number of tasks. It does not sleep within its window.
    #[serde(flatten)]
    pub timer: TimerProbe,
    /// How many numbers are sorted.
    pub numbers: Numbers,
}

/// The size of an array in four-byte numbers: from 16 to 16 777 216.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Numbers(u32);

impl Numbers {
    /// Fills half of the 256 KiB cache of the paper's machine.
    pub const OF_THE_PAPER: Self = Self(32_768);

    /// A size; `None` if it is out of range.
    pub fn new(numbers: u32) -> Option<Self> {
        (16..=1 << 24).contains(&numbers).then_some(Self(numbers))
    }

    /// The number.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// The error for a text that is not an array size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an array size: write 16 to 16777216, e.g. 32768")]
pub struct NotNumbers(String);

impl FromStr for Numbers {
    type Err = NotNumbers;

    fn from_str(text: &str) -> Result<Self, NotNumbers> {
        text.parse().ok().and_then(Self::new).ok_or_else(|| NotNumbers(text.to_owned()))
    }
}

serde_as_text!(Numbers);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_parsed_and_formatted_or_rejected_with_the_range() {
        for text in ["16", "32768", "16777216"] {
            assert_eq!(text.parse::<Numbers>().unwrap().to_string(), text);
        }
        for text in ["15", "16777217", "many", ""] {
            let error = text.parse::<Numbers>().unwrap_err().to_string();
            assert!(error.contains("16 to 16777216"), "{error}");
        }
    }
}
