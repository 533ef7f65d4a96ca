//! How often something came that comes in bursts, with its interval.
//!
//! Were events independent, their number would be a Poisson one, with F. Garwood's
//! interval (*Fiducial limits for the Poisson distribution*, Biometrika 28, 1936). Late
//! wakeups come in bursts, and in some rounds more than in others, so their number
//! varies φ times as much. Then count ÷ φ is nearly a Poisson number (P. McCullagh and
//! J. A. Nelder, *Generalized Linear Models*, 1989, section 6.2), and the interval is that of it,
//! times φ. φ is the greater of the index of dispersion over stretches of time and over rounds.

use serde::Serialize;
use statrs::function::gamma::{gamma_lr, gamma_ur};

/// How often something came.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BurstyCount {
    /// How often it came.
    pub count: u64,
    /// How many stretches of time it came in.
    pub stretches: u64,
    /// How much more its number varies than that of independent events; at least 1.
    pub dispersion: f64,
    /// The lower end of the 95 % interval of the number to be expected in as much time.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// What the number to be expected in as much time does not exceed, with 95 % confidence.
    pub at_most: f64,
}

impl BurstyCount {
    /// Takes how often it came in each stretch of each round.
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

/// The variance of numbers over their mean, 1 where there is none.
fn index_of_dispersion(counts: &[u64]) -> f64 {
    let sum: u64 = counts.iter().sum();
    if sum == 0 || counts.len() < 2 {
        return 1.0;
    }
    let mean = sum as f64 / counts.len() as f64;
    let squares: f64 = counts.iter().map(|count| (*count as f64 - mean).powi(2)).sum();
    squares / (counts.len() as f64 - 1.0) / mean
}

/// The mean by which as many as `count` or more come with a chance of `chance`.
fn least_mean(count: f64, chance: f64) -> f64 {
    if count <= 0.0 { 0.0 } else { where_falls(count, |mean| gamma_lr(count, mean) < chance) }
}

/// The mean by which as many as `count` or fewer come with a chance of `chance`.
fn greatest_mean(count: f64, chance: f64) -> f64 {
    where_falls(count, |mean| gamma_ur(count + 1.0, mean) > chance)
}

/// Where `below` ceases to hold, by halves; it holds for small means.
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
    fn nothing_seen_gives_the_rule_of_three() {
        let none = BurstyCount::of(&[vec![0; 60], vec![0; 60]]);
        assert_eq!((none.count, none.low), (0, 0.0));
        assert!((none.at_most - 3.0).abs() < 0.01, "{none:?}");
    }

    #[test]
    fn independent_events_have_the_interval_of_the_tables() {
        // Garwood's table: 10 events, 4.795 to 18.39.
        let mut round = vec![0; 1000];
        (0..10).for_each(|nth| round[nth * 97] = 1);
        let ten = BurstyCount::of(&[round]);
        assert!((ten.low - 4.795).abs() < 0.01 && (ten.high - 18.39).abs() < 0.01, "{ten:?}");
    }

    #[test]
    fn bursts_are_covered_about_as_often_as_the_interval_says() {
        let mut draw = Draw::new(12);
        // In every stretch a burst with a chance of 0.2, of three events in the mean.
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
