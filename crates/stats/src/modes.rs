//! Whether a machine has two speeds.
//!
//! Some hosts change between two modes, in which the same work takes two different times, for
//! seconds or for the life of a process. The mean of both is a time that never occurs.

use serde::Serialize;

use crate::median::{deviation, median};

/// The least share of the values in a mode.
const SHARE_MIN: f64 = 0.1;
/// The least ratio between the two modes that matters.
const RATIO_MIN: f64 = 1.06;
/// The least distance between the medians of the modes, in standard deviations of the modes: D of
/// K. M. Ashman, C. M. Bird and S. E. Zepf, *Detecting bimodality in astronomical datasets* (1994).
/// They find modes apart above 2. Halves of a normal distribution reach 2.3 here, those of a uniform
/// one 2.7, and those of an exponential one 3.7.
const DISTANCE_MIN: f64 = 4.0;
/// The least number of values.
const FEWEST: usize = 20;

/// A speed at which a machine ran.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Mode {
    /// The median of the values in it.
    pub median: f64,
    /// Its share of all values.
    pub share: f64,
}

/// Two speeds of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Modes {
    /// The one with the lower values.
    pub fast: Mode,
    /// The other.
    pub slow: Mode,
    /// Values up to this belong to the fast mode.
    pub limit: f64,
}

impl Modes {
    /// Finds two modes in positive values; `None` if they have one, or are too few.
    ///
    /// The values are divided where the variance of their logarithms within the parts is least (N.
    /// Otsu, *A threshold selection method from gray-level histograms*, 1979), and count as two
    /// modes if the parts are far apart and neither is small.
    pub fn of(values: &[f64]) -> Option<Self> {
        let mut ascending: Vec<f64> =
            values.iter().copied().filter(|value| *value > 0.0 && value.is_finite()).collect();
        ascending.sort_unstable_by(f64::total_cmp);
        if ascending.len() < FEWEST {
            return None;
        }
        let (low, high) = ascending.split_at(division(&ascending));
        let [fast, slow] = [low, high].map(|part| Mode {
            median: median(part),
            share: part.len() as f64 / ascending.len() as f64,
        });
        let spread = [(low, fast), (high, slow)].map(|(part, mode)| deviation(part, mode.median));
        let within = (spread[0].powi(2).midpoint(spread[1].powi(2))).sqrt();
        let is_apart = slow.median - fast.median >= DISTANCE_MIN * within;
        let are_two = fast.share.min(slow.share) >= SHARE_MIN
            && slow.median >= RATIO_MIN * fast.median
            && is_apart;
        let limit = low.last()?.midpoint(*high.first()?);
        are_two.then_some(Self { fast, slow, limit })
    }
}

/// The number of values in the lower part: where the variance between the parts is greatest.
fn division(ascending: &[f64]) -> usize {
    let total: f64 = ascending.iter().map(|value| value.ln()).sum();
    let (count, mut below) = (ascending.len() as f64, 0.0);
    let between = ascending.iter().enumerate().take(ascending.len() - 1).map(|(index, value)| {
        below += value.ln();
        let lower = (index + 1) as f64;
        let apart = below / lower - (total - below) / (count - lower);
        (index + 1, lower * (count - lower) * apart * apart)
    });
    between.max_by(|a, b| a.1.total_cmp(&b.1)).map_or(1, |(number, _)| number)
}

#[cfg(test)]
mod tests {
    use tactus_model::random::SplitMix64;

    use super::*;

    fn uniform(random: &mut SplitMix64) -> f64 {
        (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Approximately normal, with mean 0 and standard deviation 1.
    fn normal(random: &mut SplitMix64) -> f64 {
        (0..12).map(|_| uniform(random)).sum::<f64>() - 6.0
    }

    fn values(mut of: impl FnMut(&mut SplitMix64) -> f64) -> Vec<f64> {
        let mut random = SplitMix64::new(7);
        (0..500).map(|_| of(&mut random)).collect()
    }

    #[test]
    fn a_machine_with_two_speeds_has_two_modes() {
        let mut number = 0;
        let two = values(|random| {
            number += 1;
            let center = if number % 4 == 0 { 125.0 } else { 100.0 };
            center * (1.0 + 0.01 * normal(random))
        });
        let modes = Modes::of(&two).unwrap();
        assert!((modes.fast.median - 100.0).abs() < 1.0, "{modes:?}");
        assert!((modes.slow.median - 125.0).abs() < 1.0 && (modes.slow.share - 0.25).abs() < 0.01);
        assert!((103.0..122.0).contains(&modes.limit));
    }

    #[test]
    fn noise_has_one_mode_whatever_its_shape() {
        assert_eq!(Modes::of(&values(|random| 100.0 + 3.0 * normal(random))), None);
        assert_eq!(Modes::of(&values(|random| 100.0 + 20.0 * uniform(random))), None);
        let tail = values(|random| 100.0 - 10.0 * (1.0 - uniform(random)).ln());
        assert_eq!(Modes::of(&tail), None);
        assert_eq!(Modes::of(&[100.0; 500]), None);
        assert_eq!(Modes::of(&[1.0, 2.0]), None, "too few");
    }

    #[test]
    fn a_few_disturbed_values_are_no_mode() {
        let mut number = 0;
        let disturbed = values(|random| {
            number += 1;
            let times = if number % 20 == 0 { 3.0 } else { 1.0 };
            times * (100.0 + normal(random))
        });
        assert_eq!(Modes::of(&disturbed), None);
    }
}
