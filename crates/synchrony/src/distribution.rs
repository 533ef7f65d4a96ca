//! A distribution of signed differences in three figures.

use serde::{Deserialize, Serialize};
use tactus_model::time::Nanos;

use crate::signed::SignedNanos;

/// Where differences lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Distribution {
    /// How many there are.
    pub count: usize,
    /// Half of them are below it.
    pub median: SignedNanos,
    /// 99 % of them are no further from zero: the maximum of fewer than 100.
    pub p99: Nanos,
    /// The one furthest from zero.
    pub worst: SignedNanos,
}

impl Distribution {
    /// The figures of these differences; `None` without any.
    pub fn of(values: impl IntoIterator<Item = SignedNanos>) -> Option<Self> {
        let mut values: Vec<SignedNanos> = values.into_iter().collect();
        values.sort_unstable();
        let median = median(&values)?;
        values.sort_unstable_by_key(|value| value.magnitude());
        let count = values.len();
        let rank = (count * 99).div_ceil(100).max(1);
        Some(Self { count, median, p99: values[rank - 1].magnitude(), worst: values[count - 1] })
    }
}

/// The median of ascending values: the mean of both in the middle of an even number.
pub(crate) fn median(ascending: &[SignedNanos]) -> Option<SignedNanos> {
    let count = ascending.len();
    let high = ascending.get(count / 2)?.as_nanos();
    let low = ascending[(count - 1) / 2].as_nanos();
    Some(SignedNanos::from_nanos(i64::midpoint(low, high)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_has_its_median_and_its_tail() {
        assert_eq!(Distribution::of([]), None);
        let values = (-20..=180).map(SignedNanos::from_millis);
        let found = Distribution::of(values).unwrap();
        let expected = Distribution {
            count: 201,
            median: SignedNanos::from_millis(80),
            p99: Nanos::from_millis(178),
            worst: SignedNanos::from_millis(180),
        };
        assert_eq!(found, expected);
        let early = Distribution::of([-7, 3].map(SignedNanos::from_millis)).unwrap();
        assert_eq!(early.worst, SignedNanos::from_millis(-7));
        assert_eq!(early.median, SignedNanos::from_millis(-2));
    }
}
