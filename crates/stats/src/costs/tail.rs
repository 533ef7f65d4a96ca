//! The tail of an operation: the 99th percentile of samples of which each process has an equal share.
//!
//! A window has a fixed duration, so a process whose operations take a thousand times as long has a
//! thousandth of the samples. Without weights, the tail would leave out exactly the slow processes, and
//! could be shorter than the median.

use tactus_model::result::{Histogram, Measurement};
use tactus_model::time::Nanos;

use crate::LatencyHistogram;
use crate::bootstrap::Blocks;
use crate::cell::{SEED, supported};

/// The quantile.
const QUANTILE: f64 = 0.99;
/// The weight of a process, of which each of its samples has an equal part: large, so that whole
/// numbers are exact enough.
const WEIGHT: u64 = 1_000_000_000;

/// The 99th percentile of samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tail {
    /// The percentile; `None` if no sample is expected beyond it.
    pub(super) p99: Option<Nanos>,
    /// Its 95 % interval: processes are resampled, and runs of their blocks. `None` if the samples do
    /// not support one.
    pub(super) interval: Option<[Nanos; 2]>,
}

impl Tail {
    /// The tail of all processes of a cell.
    pub(super) fn of(measurements: &[&Measurement]) -> Self {
        let blocks = |found: &&Measurement| -> Vec<Histogram> {
            found.tasks.iter().flat_map(|task| task.blocks.iter().cloned()).collect()
        };
        let mut processes: Vec<Vec<Histogram>> = measurements.iter().map(blocks).collect();
        let merged = |processes: &[Vec<Histogram>]| {
            let mut all = LatencyHistogram::new();
            processes.iter().flatten().for_each(|block| all.merge_record(block));
            all
        };
        let is_supported = supported(&merged(&processes), QUANTILE).is_some();
        let has_interval = Blocks::new(&processes).supports(QUANTILE).is_ok();
        processes.iter_mut().for_each(|process| weigh(process));
        let interval = Blocks::new(&processes).intervals(&[QUANTILE], SEED).pop();
        let interval = interval.and_then(Result::ok).filter(|_| has_interval);
        Self {
            p99: is_supported.then(|| merged(&processes).quantile(QUANTILE)).flatten(),
            interval: interval.map(|found| [found.low, found.high]),
        }
    }
}

/// Multiplies the counts of the blocks of a process, so that it has [`WEIGHT`] samples.
fn weigh(process: &mut [Histogram]) {
    let samples: u64 = process.iter().map(|block| block.count).sum();
    let times = WEIGHT / samples.clamp(1, WEIGHT);
    for block in process {
        block.count = block.count.saturating_mul(times);
        block.sum = block.sum.saturating_mul(times);
        block.buckets.iter_mut().for_each(|(_, count)| *count = count.saturating_mul(times));
    }
}

#[cfg(test)]
mod tests {
    use tactus_model::sample::Sample;

    use super::*;
    use crate::cell::tests::{round, task};
    use crate::summary::summarise;

    /// A process that did this number of operations in a second, each `length` long.
    fn process(number: u32, operations: u64, length: Nanos) -> Measurement {
        let window = Nanos::from_secs(1);
        let samples: Vec<Sample> = (0..operations)
            .map(|sample| {
                let due = Nanos::from_nanos(window.as_nanos() / operations * sample);
                Sample { due, came: due + length }
            })
            .collect();
        let mut task = task(0, &[], &[]);
        task.blocks = summarise(&samples, window).blocks;
        round(number, vec![task])
    }

    fn tail(processes: &[(u64, Nanos)]) -> Tail {
        let processes: Vec<Measurement> = (0..)
            .zip(processes)
            .map(|(number, (operations, length))| process(number, *operations, *length))
            .collect();
        Tail::of(&processes.iter().collect::<Vec<_>>())
    }

    const FAST: (u64, Nanos) = (10_000, Nanos::from_micros(15));
    const SLOW: (u64, Nanos) = (60, Nanos::from_millis(14));

    #[test]
    fn a_slow_process_is_in_the_tail_however_few_samples_it_has() {
        let found = tail(&[FAST, FAST, SLOW, FAST, FAST]);
        assert!(found.p99.is_some_and(|p99| p99 >= SLOW.1), "{found:?}");
        let [low, high] = found.interval.unwrap();
        assert!(low < Nanos::from_millis(1) && high >= SLOW.1, "{found:?}");
    }

    #[test]
    fn of_equal_processes_the_tail_is_that_of_all_samples() {
        let found = tail(&[FAST; 5]);
        assert!(found.p99.is_some_and(|p99| p99 < Nanos::from_micros(16)), "{found:?}");
        assert!(found.interval.is_some());
        assert_eq!(tail(&[(5, SLOW.1); 3]), Tail::default(), "too few samples");
    }
}
