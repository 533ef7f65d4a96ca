//! Positions in a piece.

use std::fmt;
use std::ops::{Add, Div, Mul, Sub};

use num_rational::Ratio;
use num_traits::{CheckedAdd, CheckedDiv, CheckedMul, CheckedSub};

/// A position or a length in beats, an exact rational number.
///
/// Its operators panic if a numerator or denominator leaves 64 bits, in release builds too: beats
/// never wrap.
///
/// ```
/// use tactus_score::beat;
/// assert_eq!(beat(1) / 3 + beat(1) / 6, beat(1) / 2);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Beat(Ratio<i64>);

/// The beat of this number; the first is beat 0.
pub const fn beat(number: i64) -> Beat {
    Beat(Ratio::new_raw(number, 1))
}

impl Beat {
    /// `count` parts of a beat that has `parts` of them; `None` if that is 0.
    pub fn of_parts(count: i64, parts: u32) -> Option<Self> {
        (parts > 0).then(|| Self(Ratio::new(count, i64::from(parts))))
    }

    /// Its numerator in lowest terms.
    pub const fn numerator(self) -> i64 {
        *self.0.numer()
    }

    /// Its denominator in lowest terms, above zero.
    pub const fn denominator(self) -> i64 {
        *self.0.denom()
    }

    /// The last multiple of 1/`parts` that is not after it; `None` if that leaves 64 bits or
    /// `parts` is 0.
    pub fn floor_to(self, parts: u32) -> Option<Self> {
        let scaled = self.0.checked_mul(&Ratio::from_integer(i64::from(parts)))?;
        Self::of_parts(scaled.floor().to_integer(), parts)
    }
}

/// Defines an operator by its checked form.
macro_rules! operator {
    ($trait:ident, $method:ident, $checked:ident, $other:ty, $ratio:expr) => {
        impl $trait<$other> for Beat {
            type Output = Self;
            fn $method(self, other: $other) -> Self {
                let result = self.0.$checked(&$ratio(other));
                Self(result.expect("a beat's numerator and denominator fit into 64 bits"))
            }
        }
    };
}
operator!(Add, add, checked_add, Beat, |other: Beat| other.0);
operator!(Sub, sub, checked_sub, Beat, |other: Beat| other.0);
operator!(Mul, mul, checked_mul, i64, Ratio::from_integer);
operator!(Div, div, checked_div, i64, Ratio::from_integer);

impl fmt::Display for Beat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beats_are_exact_and_round_down_to_parts() {
        let third = beat(1) / 3;
        assert_eq!(third * 3, beat(1));
        assert_eq!((beat(7) - third).to_string(), "20/3");
        assert_eq!((beat(7) - third).floor_to(2), Beat::of_parts(13, 2));
        assert_eq!((beat(0) - third).floor_to(4), Beat::of_parts(-2, 4));
        assert_eq!(third.floor_to(0), None);
        assert_eq!(beat(i64::MAX).floor_to(2), None);
    }

    #[test]
    #[should_panic(expected = "fit into 64 bits")]
    fn beats_never_wrap() {
        let _ = beat(i64::MAX) + beat(1);
    }
}
