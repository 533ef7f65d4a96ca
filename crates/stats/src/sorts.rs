//! The overhead in sorts of equal work, caused by other uses of the CPU.

use serde::Serialize;
use tactus_model::sort::Numbers;
use tactus_model::time::Nanos;

use crate::LatencyHistogram;

/// The results of the sorts of a cell (Etsion, Tsafrir and Feitelson, *Effects of Clock
/// Resolution on the Scheduling of Interactive and Soft Real-Time Processes*, SIGMETRICS 2003,
/// section 3).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SortSummary {
    /// The number of array elements that all tasks together sorted per second.
    pub sorted_per_second: f64,
    /// The share of time that was not work: the relative excess of the mean over the minimum.
    pub overhead: f64,
}

impl SortSummary {
    /// Summarizes sorts of `numbers` each from their durations and the total time `busy`;
    /// `None` without sorts.
    ///
    /// If tasks share the CPU, `busy` is the time from the start of the first sort to the end
    /// of the last: until then the CPU is never idle.
    pub fn of(lengths: &LatencyHistogram, numbers: Numbers, busy: Nanos) -> Option<Self> {
        let (least, mean) = (lengths.min()?.as_nanos() as f64, lengths.mean()?);
        let sorted = lengths.count() as f64 * f64::from(numbers.get());
        (busy > Nanos::ZERO && mean > 0.0).then(|| Self {
            sorted_per_second: sorted / busy.as_secs_f64(),
            overhead: 1.0 - least / mean,
        })
    }

    /// The overhead per tick in nanoseconds, for a kernel with this tick rate in Hz.
    ///
    /// It is the cost of the tick itself if the shortest sort contained no tick, which requires
    /// sorts shorter than a tick period, and if nothing else ran.
    pub fn tick_ns(self, tick_rate: u32) -> f64 {
        self.overhead * 1e9 / f64::from(tick_rate)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Successive sorts of one second, each with `work` nanoseconds without ticks; ticks come
    /// `rate` times per second and take `cost` each.
    fn sorts(work: u64, rate: u64, cost: u64) -> LatencyHistogram {
        let tick = 1_000_000_000 / rate;
        let (mut now, mut next_tick) = (0, tick / 3);
        let mut lengths = LatencyHistogram::new();
        while now < 1_000_000_000 {
            let (begun, mut left) = (now, work);
            while next_tick < now + left {
                left -= next_tick - now;
                now = next_tick + cost;
                next_tick += tick;
            }
            now += left;
            lengths.record(Nanos::from_nanos(now - begun));
        }
        lengths
    }

    proptest! {
        // Each case is one second of sorts.
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn the_cost_of_a_tick_is_found_where_sorts_fit_between_ticks(
            work in 4_000_u64..20_000,
            rate in prop_oneof![Just(100), Just(1000), Just(5000), Just(20_000)],
            cost in 200_u64..5_000,
        ) {
            let numbers = Numbers::new(64).unwrap();
            let lengths = sorts(work, rate, cost);
            let busy = Nanos::from_nanos(lengths.to_record().sum.as_nanos());
            let summary = SortSummary::of(&lengths, numbers, busy).unwrap();
            let found = summary.tick_ns(rate as u32);
            // One tick more or less may fall into the second.
            let slack = cost as f64 * (2.0 / rate as f64 + 0.001);
            prop_assert!((found - cost as f64).abs() <= slack, "{found} for {cost}");
            let free = 64e9 / work as f64;
            let left = free * (1.0 - summary.overhead);
            prop_assert!((summary.sorted_per_second / left - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn the_rate_is_relative_to_the_busy_time_and_missing_without_sorts() {
        let numbers = Numbers::new(1000).unwrap();
        let lengths: LatencyHistogram = [Nanos::from_millis(4)].into_iter().collect();
        let busy = Nanos::from_millis(5);
        let summary = SortSummary::of(&lengths, numbers, busy).unwrap();
        assert!((summary.sorted_per_second - 2e5).abs() < 1.0 && summary.overhead == 0.0);
        assert_eq!(SortSummary::of(&LatencyHistogram::new(), numbers, busy), None);
    }
}
