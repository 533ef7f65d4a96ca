//! A distribution of durations of constant size.

use tactus_model::time::Nanos;

/// Buckets of an octave, so a quantile is exact to 3 %.
const PARTS: usize = 32;

/// Buckets for all durations.
const BUCKETS: usize = 60 * PARTS;

/// Counts durations in buckets. It takes 8 KB, where a histogram of `tactus-stats` takes 400 KB and
/// more: a server has one for each client, and copies those of its devices while a real-time thread
/// waits.
#[derive(Clone, Debug)]
pub struct Spread {
    counts: [u32; BUCKETS],
    count: u64,
    min: Nanos,
    max: Nanos,
}

impl Default for Spread {
    fn default() -> Self {
        Self { counts: [0; BUCKETS], count: 0, min: Nanos::MAX, max: Nanos::ZERO }
    }
}

impl Spread {
    /// Counts a duration.
    pub fn record(&mut self, length: Nanos) {
        let count = &mut self.counts[bucket(length)];
        *count = count.saturating_add(1);
        self.count += 1;
        self.min = self.min.min(length);
        self.max = self.max.max(length);
    }

    /// Adds the durations of another.
    pub fn add(&mut self, other: &Self) {
        for (count, other) in self.counts.iter_mut().zip(&other.counts) {
            *count = count.saturating_add(*other);
        }
        self.count += other.count;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// The number of durations.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The smallest; `None` without any.
    pub fn min(&self) -> Option<Nanos> {
        (self.count > 0).then_some(self.min)
    }

    /// The largest; `None` without any.
    pub fn max(&self) -> Option<Nanos> {
        (self.count > 0).then_some(self.max)
    }

    /// The duration that a share (0 to 1) did not exceed, rounded down to its bucket, but at least
    /// the smallest; `None` without any.
    pub fn quantile(&self, share: f64) -> Option<Nanos> {
        let rank = (share * self.count as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        let found = self.counts.iter().position(|count| {
            seen += u64::from(*count);
            seen >= rank
        })?;
        Some(least_of(found).max(self.min))
    }
}

/// The bucket of a duration: each octave has [`PARTS`] of equal width.
const fn bucket(length: Nanos) -> usize {
    let nanos = length.as_nanos();
    let octave = (nanos | PARTS as u64).ilog2() as usize - PARTS.ilog2() as usize;
    octave * PARTS + (nanos >> octave) as usize
}

/// The least duration in a bucket.
const fn least_of(bucket: usize) -> Nanos {
    let octave = (bucket / PARTS).saturating_sub(1);
    Nanos::from_nanos(((bucket - octave * PARTS) as u64) << octave)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_cover_all_durations() {
        for nanos in [0, 1, 31, 32, 33, 63, 64, 65, 1000, 123_456_789, u64::MAX] {
            let length = Nanos::from_nanos(nanos);
            assert!(bucket(length) < BUCKETS);
            let least = least_of(bucket(length));
            assert!(least <= length && nanos - least.as_nanos() <= nanos / 32, "{nanos}");
        }
    }

    #[test]
    fn quantiles_are_those_of_the_durations() {
        let mut spread = Spread::default();
        assert_eq!((spread.quantile(0.5), spread.max()), (None, None));
        let mut other = Spread::default();
        for nanos in 1..=100_u64 {
            let half = if nanos % 2 == 0 { &mut spread } else { &mut other };
            half.record(Nanos::from_nanos(nanos * 1000));
        }
        spread.add(&other);
        assert_eq!((spread.count(), spread.min()), (100, Some(Nanos::from_micros(1))));
        for (share, micros) in [(0.0, 1), (0.5, 50), (0.99, 99), (1.0, 100)] {
            let found = spread.quantile(share).unwrap().as_micros_f64();
            let wanted = f64::from(micros);
            assert!(found <= wanted && found >= wanted * 0.96, "{share}: {found}");
        }
    }
}
