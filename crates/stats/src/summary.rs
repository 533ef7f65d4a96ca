//! Reduction of a task's samples to the stored result.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tactus_model::result::{Histogram, Outlier, ScopeColumn, Second};
use tactus_model::sample::Sample;
use tactus_model::time::Nanos;

use crate::histogram::LatencyHistogram;

/// The parts of a `TaskResult` that follow from its samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampleSummary {
    /// Latencies, separate for each block of [`block_length`]; a block without samples has an
    /// empty histogram, so that the index gives the time.
    pub blocks: Vec<Histogram>,
    /// The window second by second; seconds without samples are omitted.
    pub series: Vec<Second>,
    /// Times between arrivals, in at most [`SCOPE_COLUMNS`] slices of the window.
    pub scope: Vec<ScopeColumn>,
    /// The [`WORST_KEPT`] worst samples, the worst first.
    pub worst: Vec<Outlier>,
}

/// The maximum number of scope columns; more are indistinguishable on a page.
pub const SCOPE_COLUMNS: u64 = 400;
/// How many of the worst samples are kept.
pub const WORST_KEPT: usize = 50;

const SECOND: Nanos = Nanos::from_secs(1);
/// The minimum duration of a block. Disturbances of shared machines last for tens of
/// milliseconds; a block must be longer, so that a disturbance of one block does not affect the
/// next as well.
const SHORTEST_BLOCK: Nanos = Nanos::from_millis(100);
/// The maximum number of blocks; enough for resampling, and more would only make results
/// larger.
const MOST_BLOCKS: u64 = 64;

/// The duration of the blocks into which a window is cut: a whole multiple of 100 ms, at most
/// 64 blocks.
pub fn block_length(window: Nanos) -> Nanos {
    let wanted = window.as_nanos().div_ceil(MOST_BLOCKS);
    let multiple = wanted.div_ceil(SHORTEST_BLOCK.as_nanos()).max(1);
    SHORTEST_BLOCK.saturating_mul(multiple)
}

/// Summarizes the samples of one task, which must be in order of due times.
pub fn summarise(samples: &[Sample], window: Nanos) -> SampleSummary {
    SampleSummary {
        blocks: blocks(samples, window),
        series: series(samples),
        scope: scope(samples, window),
        worst: worst(samples),
    }
}

/// Cuts samples into runs that were due in the same period of `length`.
fn stretches(samples: &[Sample], length: Nanos) -> impl Iterator<Item = (u64, &[Sample])> {
    samples
        .chunk_by(move |a, b| a.due.div_floor(length) == b.due.div_floor(length))
        .map(move |stretch| (stretch[0].due.div_floor(length), stretch))
}

fn blocks(samples: &[Sample], window: Nanos) -> Vec<Histogram> {
    let length = block_length(window);
    let count = window.as_nanos().div_ceil(length.as_nanos()) as usize;
    let mut blocks = vec![Histogram::default(); count];
    // Due times lie within the window. On a busy machine, an operation begins after it; that counts
    // in the last block.
    let index = |sample: &Sample| sample.due.div_floor(length).min(count.saturating_sub(1) as u64);
    let mut histogram = LatencyHistogram::new();
    for stretch in samples.chunk_by(|a, b| index(a) == index(b)) {
        histogram.clear();
        stretch.iter().for_each(|sample| histogram.record(sample.latency()));
        if let Some(block) = blocks.get_mut(index(&stretch[0]) as usize) {
            *block = histogram.to_record();
        }
    }
    blocks
}

fn series(samples: &[Sample]) -> Vec<Second> {
    let mut histogram = LatencyHistogram::new();
    stretches(samples, SECOND)
        .map(|(index, stretch)| {
            histogram.clear();
            stretch.iter().for_each(|sample| histogram.record(sample.latency()));
            Second {
                at: SECOND.saturating_mul(index),
                count: histogram.count(),
                median: histogram.quantile(0.5).unwrap_or_default(),
                p99: histogram.quantile(0.99).unwrap_or_default(),
                max: histogram.max().unwrap_or_default(),
            }
        })
        .collect()
}

fn scope(samples: &[Sample], window: Nanos) -> Vec<ScopeColumn> {
    let width = Nanos::from_nanos(window.as_nanos().div_ceil(SCOPE_COLUMNS).max(1));
    let mut columns: Vec<ScopeColumn> = Vec::new();
    for pair in samples.windows(2) {
        let apart = pair[1].came - pair[0].came;
        // An arrival after the window belongs to its last slice.
        let slice = pair[1].came.div_floor(width).min(SCOPE_COLUMNS - 1);
        let at = width.saturating_mul(slice);
        match columns.last_mut() {
            Some(column) if column.at == at => {
                column.min = column.min.min(apart);
                column.max = column.max.max(apart);
            }
            _ => columns.push(ScopeColumn { at, min: apart, max: apart }),
        }
    }
    columns
}

fn worst(samples: &[Sample]) -> Vec<Outlier> {
    let mut slowest: BinaryHeap<Reverse<(Nanos, Reverse<u64>)>> = BinaryHeap::new();
    for (index, sample) in samples.iter().enumerate() {
        let entry = Reverse((sample.latency(), Reverse(index as u64)));
        if slowest.len() < WORST_KEPT {
            slowest.push(entry);
        } else if let Some(mut least) = slowest.peek_mut()
            && entry < *least
        {
            *least = entry;
        }
    }
    slowest
        .into_sorted_vec()
        .into_iter()
        .map(|Reverse((_, Reverse(index)))| Outlier { index, sample: samples[index as usize] })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn every_millisecond(latencies: &[u64]) -> Vec<Sample> {
        (1..)
            .zip(latencies)
            .map(|(k, latency)| {
                let due = Nanos::from_millis(k);
                Sample { due, came: due + Nanos::from_nanos(*latency) }
            })
            .collect()
    }

    proptest! {
        // Each case has thousands of samples, so a few cases suffice.
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn every_sample_is_counted_once_in_blocks_and_in_seconds(
            latencies in prop::collection::vec(0..900_000_u64, 0..2500),
        ) {
            let samples = every_millisecond(&latencies);
            let summary = summarise(&samples, Nanos::from_secs(3));
            let count = samples.len() as u64;
            prop_assert_eq!(summary.blocks.iter().map(|block| block.count).sum::<u64>(), count);
            prop_assert_eq!(summary.series.iter().map(|second| second.count).sum::<u64>(), count);
            let max = latencies.iter().max().copied().unwrap_or(0);
            prop_assert_eq!(summary.blocks.iter().map(|block| block.max).max(), Some(Nanos::from_nanos(max)));
            prop_assert_eq!(summary.worst.len(), samples.len().min(WORST_KEPT));
            let latencies: Vec<Nanos> =
                summary.worst.iter().map(|outlier| outlier.sample.latency()).collect();
            prop_assert!(latencies.is_sorted_by(|a, b| a >= b));
            prop_assert_eq!(latencies.first().copied().unwrap_or_default(), Nanos::from_nanos(max));
        }
    }

    #[test]
    fn what_is_due_after_the_window_counts_in_its_last_block() {
        let samples = every_millisecond(&[1; 350]);
        let blocks = summarise(&samples, Nanos::from_millis(180)).blocks;
        assert_eq!(blocks.iter().map(|block| block.count).collect::<Vec<_>>(), [99, 251]);
    }

    #[test]
    fn the_index_of_a_block_gives_its_time() {
        let samples = every_millisecond(&[5; 150]);
        let blocks = summarise(&samples, Nanos::from_millis(300)).blocks;
        assert_eq!(blocks.iter().map(|block| block.count).collect::<Vec<_>>(), [99, 51, 0]);
    }

    #[test]
    fn blocks_are_long_enough_and_few_enough() {
        for (window, length) in
            [(50, 100), (2_500, 100), (6_400, 100), (10_000, 200), (251_000, 4_000)]
        {
            assert_eq!(block_length(Nanos::from_millis(window)), Nanos::from_millis(length));
        }
    }

    #[test]
    fn the_scope_shows_the_shortest_and_the_longest_time_between_arrivals() {
        let samples = every_millisecond(&[0, 600_000, 0, 0]);
        let scope = summarise(&samples, Nanos::from_millis(1)).scope;
        assert_eq!(scope.len(), 1, "an arrival after the window is in its last slice");
        assert_eq!(scope[0].min, Nanos::from_micros(400));
        assert_eq!(scope[0].max, Nanos::from_micros(1_600));
    }

    #[test]
    fn the_worst_samples_come_first_and_keep_their_index() {
        let samples = every_millisecond(&[5, 90, 7, 90]);
        let worst: Vec<u64> = worst(&samples).iter().map(|outlier| outlier.index).collect();
        assert_eq!(worst, [1, 3, 2, 0]);
    }
}
