//! Confidence intervals of quantiles, by block bootstrap.
//!
//! Successive latencies are correlated: a disturbance delays many in a row. Resampling single
//! samples would treat a few disturbances as thousands of independent events. So blocks
//! (periods of time) are resampled, each with all its samples, as in H. R. Künsch, *The
//! jackknife and the bootstrap for general stationary observations* (1989). Disturbances
//! outlast a block too, so runs of neighbouring blocks are resampled. The length of a run is
//! the cube root of the number of blocks, the order that Künsch finds best; a run that reaches
//! the end of the window continues at its beginning, so that every block is equally likely. The
//! interval is the percentile interval of the resampled quantiles (A. C. Davison and D. V.
//! Hinkley, *Bootstrap Methods and their Application*, 1997, chapters 5 and 8).
//!
//! Rounds are resampled first and runs of blocks within them (the same, section 3.8), even if
//! there are few rounds, since rounds often differ by more than their blocks do: pooling the
//! blocks of all rounds would treat that difference as noise within one round. If rounds do not
//! differ, the interval is slightly too wide. If they do, a few rounds cannot show by how much:
//! the true value lies between the minimum and the maximum of R rounds with a probability of
//! only 1 − 2^(1−R), which is 50 % for two, 75 % for three, 94 % for five, and no resampling
//! scheme can raise that to 95 %. A single round contains no information about other rounds:
//! its interval applies to that round only.
//!
//! A disturbance that lasts for a large part of the window occurs too rarely for any interval
//! from that window; measure longer, or in more rounds.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use tactus_model::random::SplitMix64;
use tactus_model::result::Histogram;
use tactus_model::time::Nanos;

use crate::histogram::{bucket_high, nearest_rank};

/// The minimum number of blocks: fewer show too little of how blocks differ.
pub const FEWEST_BLOCKS: usize = 10;
/// The minimum average number of samples on the thinner side of a quantile for an interval of
/// that quantile.
pub const FEWEST_BEYOND: f64 = 10.0;
/// The minimum number of blocks that contain samples as late as the quantile. With fewer, more
/// than 2.5 % of the resamples contain none of them (e⁻³ for three blocks), and the upper end of
/// the interval is meaningless: a single burst would count as the whole tail.
pub const FEWEST_REACHING: usize = 4;
/// The number of resamples. Each end of a 95 % interval then depends on ten of them.
pub const RESAMPLES: usize = 400;

/// A range that contains the true value in 95 of 100 repetitions of the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// Its lower end.
    pub low: Nanos,
    /// Its upper end.
    pub high: Nanos,
}

/// Why a quantile has no interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum Unsupported {
    /// The window was too short for enough blocks.
    #[error("too few blocks of samples ({blocks}, {FEWEST_BLOCKS} needed); measure longer")]
    FewBlocks {
        /// The number of blocks with samples.
        blocks: usize,
    },
    /// Too few samples beyond the quantile.
    #[error(
        "too few samples beyond this quantile ({}, {FEWEST_BEYOND} needed); measure longer",
        about(*beyond)
    )]
    FewBeyond {
        /// The average number of samples beyond.
        beyond: f64,
    },
    /// The samples as late as the quantile are in too few blocks, as in a single burst.
    #[error(
        "too few blocks with samples as late as this quantile ({blocks}, {FEWEST_REACHING} needed); measure longer"
    )]
    FewReaching {
        /// The number of blocks that contain such samples.
        blocks: usize,
    },
}

/// An average number of samples in words.
fn about(average: f64) -> String {
    match average < 1.0 {
        true => "fewer than 1".to_owned(),
        // Rounded down: an average that is too small must not look large enough.
        false => format!("about {:.1}", (average * 10.0).floor() / 10.0),
    }
}

/// The blocks of a cell, prepared for resampling.
#[derive(Clone, Debug)]
pub struct Blocks {
    /// The lowest values of all buckets in use, ascending.
    values: Vec<Nanos>,
    /// The number of samples in all blocks for each of `values`.
    counts: Vec<u64>,
    /// The blocks of all rounds, in order of rounds.
    blocks: Vec<Block>,
    /// The range of `blocks` for each round.
    rounds: Vec<Range<usize>>,
    count: u64,
    max: Nanos,
}

/// The counts of one block.
#[derive(Clone, Debug)]
struct Block {
    count: u64,
    /// Indexes into [`Blocks::values`] and counts, ascending; never empty.
    buckets: Vec<(usize, u64)>,
}

impl Block {
    /// The index of the quantile in this block.
    fn place(&self, quantile: f64) -> usize {
        let counts = self.buckets.iter().map(|(_, count)| *count);
        let nth = position_of_rank(counts, nearest_rank(quantile, self.count));
        self.buckets[nth.min(self.buckets.len() - 1)].0
    }
}

/// The index at which the cumulative sum of `counts` reaches `rank`; their number if it does
/// not.
fn position_of_rank(counts: impl Iterator<Item = u64>, rank: u64) -> usize {
    let mut seen = 0_u64;
    counts
        .take_while(|count| {
            seen = seen.saturating_add(*count);
            seen < rank
        })
        .count()
}

/// How often each block was drawn, one row of [`Blocks::blocks`] per resample.
struct Draws {
    weights: Vec<u64>,
    blocks: usize,
}

impl Blocks {
    /// Collects the blocks of each round; empty blocks are dropped.
    pub fn new<'a, R, B>(rounds: R) -> Self
    where
        R: IntoIterator<Item = B>,
        B: IntoIterator<Item = &'a Histogram>,
    {
        let filled = |block: &&Histogram| block.buckets.iter().any(|(_, count)| *count > 0);
        let mut records: Vec<&Histogram> = Vec::new();
        let mut ranges = Vec::new();
        for round in rounds {
            let first = records.len();
            records.extend(round.into_iter().filter(filled));
            if records.len() > first {
                ranges.push(first..records.len());
            }
        }
        let mut values: Vec<Nanos> =
            records.iter().flat_map(|record| &record.buckets).map(|(value, _)| *value).collect();
        values.sort_unstable();
        values.dedup();
        let blocks: Vec<Block> = records.iter().map(|record| sparse(record, &values)).collect();
        let mut counts = vec![0_u64; values.len()];
        for &(place, count) in blocks.iter().flat_map(|block| &block.buckets) {
            counts[place] = counts[place].saturating_add(count);
        }
        let count = blocks.iter().fold(0_u64, |sum, block| sum.saturating_add(block.count));
        let max = records.iter().map(|record| record.max).max().unwrap_or_default();
        Self { values, counts, blocks, rounds: ranges, count, max }
    }

    /// Checks whether the blocks support an interval for `quantile` (0 to 1).
    ///
    /// # Errors
    /// The missing requirement.
    pub fn supports(&self, quantile: f64) -> Result<(), Unsupported> {
        let beyond = self.count as f64 * quantile.min(1.0 - quantile);
        // A share such as 0.9 has no exact binary form; a rounding error must not decide.
        if beyond.is_nan() || beyond < FEWEST_BEYOND * (1.0 - 1e-9) {
            return Err(Unsupported::FewBeyond { beyond });
        }
        if self.blocks.len() < FEWEST_BLOCKS {
            return Err(Unsupported::FewBlocks { blocks: self.blocks.len() });
        }
        let rank = nearest_rank(quantile, self.count);
        let estimate = position_of_rank(self.counts.iter().copied(), rank);
        let reaches = |block: &&Block| block.buckets.iter().any(|(place, _)| *place >= estimate);
        match self.blocks.iter().filter(reaches).count() {
            blocks if blocks < FEWEST_REACHING => Err(Unsupported::FewReaching { blocks }),
            _ => Ok(()),
        }
    }

    /// 95 % intervals for `quantiles`, each if the blocks support one; the same for the same
    /// `seed`.
    pub fn intervals(&self, quantiles: &[f64], seed: u64) -> Vec<Result<Interval, Unsupported>> {
        let draws = self.draw(seed);
        quantiles
            .iter()
            .map(|quantile| {
                self.supports(*quantile)?;
                Ok(self.interval(*quantile, &draws))
            })
            .collect()
    }

    fn draw(&self, seed: u64) -> Draws {
        let mut random = SplitMix64::new(seed);
        let blocks = self.blocks.len();
        let mut weights = vec![0_u64; RESAMPLES * blocks];
        // Without blocks there are no rows, and nothing is drawn.
        for row in weights.chunks_exact_mut(blocks.max(1)) {
            for _ in &self.rounds {
                let round = random.below(self.rounds.len() as u64) as usize;
                draw_runs(&mut row[self.rounds[round].clone()], &mut random);
            }
        }
        Draws { weights, blocks }
    }

    /// The quantile (0 to 1) of each round, if all rounds together contain enough samples.
    ///
    /// # Errors
    /// Fewer than [`FEWEST_BEYOND`] samples lie on the thinner side of the quantile. Their
    /// distribution over rounds is not checked: if they come in a burst, the rounds differ.
    pub fn quantile_of_rounds(&self, quantile: f64) -> Result<Vec<Nanos>, Unsupported> {
        let beyond = self.count as f64 * quantile.min(1.0 - quantile);
        // A share such as 0.9 has no exact binary form; a rounding error must not decide.
        if beyond.is_nan() || beyond < FEWEST_BEYOND * (1.0 - 1e-9) {
            return Err(Unsupported::FewBeyond { beyond });
        }
        Ok(self
            .rounds
            .iter()
            .map(|round| self.quantile_of(&self.blocks[round.clone()], quantile))
            .collect())
    }

    /// The quantile of some of the blocks, which must not be empty.
    fn quantile_of(&self, blocks: &[Block], quantile: f64) -> Nanos {
        let mut counts = vec![0_u64; self.values.len()];
        for &(place, count) in blocks.iter().flat_map(|block| &block.buckets) {
            counts[place] = counts[place].saturating_add(count);
        }
        let count = blocks.iter().fold(0_u64, |sum, block| sum.saturating_add(block.count));
        let place = position_of_rank(counts.into_iter(), nearest_rank(quantile, count));
        self.duration_at(place.min(self.values.len() - 1))
    }

    /// The quantile (0 to 1) of all blocks; `None` if they are empty.
    pub fn quantile(&self, quantile: f64) -> Option<Nanos> {
        let rank = nearest_rank(quantile, self.count);
        let place = position_of_rank(self.counts.iter().copied(), rank);
        (place < self.values.len()).then(|| self.duration_at(place))
    }

    /// The number of rounds with samples.
    pub fn rounds(&self) -> usize {
        self.rounds.len()
    }

    /// The duration at an index, rounded as in `LatencyHistogram::quantile`; otherwise an
    /// interval could exclude its own estimate.
    fn duration_at(&self, place: usize) -> Nanos {
        bucket_high(self.values[place]).min(self.max)
    }

    /// The index of the quantile in each resample.
    fn places(&self, quantile: f64, draws: &Draws) -> Vec<usize> {
        let totals: Vec<u64> = self.blocks.iter().map(|block| block.count).collect();
        let table = Cumulated::around(quantile, &self.blocks);
        draws
            .weights
            .chunks_exact(draws.blocks)
            .map(|weights| table.place(weights, nearest_rank(quantile, weighted(weights, &totals))))
            .collect()
    }

    fn interval(&self, quantile: f64, draws: &Draws) -> Interval {
        let mut found = self.places(quantile, draws);
        found.sort_unstable();
        let [low, high] = ends(&found).unwrap_or_default().map(|place| self.duration_at(place));
        Interval { low, high }
    }
}

/// The ends of the 95 % interval of a statistic: of 400 resamples in ascending order, the tenth and the
/// tenth from the end. `None` without resamples.
pub(crate) fn ends<T: Copy>(ascending: &[T]) -> Option<[T; 2]> {
    let tail = (ascending.len() / 40).max(1);
    let low = *ascending.get(tail - 1)?;
    Some([low, ascending[ascending.len() - tail]])
}

/// The same of resamples in any order.
pub(crate) fn ends_of(mut resamples: Vec<f64>) -> Option<[f64; 2]> {
    resamples.sort_unstable_by(f64::total_cmp);
    ends(&resamples)
}

fn sparse(record: &Histogram, values: &[Nanos]) -> Block {
    let filled = record.buckets.iter().filter(|(_, count)| *count > 0);
    let mut buckets: Vec<(usize, u64)> = filled
        .map(|(value, count)| (values.partition_point(|known| known < value), *count))
        .collect();
    buckets.sort_unstable();
    let count = buckets.iter().fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
    Block { count, buckets }
}

/// Draws as many blocks as a round has, in runs of neighbouring blocks.
pub(crate) fn draw_runs(round: &mut [u64], random: &mut SplitMix64) {
    let blocks = round.len();
    let run = ((blocks as f64).cbrt().round() as usize).max(1);
    let mut missing = blocks;
    while missing > 0 {
        let start = random.below(blocks as u64) as usize;
        for step in 0..run.min(missing) {
            round[(start + step) % blocks] += 1;
        }
        missing -= run.min(missing);
    }
}

/// How many samples of each block lie at or below each index, one row per index.
///
/// The quantile of a mixture lies between the minimum and the maximum of its parts' quantiles,
/// so there are rows only for the indexes between those. They are few enough that a binary
/// search through them is faster per resample than summing its counts.
struct Cumulated {
    first_place: usize,
    blocks: usize,
    rows: Vec<u64>,
}

impl Cumulated {
    fn around(quantile: f64, blocks: &[Block]) -> Self {
        let places = || blocks.iter().map(|block| block.place(quantile));
        let (first, last) = (places().min().unwrap_or(0), places().max().unwrap_or(0));
        let (mut row, mut later) = (vec![0_u64; blocks.len()], Vec::new());
        for (column, block) in blocks.iter().enumerate() {
            for &(place, count) in block.buckets.iter().filter(|(place, _)| *place <= last) {
                if place <= first {
                    row[column] = row[column].saturating_add(count);
                } else {
                    later.push((place, column, count));
                }
            }
        }
        // Row by row, since the table of many blocks exceeds the caches.
        later.sort_unstable();
        let mut later = later.into_iter().peekable();
        let mut rows = Vec::with_capacity((last - first + 1) * blocks.len());
        for place in first..=last {
            while let Some((_, column, count)) = later.next_if(|(known, ..)| *known == place) {
                row[column] = row[column].saturating_add(count);
            }
            rows.extend_from_slice(&row);
        }
        Self { first_place: first, blocks: blocks.len(), rows }
    }

    /// The index at which the drawn blocks reach `rank`.
    fn place(&self, weights: &[u64], rank: u64) -> usize {
        let row = |nth: usize| &self.rows[nth * self.blocks..][..self.blocks];
        let (mut low, mut high) = (0, self.rows.len() / self.blocks - 1);
        while low < high {
            let middle = low.midpoint(high);
            if weighted(weights, row(middle)) < rank { low = middle + 1 } else { high = middle }
        }
        self.first_place + low
    }
}

/// The sum of `counts`, each weighted by how often its block was drawn.
///
/// Wraps beyond 2⁶⁴ samples.
fn weighted(weights: &[u64], counts: &[u64]) -> u64 {
    let products = weights.iter().zip(counts).map(|(weight, count)| weight.wrapping_mul(*count));
    products.fold(0, u64::wrapping_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::LatencyHistogram;

    fn uniform(random: &mut SplitMix64) -> f64 {
        // Never zero, since its logarithm is not finite.
        (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64 + f64::EPSILON / 4.0
    }

    /// How many of 200 intervals for `quantile` contained the true value.
    fn covered(
        quantile: f64,
        truth: f64,
        mut block: impl FnMut(&mut SplitMix64) -> LatencyHistogram,
    ) -> usize {
        let mut random = SplitMix64::new(11);
        (0..200)
            .filter(|seed| {
                let kept: Vec<Histogram> =
                    (0..60).map(|_| block(&mut random).to_record()).collect();
                let interval = Blocks::new([kept.iter()]).intervals(&[quantile], *seed)[0].unwrap();
                let (low, high) = (interval.low.as_nanos() as f64, interval.high.as_nanos() as f64);
                low * 0.999 <= truth && truth <= high * 1.001
            })
            .count()
    }

    #[test]
    fn an_interval_has_a_fortieth_of_the_resamples_at_each_end() {
        assert_eq!(ends::<u8>(&[]), None);
        assert_eq!(ends_of(vec![2.0, 1.0]), Some([1.0, 2.0]));
        let all: Vec<u32> = (0..400).collect();
        assert_eq!(ends(&all), Some([9, 390]));
    }

    #[test]
    fn intervals_of_independent_samples_have_their_nominal_coverage() {
        // Exponential with mean 10 µs: the quantile q is −ln(1 − q) means.
        let held = covered(0.99, 10_000.0 * 100_f64.ln(), |random| {
            (0..200).map(|_| Nanos::from_nanos((-uniform(random).ln() * 10_000.0) as u64)).collect()
        });
        assert!((180..=199).contains(&held), "{held} of 200");
    }

    #[test]
    fn intervals_of_heavy_tails_have_their_nominal_coverage() {
        // Pareto with index 1.5 from 5 µs: the quantile q is 5 µs (1 − q)^(−1/1.5).
        let held = covered(0.99, 5_000.0 * 100_f64.powf(1.0 / 1.5), |random| {
            (0..200)
                .map(|_| Nanos::from_nanos((uniform(random).powf(-1.0 / 1.5) * 5_000.0) as u64))
                .collect()
        });
        assert!((180..=199).contains(&held), "{held} of 200");
    }

    #[test]
    fn correlated_samples_widen_the_interval() {
        // A disturbance lasts exactly one block: either all of its samples are slow, or none.
        let disturbed = |random: &mut SplitMix64| -> LatencyHistogram {
            let slow = uniform(random) < 0.3;
            (0..200)
                .map(|_| {
                    let base = -uniform(random).ln() * 10_000.0;
                    Nanos::from_nanos((if slow { base + 100_000.0 } else { base }) as u64)
                })
                .collect()
        };
        let mut random = SplitMix64::new(5);
        let blocks: Vec<LatencyHistogram> = (0..60).map(|_| disturbed(&mut random)).collect();
        let together: Vec<Histogram> = blocks.iter().map(LatencyHistogram::to_record).collect();
        // The same samples, shuffled so that they are independent.
        let mut dealt = vec![LatencyHistogram::new(); 60];
        let mut next = 0;
        for bucket in blocks.iter().flat_map(LatencyHistogram::buckets) {
            for _ in 0..bucket.count {
                dealt[next % 60].record(bucket.low);
                next += 1;
            }
        }
        let dealt: Vec<Histogram> = dealt.iter().map(LatencyHistogram::to_record).collect();
        let width = |kept: &[Histogram]| {
            let interval = Blocks::new([kept.iter()]).intervals(&[0.75], 1)[0].unwrap();
            interval.high - interval.low
        };
        assert!(width(&together) > width(&dealt).saturating_mul(4));
    }

    #[test]
    fn insufficient_samples_are_rejected_with_the_missing_requirement() {
        let block = |count: u64| {
            (0..count)
                .map(|k| Nanos::from_nanos(1000 + k))
                .collect::<LatencyHistogram>()
                .to_record()
        };
        let few = [block(1000), block(1000)];
        let intervals = Blocks::new([few.iter()]).intervals(&[0.5, 0.999], 1);
        assert_eq!(intervals[0], Err(Unsupported::FewBlocks { blocks: 2 }));
        assert!(matches!(intervals[1], Err(Unsupported::FewBeyond { .. })));
        let none: [Histogram; 0] = [];
        assert!(Blocks::new([none.iter()]).intervals(&[0.5], 1)[0].is_err());
    }

    #[test]
    fn an_interval_contains_its_own_estimate() {
        let constant = Nanos::from_nanos(1_234_567);
        let kept = vec![(0..200).map(|_| constant).collect::<LatencyHistogram>().to_record(); 60];
        let mut whole = LatencyHistogram::new();
        kept.iter().for_each(|block| whole.merge_record(block));
        let interval = Blocks::new([kept.iter()]).intervals(&[0.5], 1)[0].unwrap();
        assert_eq!(Some(interval), whole.quantile(0.5).map(|it| Interval { low: it, high: it }));
    }

    #[test]
    fn each_round_has_its_quantile() {
        let round = |level: u64| -> Vec<Histogram> {
            let latencies = (0..50).map(|k| Nanos::from_micros(level + k % 3));
            vec![latencies.collect::<LatencyHistogram>().to_record(); 20]
        };
        let rounds = [round(10), Vec::new(), round(30)];
        let blocks = Blocks::new(&rounds);
        assert_eq!(blocks.rounds(), 2, "a round without samples does not count");
        let medians = blocks.quantile_of_rounds(0.5).unwrap();
        let singly: Vec<Nanos> = [&rounds[0], &rounds[2]]
            .map(|round| Blocks::new([round.iter()]).quantile(0.5).unwrap())
            .to_vec();
        assert_eq!(medians, singly);
        assert!(matches!(blocks.quantile_of_rounds(0.9999), Err(Unsupported::FewBeyond { .. })));
        assert_eq!(Blocks::new([Vec::<&Histogram>::new()]).quantile(0.5), None);
    }

    #[test]
    fn a_single_burst_is_not_a_tail() {
        let block = |late: usize| -> Histogram {
            let micros = |k| Nanos::from_micros(if k < late { 5_000 } else { 10 });
            (0..200).map(micros).collect::<LatencyHistogram>().to_record()
        };
        let mut kept = vec![block(0); 60];
        kept[7] = block(150);
        let intervals = Blocks::new([kept.iter()]).intervals(&[0.99], 1)[0];
        assert_eq!(intervals, Err(Unsupported::FewReaching { blocks: 1 }));
    }

    #[test]
    fn intervals_of_samples_correlated_over_a_fifth_of_a_block_still_cover() {
        // The logarithm is autocorrelated with 0.95; its median is that of e⁰.
        let mut logarithm = 0.0;
        let held = covered(0.5, 10_000.0, |random| {
            (0..100)
                .map(|_| {
                    let normal = (-2.0 * uniform(random).ln()).sqrt()
                        * (std::f64::consts::TAU * uniform(random)).cos();
                    logarithm = 0.95 * logarithm + (1.0 - 0.95_f64.powi(2)).sqrt() * normal;
                    Nanos::from_nanos((10_000.0 * (0.5 * logarithm).exp()) as u64)
                })
                .collect()
        });
        assert!((172..=199).contains(&held), "{held} of 200");
    }

    #[test]
    fn differing_rounds_widen_the_interval_even_if_they_are_few() {
        let round = |level: u64| -> Vec<Histogram> {
            let latencies = || (0..50).map(move |k| Nanos::from_micros(level + k % 3));
            vec![latencies().collect::<LatencyHistogram>().to_record(); 20]
        };
        for levels in [&[10, 60][..], &[10, 20, 30, 40, 50, 60]] {
            let rounds: Vec<Vec<Histogram>> = levels.iter().map(|level| round(*level)).collect();
            let interval = Blocks::new(&rounds).intervals(&[0.5], 3)[0].unwrap();
            assert!(interval.low < Nanos::from_micros(25), "{levels:?}: {interval:?}");
            assert!(interval.high > Nanos::from_micros(45), "{levels:?}: {interval:?}");
        }
    }
}
