//! Figures of a thread, kept by the thread without locks and read from outside at any time.

use std::sync::atomic::{AtomicU64, Ordering};

use tactus_model::result::Histogram;
use tactus_model::time::Nanos;
use tactus_stats::LatencyHistogram;

/// What a thread has done since its start.
#[derive(Clone, Debug, Default)]
pub struct Statistics {
    /// The jobs that ran, including those that panicked.
    pub run: u64,
    /// The due times or events for which no job ran.
    pub missed: u64,
    /// By how much [`Overrun::Shift`](crate::Overrun) moved the due times, in total.
    pub shifted: Nanos,
    /// How often the supervisor found a job beyond its limit.
    pub hung: u64,
    /// How often the thread was restarted.
    pub restarts: u64,
    /// From the due time, or the event if its time is known, to the start of the job.
    pub lateness: LatencyHistogram,
    /// From the start to the end of the job.
    pub durations: LatencyHistogram,
}

impl Statistics {
    /// The due times or events so far: run + missed.
    pub const fn intended(&self) -> u64 {
        self.run + self.missed
    }
}

/// The same, as the thread keeps it. Only the thread writes, except `hung`, which belongs to its
/// supervisor: so additions are a load and a store. A reader may see one figure a job ahead of
/// another.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    missed: AtomicU64,
    shifted: AtomicU64,
    hung: AtomicU64,
    restarts: AtomicU64,
    run: AtomicU64,
    lateness: SharedHistogram,
    durations: SharedHistogram,
}

impl Recorder {
    pub(crate) fn start_job(&self, lateness: Option<Nanos>, missed: u64, shifted: Nanos) {
        add(&self.missed, missed);
        add(&self.shifted, shifted.as_nanos());
        if let Some(lateness) = lateness {
            self.lateness.record(lateness);
        }
    }

    pub(crate) fn end_job(&self, duration: Nanos) {
        self.durations.record(duration);
        add(&self.run, 1);
    }

    pub(crate) fn miss(&self, count: u64) {
        add(&self.missed, count);
    }

    pub(crate) fn hang(&self) {
        add(&self.hung, 1);
    }

    pub(crate) fn restart(&self) {
        add(&self.restarts, 1);
    }

    pub(crate) fn restarts(&self) -> u64 {
        self.restarts.load(Ordering::Relaxed)
    }

    pub(crate) fn read(&self) -> Statistics {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Statistics {
            run: count(&self.run),
            missed: count(&self.missed),
            shifted: Nanos::from_nanos(count(&self.shifted)),
            hung: count(&self.hung),
            restarts: self.restarts(),
            lateness: self.lateness.read(),
            durations: self.durations.read(),
        }
    }
}

/// Adds to a counter that only the calling thread writes.
#[inline]
fn add(counter: &AtomicU64, amount: u64) {
    let sum = counter.load(Ordering::Relaxed).saturating_add(amount);
    counter.store(sum, Ordering::Relaxed);
}

/// The binary digits of a duration that its bucket keeps: better than 0.8 %.
const DIGITS: u32 = 8;

/// The buckets of each further power of two.
const HALF: u64 = 1 << (DIGITS - 1);

/// The buckets of all durations: 59 kB.
const BUCKETS: usize = bucket(u64::MAX) + 1;

/// Counts of durations that one thread writes and others read; its memory never grows.
#[derive(Debug)]
struct SharedHistogram {
    counts: Box<[AtomicU64]>,
    sum: AtomicU64,
    max: AtomicU64,
}

impl Default for SharedHistogram {
    fn default() -> Self {
        let counts = std::iter::repeat_with(AtomicU64::default).take(BUCKETS).collect();
        Self { counts, sum: AtomicU64::default(), max: AtomicU64::default() }
    }
}

impl SharedHistogram {
    #[inline]
    fn record(&self, length: Nanos) {
        let nanos = length.as_nanos();
        add(&self.counts[bucket(nanos)], 1);
        add(&self.sum, nanos);
        if nanos > self.max.load(Ordering::Relaxed) {
            self.max.store(nanos, Ordering::Relaxed);
        }
    }

    /// The maximum is exact; other durations are rounded up to the end of their bucket.
    fn read(&self) -> LatencyHistogram {
        let max = self.max.load(Ordering::Relaxed);
        let counts = self.counts.iter().enumerate();
        let buckets: Vec<(Nanos, u64)> = counts
            .map(|(index, count)| (index, count.load(Ordering::Relaxed)))
            .filter(|(_, count)| *count > 0)
            .map(|(index, count)| (Nanos::from_nanos(highest(index).min(max)), count))
            .collect();
        LatencyHistogram::from_record(&Histogram {
            count: buckets.iter().map(|(_, count)| count).sum(),
            sum: Nanos::from_nanos(self.sum.load(Ordering::Relaxed)),
            min: buckets.first().map_or(Nanos::ZERO, |(low, _)| *low),
            max: Nanos::from_nanos(max),
            buckets,
        })
    }
}

/// The bucket of a duration in nanoseconds.
const fn bucket(nanos: u64) -> usize {
    let coarse = (u64::BITS - nanos.leading_zeros()).saturating_sub(DIGITS);
    (coarse as u64 * HALF + (nanos >> coarse)) as usize
}

/// The longest duration of a bucket, in nanoseconds.
const fn highest(bucket: usize) -> u64 {
    let coarse = (bucket as u64 / HALF).saturating_sub(1);
    let kept = bucket as u64 - coarse * HALF;
    kept << coarse | ((1 << coarse) - 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn buckets_follow_each_other_without_a_gap() {
        for index in 0..BUCKETS {
            assert_eq!(bucket(highest(index)), index);
            let next = highest(index).checked_add(1);
            assert_eq!(next.map(bucket), next.map(|_| index + 1));
        }
        assert_eq!(BUCKETS, 7424);
    }

    #[test]
    fn a_thread_that_did_nothing_has_no_figures() {
        let found = Recorder::default().read();
        assert_eq!((found.intended(), found.lateness.max()), (0, None));
    }

    proptest! {
        #[test]
        fn what_is_recorded_is_read_within_a_bucket(
            bits in prop::collection::vec((any::<u64>(), 0..64_u32), 1..200),
        ) {
            let lengths: Vec<u64> = bits.iter().map(|(bits, shift)| bits >> shift).collect();
            let histogram = SharedHistogram::default();
            lengths.iter().for_each(|length| histogram.record(Nanos::from_nanos(*length)));
            let read = histogram.read();
            let mut sorted = lengths.clone();
            sorted.sort_unstable();
            prop_assert_eq!(read.count(), lengths.len() as u64);
            prop_assert_eq!(read.max(), sorted.last().copied().map(Nanos::from_nanos));
            let median = sorted[(sorted.len() - 1) / 2];
            let found = read.quantile(0.5).unwrap().as_nanos();
            prop_assert!(found >= median, "{found} < {median}");
            prop_assert!(found - median <= median / 100, "{found}, not {median}");
        }
    }
}
