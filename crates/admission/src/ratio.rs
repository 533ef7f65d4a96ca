//! Sums and products of ratios that never round in favour of a task.

use tactus_model::time::Nanos;

/// The denominator of a ratio that is no longer exact.
const ROUNDED: u128 = 1 << 60;

/// A ratio of integers, such as a utilisation. It is exact while it fits into 128 bits; then it is
/// rounded up to a multiple of 2⁻⁶⁰, so that a sum or a product is never too small. Values above
/// 2⁶⁸ saturate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    numerator: u128,
    denominator: u128,
}

impl Ratio {
    /// Zero.
    pub const ZERO: Self = Self::whole(0);
    /// One.
    pub const ONE: Self = Self::whole(1);

    /// A whole number.
    pub const fn whole(count: u64) -> Self {
        Self { numerator: count as u128, denominator: 1 }
    }

    /// `part` of `whole`; a `whole` of zero counts as 1 ns.
    pub fn of(part: Nanos, whole: Nanos) -> Self {
        let (part, whole) = (part.as_nanos(), whole.as_nanos().max(1));
        let divisor = gcd(part.into(), whole.into());
        Self { numerator: u128::from(part) / divisor, denominator: u128::from(whole) / divisor }
    }

    /// The sum, exact or rounded up.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.exact_sum(other).unwrap_or_else(|| {
            let numerator = self.rounded_up().saturating_add(other.rounded_up());
            Self { numerator, denominator: ROUNDED }
        })
    }

    fn exact_sum(self, other: Self) -> Option<Self> {
        let divisor = gcd(self.denominator, other.denominator);
        let (by_self, by_other) = (other.denominator / divisor, self.denominator / divisor);
        let numerator = self
            .numerator
            .checked_mul(by_self)?
            .checked_add(other.numerator.checked_mul(by_other)?)?;
        Some(Self { numerator, denominator: self.denominator.checked_mul(by_self)? }.reduced())
    }

    /// The product, exact or rounded up.
    #[must_use]
    pub fn times(self, other: Self) -> Self {
        self.exact_product(other).unwrap_or_else(|| {
            let product = self.rounded_up().checked_mul(other.rounded_up());
            let numerator = product.map_or(u128::MAX, |product| product.div_ceil(ROUNDED));
            Self { numerator, denominator: ROUNDED }
        })
    }

    fn exact_product(self, other: Self) -> Option<Self> {
        let numerator = self.numerator.checked_mul(other.numerator)?;
        Some(
            Self { numerator, denominator: self.denominator.checked_mul(other.denominator)? }
                .reduced(),
        )
    }

    /// This ratio divided by a count; a count of zero counts as 1.
    #[must_use]
    pub fn divided_by(self, count: u64) -> Self {
        self.times(Self { numerator: 1, denominator: u128::from(count.max(1)) })
    }

    /// Whether the ratio is at most `most`.
    pub fn is_at_most(self, most: u64) -> bool {
        self.numerator.div_ceil(self.denominator) <= u128::from(most)
    }

    /// `amount` divided by what this ratio, at most 1, leaves of 1, rounded up; `None` if it
    /// leaves nothing.
    pub(crate) fn amount_over_rest(self, amount: u64) -> Option<u64> {
        let rest = ROUNDED.checked_sub(self.rounded_up()).filter(|rest| *rest > 0)?;
        u64::try_from((u128::from(amount) * ROUNDED).div_ceil(rest)).ok()
    }

    /// The ratio for display.
    pub fn as_f64(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    fn reduced(self) -> Self {
        let divisor = gcd(self.numerator, self.denominator);
        Self { numerator: self.numerator / divisor, denominator: self.denominator / divisor }
    }

    /// The least number of 2⁻⁶⁰ that is not below this ratio.
    fn rounded_up(self) -> u128 {
        if self.denominator == ROUNDED {
            return self.numerator;
        }
        let whole = self.numerator / self.denominator;
        // A smaller denominator and a larger remainder only enlarge the fraction.
        let excess = (128 - self.denominator.leading_zeros()).saturating_sub(67);
        let denominator = self.denominator >> excess;
        let rest = (self.numerator % self.denominator).div_ceil(1 << excess);
        let fraction = (rest * ROUNDED).div_ceil(denominator);
        whole.saturating_mul(ROUNDED).saturating_add(fraction)
    }
}

/// The greatest common divisor; 1 if both are zero.
fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        // Most are short, and a division of 64 bits takes a fraction of the time.
        (a, b) = match (u64::try_from(a), u64::try_from(b)) {
            (Ok(a), Ok(b)) => (b.into(), (a % b).into()),
            _ => (b, a % b),
        };
    }
    a.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(part: u64, whole: u64) -> Ratio {
        Ratio::of(Nanos::from_nanos(part), Nanos::from_nanos(whole))
    }

    #[test]
    fn a_sum_of_exactly_one_is_one() {
        let sum = ratio(1, 2).plus(ratio(1, 3)).plus(ratio(1, 6));
        assert_eq!(sum, Ratio::ONE);
        assert!(sum.is_at_most(1));
        assert!(!sum.plus(ratio(1, 3_600_000_000_000)).is_at_most(1));
    }

    #[test]
    fn what_does_not_fit_is_rounded_up_and_only_a_little() {
        // Large primes, whose product needs more than 128 bits.
        let primes = [3_599_999_999_929, 3_599_999_999_971, 3_599_999_999_851, 3_599_999_999_789];
        let (mut sum, mut product, mut floating) = (Ratio::ZERO, Ratio::ONE, (0.0, 1.0));
        for prime in primes {
            sum = sum.plus(ratio(prime / 5, prime));
            product = product.times(ratio(prime + prime / 5, prime));
            floating.0 += (prime / 5) as f64 / prime as f64;
            floating.1 *= (prime + prime / 5) as f64 / prime as f64;
        }
        assert!((sum.as_f64() - floating.0).abs() < 1e-12);
        assert!((product.as_f64() - floating.1).abs() < 1e-12);
        assert_eq!(sum.denominator, ROUNDED);
    }

    #[test]
    fn a_product_saturates() {
        let product = (0..300).fold(Ratio::ONE, |product, _| product.times(ratio(7, 3)));
        assert!(!product.is_at_most(1_000_000));
        assert!(product.times(product).as_f64().is_finite());
    }

    #[test]
    fn the_rest_of_one_divides_rounded_up() {
        assert_eq!(ratio(3, 4).amount_over_rest(10), Some(40));
        assert_eq!(ratio(2, 3).amount_over_rest(10), Some(31), "an upper bound of 30");
        assert_eq!(Ratio::ONE.amount_over_rest(10), None);
    }
}
