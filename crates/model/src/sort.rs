//! A computation of a fixed size, repeated: an array is filled and sorted.
//!
//! How long one takes tells what else took the processor meanwhile: of the clock's
//! interrupts, what they take by themselves and what they cost the caches (Etsion,
//! Tsafrir and Feitelson, *Effects of Clock Resolution on the Scheduling of Interactive
//! and Soft Real-Time Processes*, SIGMETRICS 2003, section 3).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::probe::TimerProbe;
use crate::text::serde_as_text;

/// The settings of the sort probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SortProbe {
    /// Its clock, and how many tasks there are. It does not sleep in its window.
    #[serde(flatten)]
    pub timer: TimerProbe,
    /// How many numbers are sorted.
    pub numbers: Numbers,
}

/// How many numbers of four bytes an array has: from 16 to 16 777 216.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Numbers(u32);

impl Numbers {
    /// As many as fill half of the 256 KiB that the paper's caches had.
    pub const OF_THE_PAPER: Self = Self(32_768);

    /// So many; none when that is out of range.
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

/// Why a text is not the size of an array.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not how many numbers are sorted: write 16 to 16777216, as 32768")]
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
    fn sizes_are_read_and_written_or_refused_with_the_range() {
        for text in ["16", "32768", "16777216"] {
            assert_eq!(text.parse::<Numbers>().unwrap().to_string(), text);
        }
        for text in ["15", "16777217", "many", ""] {
            let error = text.parse::<Numbers>().unwrap_err().to_string();
            assert!(error.contains("16 to 16777216"), "{error}");
        }
    }
}
