//! Shares of CPUs.

use std::iter::Sum;
use std::ops::Add;

use tactus_model::time::Nanos;

/// One CPU. The kernel counts in units of 2⁻²⁰ and rounds down, so it never counts more.
pub(crate) const CPU: u64 = 1_000_000_000_000;

/// A share of CPU time in units of 10⁻¹² CPUs: per cents, and per cents of them, are whole numbers,
/// so 30 % permits 3 ms in 10 ms, and not 2.999999 ms.
///
/// A share that is needed is rounded up, and a time that a share permits is rounded down, so sums
/// of shares never permit more time than there is. Sums saturate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bandwidth(u64);

impl Bandwidth {
    /// None.
    pub const ZERO: Self = Self(0);

    /// `percent` of `cpus` CPUs.
    pub const fn percent_of_cpus(percent: u64, cpus: u64) -> Self {
        Self(CPU.saturating_mul(cpus).saturating_mul(percent) / 100)
    }

    /// The share that `cost` in every `window` needs, rounded up; the whole of a CPU at most.
    pub fn needed(cost: Nanos, window: Nanos) -> Self {
        let window = u128::from(window.as_nanos().max(1));
        let share = (u128::from(cost.as_nanos()) * u128::from(CPU)).div_ceil(window);
        Self(share.min(u128::from(CPU)) as u64)
    }

    /// The time that the share permits in every `window`, rounded down.
    pub fn permits(self, window: Nanos) -> Nanos {
        let time = u128::from(self.0.min(CPU)) * u128::from(window.as_nanos()) / u128::from(CPU);
        // At most the window.
        Nanos::from_nanos(time as u64)
    }

    /// What is left without `other`; nothing if that is larger.
    #[must_use]
    pub const fn less(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// `percent` of it, rounded down.
    #[must_use]
    pub const fn percent(self, percent: u64) -> Self {
        Self(self.0.saturating_mul(percent) / 100)
    }

    /// In CPUs, for display.
    pub fn cpus(self) -> f64 {
        self.0 as f64 / CPU as f64
    }

    #[cfg(test)]
    pub(crate) const fn units(self) -> u64 {
        self.0
    }

    pub(crate) const fn from_units(units: u64) -> Self {
        Self(units)
    }
}

impl Add for Bandwidth {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sum for Bandwidth {
    fn sum<I: Iterator<Item = Self>>(shares: I) -> Self {
        shares.fold(Self::ZERO, Add::add)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_share_permits_the_time_that_needs_it(
            cost in 1_u64..3_600_000_000_000,
            window in 1_u64..3_600_000_000_000,
        ) {
            let window = Nanos::from_nanos(window.max(cost));
            let share = Bandwidth::needed(Nanos::from_nanos(cost), window);
            prop_assert!(share.permits(window) >= Nanos::from_nanos(cost));
            prop_assert!(Bandwidth::needed(share.permits(window), window) <= share);
        }
    }
}
