//! Log-bucketed histograms of durations.

use tactus_model::result::Histogram;
use tactus_model::time::Nanos;

/// Counts of durations with a resolution of 1 ns up to 2048 ns and better than 0.1 % above.
///
/// A wrapper of [`hdrhistogram`] with three significant digits that grows as needed: there is
/// no overflow bucket. Minimum, maximum and sum are exact, not those of buckets.
#[derive(Clone, Debug)]
pub struct LatencyHistogram {
    counts: hdrhistogram::Histogram<u64>,
    /// In nanoseconds; cannot overflow.
    sum: u128,
    min: Nanos,
    max: Nanos,
}

/// A range of durations that are counted together, with their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// The minimum duration of the bucket.
    pub low: Nanos,
    /// The maximum duration of the bucket.
    pub high: Nanos,
    /// The number of durations in it.
    pub count: u64,
}

/// The decimal digits kept of each duration.
const SIGNIFICANT_DIGITS: u8 = 3;
/// The same in binary: the first 2048 durations have a bucket each.
const BINARY_DIGITS: u32 = 11;

impl Default for LatencyHistogram {
    fn default() -> Self {
        Self::new()
    }
}

impl LatencyHistogram {
    /// Makes an empty histogram.
    pub fn new() -> Self {
        let counts = hdrhistogram::Histogram::new(SIGNIFICANT_DIGITS)
            .expect("the library supports three digits");
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
            .expect("a resizing histogram accepts every value");
        self.sum += u128::from(length.as_nanos()) * u128::from(count);
        self.min = self.min.min(length);
        self.max = self.max.max(length);
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.counts.add(&other.counts).expect("a resizing histogram accepts every other");
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Adds the counts of a stored histogram; minimum, maximum and sum stay exact.
    ///
    /// If a record contradicts itself, which only damage can cause, the buckets decide: they
    /// give the count, and the minimum and maximum are clamped to the first and last bucket.
    pub fn merge_record(&mut self, record: &Histogram) {
        let mut ends: Option<(Nanos, Nanos)> = None;
        for &(low, count) in record.buckets.iter().filter(|(_, count)| *count > 0) {
            self.counts
                .record_n(low.as_nanos(), count)
                .expect("a resizing histogram accepts every value");
            let (first, last) = ends.unwrap_or((low, low));
            ends = Some((first.min(low), last.max(low)));
        }
        if let Some((first, last)) = ends {
            self.sum += u128::from(record.sum.as_nanos());
            self.min = self.min.min(record.min.clamp(bucket_low(first), bucket_high(first)));
            self.max = self.max.max(record.max.clamp(bucket_low(last), bucket_high(last)));
        }
    }

    /// Resets the histogram, keeping its memory.
    pub fn clear(&mut self) {
        self.counts.reset();
        (self.sum, self.min, self.max) = (0, Nanos::MAX, Nanos::ZERO);
    }

    /// The number of durations.
    pub fn count(&self) -> u64 {
        self.counts.len()
    }

    /// Whether the histogram is empty.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// The exact minimum.
    pub fn min(&self) -> Option<Nanos> {
        (!self.is_empty()).then_some(self.min)
    }

    /// The exact maximum.
    pub fn max(&self) -> Option<Nanos> {
        (!self.is_empty()).then_some(self.max)
    }

    /// The mean in nanoseconds, from the exact sum.
    pub fn mean(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.sum as f64 / self.count() as f64)
    }

    /// The population standard deviation in nanoseconds, computed from the midpoints of the
    /// buckets: better than 0.1 % of the durations.
    pub fn deviation(&self) -> Option<f64> {
        let mean = self.mean()?;
        let squares = self.buckets().map(|bucket| {
            let low = bucket.low.max(self.min).as_nanos() as f64;
            let high = bucket.high.min(self.max).as_nanos() as f64;
            (f64::midpoint(low, high) - mean).powi(2) * bucket.count as f64
        });
        Some((squares.sum::<f64>() / self.count() as f64).sqrt())
    }

    /// The share of durations up to the bucket that contains `length`; `None` if the histogram
    /// is empty.
    pub fn share_within(&self, length: Nanos) -> Option<f64> {
        (!self.is_empty()).then(|| 1.0 - self.share_above(length))
    }

    /// The duration that a share `quantile` (0 to 1) did not exceed: the nearest rank, rounded
    /// to the upper end of its bucket, but at most the maximum.
    ///
    /// `None` if the histogram is empty or `quantile` is not between 0 and 1.
    pub fn quantile(&self, quantile: f64) -> Option<Nanos> {
        if self.is_empty() || !(0.0..=1.0).contains(&quantile) {
            return None;
        }
        let rank = nearest_rank(quantile, self.count());
        let mut seen = 0_u64;
        let bucket = self.buckets().find(|bucket| {
            seen = seen.saturating_add(bucket.count);
            seen >= rank
        })?;
        Some(if rank == 1 { self.min } else { bucket.high.min(self.max) })
    }

    /// The share of durations above the bucket that contains `length`; 0 if the histogram is
    /// empty.
    pub fn share_above(&self, length: Nanos) -> f64 {
        let above = self.buckets().filter(|bucket| bucket.low > length);
        let above = above.fold(0, |sum: u64, bucket| sum.saturating_add(bucket.count));
        if self.is_empty() { 0.0 } else { above as f64 / self.count() as f64 }
    }

    /// The non-empty buckets, ascending.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        // The library's own iterator ends the highest bucket 1 ns too early, and its addition
        // of counts can overflow.
        let next = |low: &Nanos| bucket_high(*low).as_nanos().checked_add(1).map(Nanos::from_nanos);
        std::iter::successors(self.min().map(bucket_low), next)
            .take_while(|low| *low <= self.max)
            .map(|low| {
                let count = self.counts.count_at(low.as_nanos());
                Bucket { low, high: bucket_high(low), count }
            })
            .filter(|bucket| bucket.count > 0)
    }

    /// Converts it to the form for storage and transmission.
    pub fn to_record(&self) -> Histogram {
        Histogram {
            count: self.count(),
            sum: Nanos::from_nanos(u64::try_from(self.sum).unwrap_or(u64::MAX)),
            min: self.min().unwrap_or_default(),
            max: self.max().unwrap_or_default(),
            buckets: self.buckets().map(|bucket| (bucket.low, bucket.count)).collect(),
        }
    }

    /// Converts it from the stored form.
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

/// The minimum of the bucket that contains `length`.
pub const fn lowest_alike(length: Nanos) -> Nanos {
    bucket_low(length)
}

const fn bucket_low(length: Nanos) -> Nanos {
    let coarse = coarseness(length);
    Nanos::from_nanos(length.as_nanos() >> coarse << coarse)
}

/// The maximum of the bucket that contains `length`.
pub(crate) const fn bucket_high(length: Nanos) -> Nanos {
    Nanos::from_nanos(length.as_nanos() | ((1 << coarseness(length)) - 1))
}

/// The number of low binary digits of `length` that its bucket ignores; at most 53.
const fn coarseness(length: Nanos) -> u32 {
    (u64::BITS - length.as_nanos().leading_zeros()).saturating_sub(BINARY_DIGITS)
}

/// The rank, counted from 1, of a quantile among `count` sorted durations: their product,
/// rounded up.
///
/// A share such as 0.999 has no exact binary form, and 99.9 / 100 is another number than 0.999. A
/// rounding error does not choose the next rank.
pub fn nearest_rank(quantile: f64, count: u64) -> u64 {
    let rank = (quantile * count as f64 * (1.0 - 1e-12)).ceil() as u64;
    rank.clamp(1, count.max(1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Durations of every magnitude, including the ends of the range.
    fn anything() -> impl Strategy<Value = Vec<u64>> {
        let shifted = (any::<u64>(), 0..64_u32).prop_map(|(bits, shift)| bits >> shift);
        prop::collection::vec(prop_oneof![0..5_000_u64, shifted, Just(u64::MAX)], 0..60)
    }

    fn of(values: &[u64]) -> LatencyHistogram {
        values.iter().map(|value| Nanos::from_nanos(*value)).collect()
    }

    proptest! {
        #[test]
        fn every_bucket_counts_the_values_between_its_ends(values in anything()) {
            let histogram = of(&values);
            let record = histogram.to_record();
            prop_assert_eq!(LatencyHistogram::from_record(&record).to_record(), record);
            for bucket in histogram.buckets() {
                let ends = bucket.low.as_nanos()..=bucket.high.as_nanos();
                let within = values.iter().filter(|value| ends.contains(value)).count();
                prop_assert_eq!(bucket.count, within as u64);
            }
        }

        #[test]
        fn the_geometry_is_that_of_the_library(value in any::<u64>(), shift in 0..64_u32) {
            let (value, peer) = (value >> shift, LatencyHistogram::new().counts);
            let (low, high) =
                (bucket_low(Nanos::from_nanos(value)), bucket_high(Nanos::from_nanos(value)));
            prop_assert_eq!(low.as_nanos(), peer.lowest_equivalent(value));
            prop_assert_eq!((high - low).as_nanos() + 1, peer.equivalent_range(value));
        }

        #[test]
        fn the_deviation_is_that_of_the_durations(values in prop::collection::vec(0..1_u64 << 40, 1..60)) {
            let mean = values.iter().sum::<u64>() as f64 / values.len() as f64;
            let squares = values.iter().map(|value| (*value as f64 - mean).powi(2)).sum::<f64>();
            let expected = (squares / values.len() as f64).sqrt();
            let greatest = values.iter().max().copied().unwrap_or_default() as f64;
            let found = of(&values).deviation().unwrap();
            prop_assert!((found - expected).abs() <= greatest * 0.001 + 1e-6, "{found} {expected}");
        }

        #[test]
        fn merging_is_associative(a in anything(), b in anything(), c in anything()) {
            let merged = |left: &LatencyHistogram, right: &LatencyHistogram| {
                let mut whole = left.clone();
                whole.merge(right);
                whole
            };
            let (a, b, c) = (of(&a), of(&b), of(&c));
            prop_assert_eq!(
                merged(&merged(&a, &b), &c).to_record(),
                merged(&a, &merged(&b, &c)).to_record()
            );
        }

        #[test]
        fn a_quantile_is_the_nearest_rank(mut values in anything(), share in 0.0..=1.0f64) {
            prop_assume!(!values.is_empty());
            let found = of(&values).quantile(share).unwrap().as_nanos();
            values.sort_unstable();
            let exact = values[nearest_rank(share, values.len() as u64) as usize - 1];
            prop_assert!(found >= exact && found - exact <= exact / 1000);
        }

        #[test]
        fn a_damaged_record_is_accepted_without_a_panic(
            count in any::<u64>(),
            ends in any::<[u64; 3]>(),
            buckets in prop::collection::vec(any::<(u64, u64)>(), 0..10),
        ) {
            let [sum, min, max] = ends.map(Nanos::from_nanos);
            let buckets = buckets.into_iter().map(|(low, n)| (Nanos::from_nanos(low), n)).collect();
            let histogram = LatencyHistogram::from_record(&Histogram { count, sum, min, max, buckets });
            let _ = (histogram.quantile(0.5), histogram.mean(), histogram.share_above(min));
            let _ = histogram.to_record();
        }

        #[test]
        fn records_round_trip(values in prop::collection::vec(0..u64::MAX / 2, 0..100)) {
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
                // Either neighbour, if the share is between two ranks.
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
