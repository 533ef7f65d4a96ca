//! The difference of a path's length that counts as the same.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A share of a figure plus a number of instructions; written as `1%+16`, `1%` or `16`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Allowance {
    /// The share of the figure, 0 to 1.
    pub share: f64,
    /// The number of instructions.
    pub instructions: u32,
}

impl Allowance {
    /// The default.
    ///
    /// One build of a kernel, booted with other seeds and another command line, moved no
    /// path by more (`docs/kernel-ci.md` has the figures). A build with other options moves
    /// some unrelated paths by a few instructions.
    pub const DEFAULT: Self = Self { share: 0.01, instructions: 16 };

    /// The permitted distance from `reference`, in instructions.
    pub fn of(self, reference: f64) -> f64 {
        self.share * reference.abs() + f64::from(self.instructions)
    }

    /// The permitted distance from `reference` for a number of events.
    pub fn of_times(self, reference: f64) -> f64 {
        self.share * reference.abs()
    }
}

impl Default for Allowance {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl fmt::Display for Allowance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Rounding removes the floating-point error, so a share reads back as it was written.
        let percent = (self.share * 1e8).round() / 1e6;
        let text = match (self.share > 0.0, self.instructions) {
            (true, 0) => format!("{percent}%"),
            (true, instructions) => format!("{percent}%+{instructions}"),
            (false, instructions) => instructions.to_string(),
        };
        f.pad(&text)
    }
}

/// The error for a text that is not an allowance.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not an allowance: write a percentage of at most 100%, a number of instructions, or both, e.g. 1%+16"
)]
pub struct NotAnAllowance(String);

impl FromStr for Allowance {
    type Err = NotAnAllowance;

    fn from_str(text: &str) -> Result<Self, NotAnAllowance> {
        let read = || {
            let (percent, instructions) = match text.split_once('%') {
                None => ("0", text),
                Some((percent, "")) => (percent, "0"),
                Some((percent, rest)) => (percent, rest.strip_prefix('+')?),
            };
            let share = percent.parse::<f64>().ok()? / 100.0;
            let instructions = instructions.parse().ok()?;
            (0.0..=1.0).contains(&share).then_some(Self { share, instructions })
        };
        read().ok_or_else(|| NotAnAllowance(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allowances_are_read_and_written() {
        for text in ["1%+16", "0.5%", "16", "0"] {
            assert_eq!(text.parse::<Allowance>().unwrap().to_string(), text);
        }
        assert_eq!(Allowance::DEFAULT.to_string(), "1%+16");
        for text in ["", "%", "-1%", "1%16", "101%", "1%+", "1 %", "ten", "1.5", "NaN%"] {
            let error = text.parse::<Allowance>().unwrap_err().to_string();
            assert!(error.contains("e.g. 1%+16"), "{text}: {error}");
        }
    }

    #[test]
    fn the_parts_of_an_allowance_add_up() {
        assert_eq!(Allowance::DEFAULT.of(3000.0), 46.0);
        assert_eq!(Allowance::DEFAULT.of_times(300.0), 3.0);
    }
}
