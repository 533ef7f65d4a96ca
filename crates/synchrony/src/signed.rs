//! Differences of times with a sign.

use std::fmt;
use std::ops::{Add, Neg, Sub};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tactus_model::format;
use tactus_model::time::{Nanos, NotALength};

use crate::observed::Moment;

/// A difference of times in nanoseconds; positive if the first is later. Arithmetic saturates.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct SignedNanos(i64);

impl SignedNanos {
    /// No difference.
    pub const ZERO: Self = Self(0);

    /// A difference of so many nanoseconds.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// A difference of so many milliseconds.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// A floating-point number of nanoseconds, rounded.
    pub const fn rounded(nanos: f64) -> Self {
        Self(nanos.round() as i64)
    }

    /// How much later `moment` is than `other`.
    pub const fn between(moment: Moment, other: Moment) -> Self {
        // Clocks stay below 2⁶³ ns, which is 292 years.
        Self(moment.as_nanos().wrapping_sub(other.as_nanos()).cast_signed())
    }

    /// In nanoseconds.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// In nanoseconds, as a floating-point number: exact below 2⁵³ ns.
    pub const fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// Without the sign.
    pub const fn magnitude(self) -> Nanos {
        Nanos::from_nanos(self.0.unsigned_abs())
    }
}

impl From<Nanos> for SignedNanos {
    fn from(length: Nanos) -> Self {
        Self(i64::try_from(length.as_nanos()).unwrap_or(i64::MAX))
    }
}

impl Add for SignedNanos {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for SignedNanos {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Neg for SignedNanos {
    type Output = Self;
    fn neg(self) -> Self {
        Self(self.0.saturating_neg())
    }
}

impl fmt::Display for SignedNanos {
    /// Writes the sign and three digits: `+3.40 ms`, `−120 µs`, `0 ns`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = match self.0 {
            0 => "",
            1.. => "+",
            _ => "−",
        };
        f.pad(&format!("{sign}{}", format::latency(self.magnitude())))
    }
}

impl FromStr for SignedNanos {
    type Err = NotALength;

    /// Reads a duration with or without a sign: `40ms`, `+40ms`, `-40ms`.
    fn from_str(text: &str) -> Result<Self, NotALength> {
        let text = text.trim();
        let negative = text.strip_prefix('-').or_else(|| text.strip_prefix('−'));
        let length: Nanos = negative.unwrap_or(text.strip_prefix('+').unwrap_or(text)).parse()?;
        let signed = Self::from(length);
        Ok(if negative.is_some() { -signed } else { signed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_read_and_written() {
        let check = |text: &str, nanos: i64, shown: &str| {
            let signed: SignedNanos = text.parse().unwrap();
            assert_eq!(signed.as_nanos(), nanos, "{text}");
            assert_eq!(signed.to_string().replace(format::THIN_SPACE, " "), shown, "{text}");
        };
        check("40ms", 40_000_000, "+40.0 ms");
        check("+5us", 5_000, "+5.00 µs");
        check("-40ms", -40_000_000, "−40.0 ms");
        check("0s", 0, "0 ns");
        assert!("--4ms".parse::<SignedNanos>().is_err());
    }

    #[test]
    fn differences_of_moments_have_a_sign() {
        let (early, late) = (Moment::from_nanos(10), Moment::from_nanos(25));
        assert_eq!(SignedNanos::between(late, early), SignedNanos::from_nanos(15));
        assert_eq!(SignedNanos::between(early, late), SignedNanos::from_nanos(-15));
    }
}
