//! Confidence in quantiles, by block bootstrap.
//!
//! Latencies that follow each other are alike: a disturbance delays many in a
//! row. Drawing single samples would call a handful of disturbances thousands of
//! independent events. So stretches of time (blocks) are drawn instead, each
//! with all its samples, as in H. R. Künsch, *The jackknife and the bootstrap for
//! general stationary observations* (1989); the interval is that of the
//! percentiles of the drawn quantiles (A. C. Davison and D. V. Hinkley,
//! *Bootstrap Methods and their Application*, 1997, chapters 5 and 8).
//!
//! With [`ROUNDS_AS_UNITS`] rounds or more, rounds are drawn first and blocks
//! within them, since a round may differ from another as a whole. With fewer,
//! how much rounds differ cannot be told from so few: blocks of all rounds are
//! drawn alike, and the interval speaks of the stretches that were measured.

use serde::{Deserialize, Serialize};
use tactus_model::experiment::SplitMix64;
use tactus_model::result::Histogram;
use tactus_model::time::Nanos;

/// From how many rounds on rounds are drawn as units.
pub const ROUNDS_AS_UNITS: usize = 5;
/// Fewer blocks than these say too little about how blocks differ.
pub const FEWEST_BLOCKS: usize = 10;
/// The samples that must lie on the thinner side of a quantile, on average, for
/// its place to be worth an interval.
pub const FEWEST_BEYOND: f64 = 10.0;
/// How often is drawn. The ends of a 95 % interval then rest on ten draws each.
pub const RESAMPLES: usize = 400;

/// A range that holds the true value in 95 of 100 repetitions of the measurement.
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
    /// The window was too short to be cut into enough stretches.
    #[error(
        "{blocks} stretches are too few for an interval; measure longer, so that there are {FEWEST_BLOCKS}"
    )]
    FewBlocks {
        /// How many stretches hold samples.
        blocks: usize,
    },
    /// Too few samples lie beyond the quantile.
    #[error(
        "about {beyond:.1} samples lie beyond this quantile; measure longer, so that there are {FEWEST_BEYOND}"
    )]
    FewBeyond {
        /// How many there are on average.
        beyond: f64,
    },
}

/// A block's counts: places in the common list of bucket values, and how many fell there.
type Block = Vec<(u32, u64)>;

/// The blocks of a cell, ready to be drawn from.
#[derive(Clone, Debug)]
pub struct Blocks {
    /// The lowest values of all buckets that any block uses, ascending.
    values: Vec<Nanos>,
    /// For each round its blocks.
    rounds: Vec<Vec<Block>>,
    count: u64,
}

impl Blocks {
    /// Gathers the blocks of each round; empty ones are left out.
    pub fn new<'a, R, B>(rounds: R) -> Self
    where
        R: IntoIterator<Item = B>,
        B: IntoIterator<Item = &'a Histogram>,
    {
        let rounds: Vec<Vec<&Histogram>> = rounds
            .into_iter()
            .map(|round| round.into_iter().filter(|block| block.count > 0).collect())
            .filter(|round: &Vec<&Histogram>| !round.is_empty())
            .collect();
        let mut values: Vec<Nanos> = rounds
            .iter()
            .flatten()
            .flat_map(|block| block.buckets.iter().map(|(value, _)| *value))
            .collect();
        values.sort_unstable();
        values.dedup();
        let place = |value: &Nanos| values.partition_point(|known| known < value) as u32;
        let sparse = |block: &&Histogram| {
            block.buckets.iter().map(|(value, count)| (place(value), *count)).collect()
        };
        let count = rounds.iter().flatten().map(|block| block.count).sum();
        let rounds = rounds.iter().map(|round| round.iter().map(sparse).collect()).collect();
        Self { values, rounds, count }
    }

    fn blocks(&self) -> usize {
        self.rounds.iter().map(Vec::len).sum()
    }

    /// Says whether an interval for `quantile` (0 to 1) is supported.
    ///
    /// # Errors
    /// What is missing.
    pub fn supports(&self, quantile: f64) -> Result<(), Unsupported> {
        let beyond = self.count as f64 * quantile.min(1.0 - quantile);
        // A share such as 0.9 has no exact form; a hair must not decide.
        if beyond < FEWEST_BEYOND * (1.0 - 1e-9) {
            return Err(Unsupported::FewBeyond { beyond });
        }
        match self.blocks() {
            blocks if blocks < FEWEST_BLOCKS => Err(Unsupported::FewBlocks { blocks }),
            _ => Ok(()),
        }
    }

    /// 95 % intervals for `quantiles`, each where the blocks support one; the same
    /// for the same `seed`.
    pub fn intervals(&self, quantiles: &[f64], seed: u64) -> Vec<Result<Interval, Unsupported>> {
        let supported: Vec<f64> =
            quantiles.iter().copied().filter(|share| self.supports(*share).is_ok()).collect();
        let mut drawn = self.draw(&supported, seed).into_iter();
        quantiles
            .iter()
            .map(|share| {
                self.supports(*share)
                    .and_then(|()| drawn.next().ok_or(Unsupported::FewBlocks { blocks: 0 }))
            })
            .collect()
    }

    fn draw(&self, quantiles: &[f64], seed: u64) -> Vec<Interval> {
        let mut random = SplitMix64::new(seed);
        let mut found = vec![Vec::with_capacity(RESAMPLES); quantiles.len()];
        let mut counts = vec![0_u64; self.values.len()];
        let mut order: Vec<usize> = (0..quantiles.len()).collect();
        order.sort_by(|a, b| quantiles[*a].total_cmp(&quantiles[*b]));
        for _ in 0..if quantiles.is_empty() { 0 } else { RESAMPLES } {
            counts.fill(0);
            self.resample(&mut random, &mut counts);
            self.nearest_ranks(&counts, quantiles, &order, &mut found);
        }
        found
            .into_iter()
            .map(|mut found| {
                found.sort_unstable();
                let tail = RESAMPLES / 40;
                Interval { low: found[tail - 1], high: found[RESAMPLES - tail] }
            })
            .collect()
    }

    /// Adds as many drawn blocks as there are to `counts`; a block that is drawn
    /// several times is added once, so many times over.
    fn resample(&self, random: &mut SplitMix64, counts: &mut [u64]) {
        let mut drawn: Vec<Vec<u64>> =
            self.rounds.iter().map(|round| vec![0; round.len()]).collect();
        if self.rounds.len() >= ROUNDS_AS_UNITS {
            for _ in &self.rounds {
                let round = index(&self.rounds, random);
                for _ in &self.rounds[round] {
                    drawn[round][index(&self.rounds[round], random)] += 1;
                }
            }
        } else {
            let places: Vec<(usize, usize)> = (0..self.rounds.len())
                .flat_map(|round| (0..self.rounds[round].len()).map(move |block| (round, block)))
                .collect();
            for _ in &places {
                let (round, block) = places[index(&places, random)];
                drawn[round][block] += 1;
            }
        }
        let blocks = self.rounds.iter().flatten().zip(drawn.into_iter().flatten());
        for (block, times) in blocks.filter(|(_, times)| *times > 0) {
            for &(place, count) in block {
                counts[place as usize] += count * times;
            }
        }
    }

    /// Finds all quantiles in one pass over `counts`; `order` names them ascending.
    fn nearest_ranks(
        &self,
        counts: &[u64],
        quantiles: &[f64],
        order: &[usize],
        found: &mut [Vec<Nanos>],
    ) {
        let total: u64 = counts.iter().sum();
        let rank = |quantile: f64| ((total as f64 * quantile).ceil() as u64).clamp(1, total);
        let mut wanted = order.iter().copied().peekable();
        let mut seen = 0;
        for (value, count) in self.values.iter().zip(counts) {
            seen += count;
            while let Some(place) = wanted.next_if(|place| seen >= rank(quantiles[*place])) {
                found[place].push(*value);
            }
        }
    }
}

/// A place in `items`, each as likely as any other.
fn index<T>(items: &[T], random: &mut SplitMix64) -> usize {
    random.below(items.len() as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::LatencyHistogram;

    fn uniform(random: &mut SplitMix64) -> f64 {
        // Never zero, whose logarithm would not be finite.
        (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64 + f64::EPSILON / 4.0
    }

    /// How many of 200 intervals for `quantile` held the true value.
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
    fn intervals_of_independent_samples_cover_as_often_as_they_say() {
        // Exponential with mean 10 µs: the quantile q is −ln(1 − q) means.
        let held = covered(0.99, 10_000.0 * 100_f64.ln(), |random| {
            (0..200).map(|_| Nanos::from_nanos((-uniform(random).ln() * 10_000.0) as u64)).collect()
        });
        assert!((180..=199).contains(&held), "{held} of 200");
    }

    #[test]
    fn intervals_of_heavy_tails_cover_as_often_as_they_say() {
        // Pareto with index 1.5 from 5 µs: the quantile q is 5 µs (1 − q)^(−1/1.5).
        let held = covered(0.99, 5_000.0 * 100_f64.powf(1.0 / 1.5), |random| {
            (0..200)
                .map(|_| Nanos::from_nanos((uniform(random).powf(-1.0 / 1.5) * 5_000.0) as u64))
                .collect()
        });
        assert!((180..=199).contains(&held), "{held} of 200");
    }

    #[test]
    fn samples_that_come_alike_in_a_row_widen_the_interval() {
        // A disturbance is as long as a block: all of its samples are slow, or none.
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
        // The same samples dealt out one by one, as if they were independent.
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
    fn what_is_too_thin_is_refused_with_what_is_missing() {
        let block = |count: u64| {
            (0..count)
                .map(|k| Nanos::from_nanos(1000 + k))
                .collect::<LatencyHistogram>()
                .to_record()
        };
        let few = [block(1000), block(1000)];
        let answer = Blocks::new([few.iter()]).intervals(&[0.5, 0.999], 1);
        assert_eq!(answer[0], Err(Unsupported::FewBlocks { blocks: 2 }));
        assert!(matches!(answer[1], Err(Unsupported::FewBeyond { .. })));
        let none: [Histogram; 0] = [];
        assert!(Blocks::new([none.iter()]).intervals(&[0.5], 1)[0].is_err());
    }

    #[test]
    fn rounds_that_differ_widen_the_interval_once_they_are_units() {
        let round = |level: u64| -> Vec<Histogram> {
            (0..20)
                .map(|_| {
                    (0..50)
                        .map(|k| Nanos::from_micros(level + k % 3))
                        .collect::<LatencyHistogram>()
                        .to_record()
                })
                .collect()
        };
        let rounds: Vec<Vec<Histogram>> = [10, 20, 30, 40, 50, 60].map(round).into();
        let interval = Blocks::new(&rounds).intervals(&[0.5], 3)[0].unwrap();
        assert!(interval.low < Nanos::from_micros(25) && interval.high > Nanos::from_micros(45));
    }
}
