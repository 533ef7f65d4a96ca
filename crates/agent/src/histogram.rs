//! The latencies of the probe, in the buckets that Prometheus wants.

use std::sync::atomic::{AtomicU64, Ordering};

use tactus_model::time::Nanos;

/// The upper bounds of the classic buckets.
pub const CLASSIC: [Nanos; 17] = [
    Nanos::from_micros(5),
    Nanos::from_micros(10),
    Nanos::from_micros(20),
    Nanos::from_micros(50),
    Nanos::from_micros(100),
    Nanos::from_micros(200),
    Nanos::from_micros(500),
    Nanos::from_millis(1),
    Nanos::from_millis(2),
    Nanos::from_millis(5),
    Nanos::from_millis(10),
    Nanos::from_millis(20),
    Nanos::from_millis(50),
    Nanos::from_millis(100),
    Nanos::from_millis(200),
    Nanos::from_millis(500),
    Nanos::from_secs(1),
];

/// The resolution of native histograms: each bucket is 2^(2^-3) = 1.09 times as wide as the one
/// before.
pub const SCHEMA: i32 = 3;

/// The buckets of a doubling.
const PER_DOUBLING: i32 = 1 << SCHEMA;

/// The index of the bucket whose upper bound is the zero threshold, 2^-24 s = 60 ns.
pub const ZERO: i32 = -24 * PER_DOUBLING;

/// The index of the last bucket, whose upper bound is 2^12 s, and which has longer times too.
const LAST: i32 = 12 * PER_DOUBLING;

/// The number of native buckets after that of zero.
const NATIVE: usize = (LAST - ZERO) as usize;

/// The upper bound of a native bucket in seconds.
pub fn bound(index: i32) -> f64 {
    2_f64.powf(f64::from(index) / f64::from(PER_DOUBLING))
}

/// A histogram that one thread fills, without locks, and others read.
#[derive(Debug)]
pub struct LiveHistogram {
    /// The upper bounds of the native buckets in nanoseconds, that of zero first.
    bounds: Box<[u64]>,
    /// The counts of the bucket of zero and the native ones.
    native: Box<[AtomicU64]>,
    /// The counts of the classic buckets; longer times are in none.
    classic: [AtomicU64; CLASSIC.len()],
    nanos: AtomicU64,
    max: AtomicU64,
}

impl Default for LiveHistogram {
    fn default() -> Self {
        let bounds = (ZERO..=LAST).map(|index| (bound(index) * 1e9) as u64);
        Self {
            bounds: bounds.collect(),
            native: (0..=NATIVE).map(|_| AtomicU64::new(0)).collect(),
            classic: Default::default(),
            nanos: AtomicU64::new(0),
            max: AtomicU64::new(0),
        }
    }
}

const RELAXED: Ordering = Ordering::Relaxed;

impl LiveHistogram {
    /// Adds a latency. Only one thread may do so. Allocates nothing, and waits for nothing.
    pub fn record(&self, latency: Nanos) {
        let nanos = latency.as_nanos();
        let index = self.bounds.partition_point(|bound| *bound < nanos).min(NATIVE);
        add(&self.native[index], 1);
        let index = CLASSIC.partition_point(|bound| *bound < latency);
        if let Some(count) = self.classic.get(index) {
            add(count, 1);
        }
        add(&self.nanos, nanos);
        if nanos > self.max.load(RELAXED) {
            self.max.store(nanos, RELAXED);
        }
    }

    /// The present content. Classic counts, and the sum, may lack the wakeup that is just added.
    pub fn snapshot(&self) -> Histogram {
        let native: Vec<u64> = self.native.iter().map(|count| count.load(RELAXED)).collect();
        let mut sum = 0;
        let classic = self.classic.iter().map(|count| {
            sum += count.load(RELAXED);
            sum
        });
        let count = native.iter().sum();
        let classic: Vec<u64> = classic.map(|sum: u64| sum.min(count)).collect();
        let max = Nanos::from_nanos(self.max.load(RELAXED));
        Histogram { count, sum: self.nanos.load(RELAXED) as f64 / 1e9, classic, native, max }
    }
}

/// Adds without a locked instruction: there is one writer.
fn add(count: &AtomicU64, more: u64) {
    count.store(count.load(RELAXED).wrapping_add(more), RELAXED);
}

/// The content of a histogram.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    /// The number of latencies.
    pub count: u64,
    /// Their sum in seconds.
    pub sum: f64,
    /// How many are within each bound of [`CLASSIC`].
    pub classic: Vec<u64>,
    /// The counts of the bucket of zero and of the native buckets after it.
    pub native: Vec<u64>,
    /// The longest.
    pub max: Nanos,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn native_buckets_have_the_bounds_of_their_schema() {
        assert_eq!(bound(0), 1.0);
        assert_eq!(bound(PER_DOUBLING), 2.0);
        let live = LiveHistogram::default();
        for nanos in [0, 59, 1_000_000_000, 1_000_000_001, u64::MAX] {
            live.record(Nanos::from_nanos(nanos));
        }
        let Histogram { count, native, classic, max, .. } = live.snapshot();
        assert_eq!((count, max), (5, Nanos::MAX));
        assert_eq!(native[0], 2, "zero");
        // The bucket that ends at 1 s, the one after it, and the last.
        let second = (-ZERO) as usize;
        assert_eq!((native[second], native[second + 1], native[NATIVE]), (1, 1, 1));
        assert_eq!(classic[CLASSIC.len() - 1], 3);
    }

    proptest! {
        #[test]
        fn every_latency_is_in_its_buckets(nanos in 60_u64..10_000_000_000) {
            let live = LiveHistogram::default();
            live.record(Nanos::from_nanos(nanos));
            let found = live.snapshot();
            let index = found.native.iter().position(|count| *count == 1).unwrap() as i32;
            let seconds = nanos as f64 / 1e9;
            // Bounds are whole nanoseconds here.
            prop_assert!(seconds <= bound(ZERO + index) + 1e-9);
            prop_assert!(seconds > bound(ZERO + index - 1) - 1e-9);
            let within = CLASSIC.iter().zip(&found.classic);
            for (bound, count) in within {
                prop_assert_eq!(*count, u64::from(nanos <= bound.as_nanos()));
            }
        }
    }
}
