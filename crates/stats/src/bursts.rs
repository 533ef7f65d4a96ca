//! The count of bursty events, with its interval.
//!
//! The number of independent events is Poisson distributed, with F. Garwood's interval
//! (*Fiducial limits for the Poisson distribution*, Biometrika 28, 1936). Late wakeups come in
//! bursts, and more often in some rounds than in others, so the variance of their number is
//! larger by a factor φ. Then count ÷ φ is approximately Poisson distributed (P. McCullagh and
//! J. A. Nelder, *Generalized Linear Models*, 1989, section 6.2), and the interval is the
//! Poisson interval times φ. φ is the greater of the indexes of dispersion over blocks of time
//! and over rounds.

use serde::Serialize;
use statrs::function::gamma::{gamma_lr, gamma_ur};

/// The count of an event.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BurstyCount {
    /// The number of events.
    pub count: u64,
    /// The number of blocks of time with events.
    pub stretches: u64,
    /// The index of dispersion: the variance relative to that of independent events; at least
    /// 1.
    pub dispersion: f64,
    /// The lower end of the 95 % interval of the expected number in the same time.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// The upper bound of the expected number in the same time, with 95 % confidence.
    pub at_most: f64,
}

impl BurstyCount {
    /// Takes the number of events in each block of each round.
    pub fn of(rounds: &[Vec<u64>]) -> Self {
        let stretches: Vec<u64> = rounds.iter().flatten().copied().collect();
        let totals: Vec<u64> = rounds.iter().map(|round| round.iter().sum()).collect();
        let count: u64 = totals.iter().sum();
        let dispersion = index_of_dispersion(&stretches).max(index_of_dispersion(&totals)).max(1.0);
        let bursts = count as f64 / dispersion;
        Self {
            count,
            stretches: stretches.iter().filter(|count| **count > 0).count() as u64,
            dispersion,
            low: dispersion * least_mean(bursts, 0.025),
            high: dispersion * greatest_mean(bursts, 0.025),
            at_most: dispersion * greatest_mean(bursts, 0.05),
        }
    }
}

/// The variance of numbers divided by their mean; 1 if the mean is zero.
fn index_of_dispersion(counts: &[u64]) -> f64 {
    let sum: u64 = counts.iter().sum();
    if sum == 0 || counts.len() < 2 {
        return 1.0;
    }
    let mean = sum as f64 / counts.len() as f64;
    let squares: f64 = counts.iter().map(|count| (*count as f64 - mean).powi(2)).sum();
    squares / (counts.len() as f64 - 1.0) / mean
}

/// The mean for which `count` or more events have a probability of `chance`.
fn least_mean(count: f64, chance: f64) -> f64 {
    if count <= 0.0 { 0.0 } else { where_falls(count, |mean| gamma_lr(count, mean) < chance) }
}

/// The mean for which `count` or fewer events have a probability of `chance`.
fn greatest_mean(count: f64, chance: f64) -> f64 {
    where_falls(count, |mean| gamma_ur(count + 1.0, mean) > chance)
}

/// Bisects for the mean at which `below` becomes false; it is true for small means.
fn where_falls(count: f64, below: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 4.0 * count + 20.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if below(middle) { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Draw;

    #[test]
    fn a_count_of_zero_gives_the_rule_of_three() {
        let none = BurstyCount::of(&[vec![0; 60], vec![0; 60]]);
        assert_eq!((none.count, none.low), (0, 0.0));
        assert!((none.at_most - 3.0).abs() < 0.01, "{none:?}");
    }

    #[test]
    fn independent_events_have_the_interval_of_garwoods_table() {
        // Garwood's table: 10 events, 4.795 to 18.39.
        let mut round = vec![0; 1000];
        (0..10).for_each(|nth| round[nth * 97] = 1);
        let ten = BurstyCount::of(&[round]);
        assert!((ten.low - 4.795).abs() < 0.01 && (ten.high - 18.39).abs() < 0.01, "{ten:?}");
    }

    #[test]
    fn intervals_of_bursts_have_about_their_nominal_coverage() {
        let mut draw = Draw::new(12);
        // In every block a burst with probability 0.2, of three events on average.
        let stretch = |draw: &mut Draw| -> u64 {
            if draw.uniform() > 0.2 {
                return 0;
            }
            1 + (draw.uniform().ln() / (2.0_f64 / 3.0).ln()) as u64
        };
        let expected = 5.0 * 60.0 * 0.2 * 3.0;
        let held = (0..400)
            .filter(|_| {
                let rounds: Vec<Vec<u64>> =
                    (0..5).map(|_| (0..60).map(|_| stretch(&mut draw)).collect()).collect();
                let count = BurstyCount::of(&rounds);
                count.low <= expected && expected <= count.high
            })
            .count();
        assert!((368..=396).contains(&held), "{held} of 400");
    }
}
