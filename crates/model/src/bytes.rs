//! Amounts of memory, as a person writes them.

use std::fmt;
use std::str::FromStr;

use crate::text::serde_as_text;

/// A number of bytes.
///
/// As text: `0B`, `656B`, `64KiB` (binary units), `1MB` (decimal units). It is written in the
/// largest binary unit that divides it, otherwise in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

/// Units by name, and their size in bytes; the binary ones from the largest to the smallest.
const UNITS: [(&str, u64); 7] = [
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("B", 1),
];

impl Bytes {
    /// No bytes.
    pub const ZERO: Self = Self(0);
    /// The most that a setting may request: 1 GiB.
    pub const MAX: Self = Self(1 << 30);

    /// A number of bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let divides = |(name, size): &&(&str, u64)| {
            (name.ends_with("iB") || *size == 1) && self.0.is_multiple_of(*size)
        };
        let (name, size) = match self.0 {
            0 => ("B", 1),
            _ => UNITS.iter().find(divides).copied().unwrap_or(("B", 1)),
        };
        f.pad(&format!("{}{name}", self.0 / size))
    }
}

/// The error for a text that is not a number of bytes, or too large a number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a size: write a whole number with B, KiB, MiB, kB or MB, up to 1GiB")]
pub struct NotBytes(String);

impl FromStr for Bytes {
    type Err = NotBytes;

    fn from_str(text: &str) -> Result<Self, NotBytes> {
        let wrong = || NotBytes(text.to_owned());
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let number: u64 = number.parse().map_err(|_| wrong())?;
        let known = |(name, _): &&(&str, u64)| name.eq_ignore_ascii_case(unit);
        let (_, size) = UNITS.iter().find(known).ok_or_else(wrong)?;
        let bytes = number.checked_mul(*size).map(Self).ok_or_else(wrong)?;
        (bytes <= Self::MAX).then_some(bytes).ok_or_else(wrong)
    }
}

serde_as_text!(Bytes);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_parsed_and_written_in_the_largest_binary_unit() {
        let check = |text: &str, bytes: u64, written: &str| {
            let parsed: Bytes = text.parse().unwrap();
            assert_eq!((parsed.get(), parsed.to_string().as_str()), (bytes, written), "{text}");
            assert_eq!(written.parse(), Ok(parsed));
        };
        check("0B", 0, "0B");
        check("656B", 656, "656B");
        check("64kib", 65_536, "64KiB");
        check("1MB", 1_000_000, "1000000B");
        check("1GiB", 1 << 30, "1GiB");
    }

    #[test]
    fn what_is_no_size_is_refused_with_the_units() {
        for text in ["", "4", "KiB", "-1B", "1.5MiB", "2GiB", "99999999999999999999B", "4 KiB"] {
            let error = text.parse::<Bytes>().unwrap_err().to_string();
            assert!(error.contains("KiB"), "{error}");
        }
    }
}
