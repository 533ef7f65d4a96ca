//! Log-bucketed histograms of lengths of time.

use tactus_model::result::Histogram;
use tactus_model::time::Nanos;

/// Counts of lengths at a resolution of 1 ns up to 2048 ns and better than 0.1 % above.
///
/// A wrapper of [`hdrhistogram`] with three significant digits that grows with
/// what it is given: there is no overflow bucket. Least, greatest and sum are
/// exact, not those of buckets.
#[derive(Clone, Debug)]
pub struct LatencyHistogram {
    counts: hdrhistogram::Histogram<u64>,
    /// In nanoseconds; wide enough that it cannot overflow.
    sum: u128,
    min: Nanos,
    max: Nanos,
}

/// A range of lengths that are not told apart, and how many fell into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// The least length of the bucket.
    pub low: Nanos,
    /// The greatest length of the bucket.
    pub high: Nanos,
    /// How many there are.
    pub count: u64,
}

/// Digits that are kept of each length.
const SIGNIFICANT_DIGITS: u8 = 3;

impl Default for LatencyHistogram {
    fn default() -> Self {
        Self::new()
    }
}

impl LatencyHistogram {
    /// Makes an empty histogram.
    pub fn new() -> Self {
        let counts = hdrhistogram::Histogram::new(SIGNIFICANT_DIGITS)
            .expect("three digits are among those the library offers");
        Self { counts, sum: 0, min: Nanos::MAX, max: Nanos::ZERO }
    }

    /// Counts `length` once.
    #[inline]
    pub fn record(&mut self, length: Nanos) {
        self.record_n(length, 1);
    }

    /// Counts `length` `count` times.
    #[inline]
    pub fn record_n(&mut self, length: Nanos, count: u64) {
        if count == 0 {
            return;
        }
        self.counts
            .record_n(length.as_nanos(), count)
            .expect("a histogram that grows takes every value");
        self.sum += u128::from(length.as_nanos()) * u128::from(count);
        self.min = self.min.min(length);
        self.max = self.max.max(length);
    }

    /// Adds what `other` has counted.
    pub fn merge(&mut self, other: &Self) {
        self.counts.add(&other.counts).expect("a histogram that grows takes every other");
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Adds what a kept histogram has counted; its least, greatest and sum stay exact.
    pub fn merge_record(&mut self, record: &Histogram) {
        if record.count == 0 {
            return;
        }
        for &(low, count) in &record.buckets {
            self.counts
                .record_n(low.as_nanos(), count)
                .expect("a histogram that grows takes every value");
        }
        self.sum += u128::from(record.sum.as_nanos());
        self.min = self.min.min(record.min);
        self.max = self.max.max(record.max);
    }

    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        self.counts.reset();
        (self.sum, self.min, self.max) = (0, Nanos::MAX, Nanos::ZERO);
    }

    /// How many lengths were counted.
    pub fn count(&self) -> u64 {
        self.counts.len()
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// The least length, exactly.
    pub fn min(&self) -> Option<Nanos> {
        (!self.is_empty()).then_some(self.min)
    }

    /// The greatest length, exactly.
    pub fn max(&self) -> Option<Nanos> {
        (!self.is_empty()).then_some(self.max)
    }

    /// The mean in nanoseconds, from the exact sum.
    pub fn mean(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.sum as f64 / self.count() as f64)
    }

    /// The length that a share `quantile` (0 to 1) did not exceed: the nearest
    /// rank, told by the upper end of its bucket but never beyond the greatest length.
    pub fn quantile(&self, quantile: f64) -> Option<Nanos> {
        if self.is_empty() {
            return None;
        }
        let value = Nanos::from_nanos(self.counts.value_at_quantile(quantile));
        Some(value.clamp(self.min, self.max))
    }

    /// The share of lengths above the bucket that holds `length`; 0 when nothing was counted.
    pub fn share_above(&self, length: Nanos) -> f64 {
        let above: u64 =
            self.buckets().filter(|bucket| bucket.low > length).map(|bucket| bucket.count).sum();
        if self.is_empty() { 0.0 } else { above as f64 / self.count() as f64 }
    }

    /// The buckets that are not empty, ascending.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        self.counts.iter_recorded().map(|step| {
            let high = step.value_iterated_to();
            Bucket {
                low: Nanos::from_nanos(self.counts.lowest_equivalent(high)),
                high: Nanos::from_nanos(high),
                count: step.count_since_last_iteration(),
            }
        })
    }

    /// The form in which it is kept and sent.
    pub fn to_record(&self) -> Histogram {
        Histogram {
            count: self.count(),
            sum: Nanos::from_nanos(u64::try_from(self.sum).unwrap_or(u64::MAX)),
            min: self.min().unwrap_or_default(),
            max: self.max().unwrap_or_default(),
            buckets: self.buckets().map(|bucket| (bucket.low, bucket.count)).collect(),
        }
    }

    /// Takes it back from the form in which it was kept.
    pub fn from_record(record: &Histogram) -> Self {
        let mut histogram = Self::new();
        histogram.merge_record(record);
        histogram
    }
}

impl FromIterator<Nanos> for LatencyHistogram {
    fn from_iter<I: IntoIterator<Item = Nanos>>(lengths: I) -> Self {
        let mut histogram = Self::new();
        lengths.into_iter().for_each(|length| histogram.record(length));
        histogram
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(values: &[u64]) -> LatencyHistogram {
        values.iter().map(|value| Nanos::from_nanos(*value)).collect()
    }

    proptest! {
        #[test]
        fn what_is_kept_is_taken_back_as_it_was(values in prop::collection::vec(0..u64::MAX / 2, 0..100)) {
            let record = of(&values).to_record();
            prop_assert_eq!(LatencyHistogram::from_record(&record).to_record(), record);
        }

        #[test]
        fn merging_counts_everything_in_any_order(
            a in prop::collection::vec(0..1u64 << 40, 0..50),
            b in prop::collection::vec(0..1u64 << 40, 0..50),
        ) {
            let (mut left, mut right) = (of(&a), of(&b));
            left.merge(&of(&b));
            right.merge(&of(&a));
            let together: Vec<u64> = a.into_iter().chain(b).collect();
            prop_assert_eq!(left.to_record(), right.to_record());
            prop_assert_eq!(left.to_record(), of(&together).to_record());
        }

        #[test]
        fn quantiles_ascend_and_lie_within_a_thousandth_of_the_nearest_rank(
            mut values in prop::collection::vec(0..1u64 << 50, 1..200),
            mut shares in prop::collection::vec(0.0..=1.0f64, 2..6),
        ) {
            let histogram = of(&values);
            values.sort_unstable();
            shares.sort_by(f64::total_cmp);
            let mut last = Nanos::ZERO;
            for share in shares {
                let found = histogram.quantile(share).unwrap();
                prop_assert!(found >= last);
                last = found;
                // Either neighbour, where the share falls between two ranks.
                let rank = share * values.len() as f64;
                let near = |index: f64| values[(index.max(1.0) as usize - 1).min(values.len() - 1)] as f64;
                let (low, high) = (near(rank.floor()), near(rank.floor() + 1.0));
                let found = found.as_nanos() as f64;
                prop_assert!(found >= low * 0.999 - 1.0 && found <= high * 1.001 + 1.0);
            }
        }
    }

    #[test]
    fn the_ends_and_the_mean_are_exact() {
        let histogram = of(&[1_000_001, 3_000_001, 5_000_004]);
        assert_eq!(histogram.min(), Some(Nanos::from_nanos(1_000_001)));
        assert_eq!(histogram.max(), Some(Nanos::from_nanos(5_000_004)));
        assert_eq!(histogram.quantile(1.0), histogram.max());
        assert_eq!(histogram.mean(), Some(3_000_002.0));
        assert!((histogram.share_above(Nanos::from_millis(2)) - 2.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn an_empty_histogram_has_no_quantiles() {
        let empty = LatencyHistogram::new();
        assert_eq!(
            (empty.min(), empty.max(), empty.quantile(0.5), empty.mean()),
            (None, None, None, None)
        );
        assert_eq!(empty.to_record(), Histogram::default());
    }
}
