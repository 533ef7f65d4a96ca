//! Histograms of durations that are small if they hold few values.

use tactus_model::result::Histogram;
use tactus_model::time::Nanos;
use tactus_stats::histogram::lowest_alike;

use crate::number_map::NumberMap;

/// Counts durations in the buckets of [`tactus_stats::LatencyHistogram`].
///
/// A recording of a build has tens of thousands of threads with a few quanta each; only
/// buckets with a count take memory here.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lengths {
    counts: NumberMap<u64, u64>,
    count: u64,
    /// In nanoseconds; wide enough to never overflow.
    sum: u128,
    min: Option<Nanos>,
    max: Nanos,
}

impl Lengths {
    pub(crate) fn record(&mut self, length: Nanos) {
        *self.counts.entry(lowest_alike(length).as_nanos()).or_insert(0) += 1;
        self.count += 1;
        self.sum += u128::from(length.as_nanos());
        self.min = Some(self.min.map_or(length, |min| min.min(length)));
        self.max = self.max.max(length);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (low, count) in &other.counts {
            *self.counts.entry(*low).or_insert(0) += count;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.into_iter().chain(other.min).min();
        self.max = self.max.max(other.max);
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn to_record(&self) -> Histogram {
        let mut buckets: Vec<(Nanos, u64)> =
            self.counts.iter().map(|(low, count)| (Nanos::from_nanos(*low), *count)).collect();
        buckets.sort_unstable();
        Histogram {
            count: self.count,
            sum: Nanos::from_nanos(u64::try_from(self.sum).unwrap_or(u64::MAX)),
            min: self.min.unwrap_or_default(),
            max: self.max,
            buckets,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tactus_stats::LatencyHistogram;

    use super::*;

    proptest! {
        #[test]
        fn they_are_counted_as_by_a_latency_histogram(
            left in prop::collection::vec(0..1u64 << 44, 0..40),
            right in prop::collection::vec(0..1u64 << 20, 0..40),
        ) {
            let of = |values: &[u64]| {
                let mut lengths = Lengths::default();
                values.iter().for_each(|value| lengths.record(Nanos::from_nanos(*value)));
                lengths
            };
            let mut merged = of(&left);
            merged.merge(&of(&right));
            let all = left.iter().chain(&right).map(|value| Nanos::from_nanos(*value));
            prop_assert_eq!(merged.to_record(), all.collect::<LatencyHistogram>().to_record());
        }
    }
}
