//! Converts another tool's counts of latencies into a histogram.

use tactus_model::limits::COUNT;
use tactus_model::origin::Overflow;
use tactus_model::result::{Accounting, Histogram};
use tactus_model::time::Nanos;
use tactus_stats::LatencyHistogram;

/// The count of each latency in another tool's file.
#[derive(Debug)]
pub(crate) struct Tally {
    unit: Nanos,
    counts: LatencyHistogram,
    count: u64,
    overflow: u64,
    overflow_from: Nanos,
    max: Option<Nanos>,
    mean_units: Option<f64>,
}

/// The result of a tally.
#[derive(Debug)]
pub(crate) struct Tallied {
    pub(crate) histogram: Histogram,
    pub(crate) accounting: Accounting,
    pub(crate) overflow: Option<Overflow>,
}

impl Tally {
    /// An empty tally of latencies in multiples of `unit`.
    pub(crate) fn new(unit: Nanos) -> Self {
        Self {
            unit,
            counts: LatencyHistogram::new(),
            count: 0,
            overflow: 0,
            overflow_from: Nanos::ZERO,
            max: None,
            mean_units: None,
        }
    }

    /// Counts a latency of `units` `count` times.
    pub(crate) fn count(&mut self, units: u64, count: u64) -> Result<(), String> {
        let nanos = units.checked_mul(self.unit.as_nanos()).ok_or_else(|| {
            format!("a latency of {units} times {} exceeds the range of nanoseconds", self.unit)
        })?;
        self.take(count)?;
        self.counts.record_n(Nanos::from_nanos(nanos), count);
        Ok(())
    }

    /// Counts `count` wakeups with an unknown latency above `from` units. If it is called several
    /// times, the lowest `from` applies to all.
    pub(crate) fn overflow(&mut self, from: u64, count: u64) -> Result<(), String> {
        self.take(count)?;
        let from = self.unit.saturating_mul(from);
        let is_first = self.overflow == 0;
        self.overflow_from = if is_first { from } else { self.overflow_from.min(from) };
        // The sum is at most the count of all wakeups.
        self.overflow += count;
        Ok(())
    }

    /// Sets the maximum latency in units, as reported by the tool.
    pub(crate) fn greatest(&mut self, units: u64) {
        self.max = Some(self.unit.saturating_mul(units));
    }

    /// Sets the mean latency in units, as reported by the tool.
    pub(crate) fn mean(&mut self, units: f64) {
        self.mean_units = Some(units);
    }

    /// The number of wakeups, including the overflow.
    pub(crate) fn total(&self) -> u64 {
        self.count
    }

    fn take(&mut self, count: u64) -> Result<(), String> {
        let total = self.count.checked_add(count).filter(|total| *total <= COUNT);
        self.count = total.ok_or_else(|| format!("more than {COUNT} wakeups cannot be stored"))?;
        Ok(())
    }

    /// Builds the result; fails if the tool's figures contradict each other.
    pub(crate) fn finish(mut self) -> Result<Tallied, String> {
        let kept_max = self.counts.max();
        if let (Some(reported), Some(kept)) = (self.max, kept_max)
            && reported < kept
        {
            return Err(format!(
                "the maximum latency is given as {reported}, but {kept} was counted"
            ));
        }
        let overflow = self.put_overflow();
        let mut histogram = self.counts.to_record();
        if let Some(sum) = self.sum() {
            histogram.sum = sum;
        }
        Ok(Tallied {
            histogram,
            accounting: Accounting {
                intended: self.count,
                observed: self.count,
                ..Accounting::default()
            },
            overflow,
        })
    }

    /// Stores the longest wakeup with its exact latency, and the other overflows with the
    /// minimum latency they can have had.
    fn put_overflow(&mut self) -> Option<Overflow> {
        let longest = self.max.filter(|max| *max >= self.overflow_from && self.overflow > 0);
        if let Some(longest) = longest {
            self.counts.record(longest);
        }
        let rest = self.overflow - u64::from(longest.is_some());
        self.counts.record_n(self.overflow_from, rest);
        (rest > 0).then_some(Overflow { from: self.overflow_from, count: rest })
    }

    /// The sum according to the tool's own mean, which includes the overflow.
    fn sum(&self) -> Option<Nanos> {
        let sum = self.mean_units? * self.unit.as_nanos() as f64 * self.count as f64;
        let least = self.counts.mean().unwrap_or(0.0) * self.count as f64;
        // Each wakeup took up to one unit more than counted; overflows took much more.
        let within = if self.overflow > 0 {
            sum >= least * 0.99
        } else {
            (least * 0.99..=least + 1.01 * self.unit.as_nanos() as f64 * self.count as f64)
                .contains(&sum)
        };
        within.then(|| Nanos::from_nanos(sum.round() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn micros(count: u64) -> Nanos {
        Nanos::from_micros(count)
    }

    #[test]
    fn overflows_are_stored_with_their_minimum_possible_latency() {
        let mut tally = Tally::new(micros(1));
        tally.count(12, 97).unwrap();
        tally.overflow(100, 3).unwrap();
        tally.greatest(5_000);
        let Tallied { histogram, accounting, overflow } = tally.finish().unwrap();
        assert_eq!(overflow, Some(Overflow { from: micros(100), count: 2 }));
        assert_eq!((histogram.count, histogram.max), (100, micros(5_000)));
        assert!(accounting.balances() && accounting.observed == 100);
    }

    #[test]
    fn a_single_overflow_is_the_maximum_and_known_exactly() {
        let mut tally = Tally::new(micros(1));
        tally.overflow(100, 1).unwrap();
        tally.greatest(250);
        let tallied = tally.finish().unwrap();
        assert_eq!((tallied.overflow, tallied.histogram.max), (None, micros(250)));
    }

    #[test]
    fn contradictory_figures_are_rejected() {
        let mut tally = Tally::new(micros(1));
        tally.count(50, 1).unwrap();
        tally.greatest(20);
        assert!(tally.finish().unwrap_err().contains("20us"));
        assert!(Tally::new(micros(1)).count(1, u64::MAX).is_err());
        assert!(Tally::new(micros(1)).count(u64::MAX, 1).is_err());
    }

    #[test]
    fn the_mean_of_the_tool_is_used_if_it_is_possible() {
        let tallied = |mean| {
            let mut tally = Tally::new(micros(1));
            tally.count(10, 4).unwrap();
            tally.mean(mean);
            tally.finish().unwrap().histogram.sum
        };
        assert_eq!(tallied(10.6), Nanos::from_nanos(42_400));
        assert_eq!(tallied(90.0), micros(40), "no wakeup took that long");
    }
}
