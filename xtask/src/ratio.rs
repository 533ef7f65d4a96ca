//! The ratio of two sides that were measured in pairs.

use std::fmt;

use tactus_model::random::SplitMix64;
use tactus_stats::median::median_of;

/// The median of ratios.
pub(crate) struct Ratio {
    median: f64,
    /// Its 95 % interval, by bootstrap over the pairs.
    pub(crate) interval: [f64; 2],
}

impl Ratio {
    /// The median of the ratios of pairs; `None` without pairs.
    pub(crate) fn of(ratios: &[f64], random: &mut SplitMix64) -> Option<Self> {
        const RESAMPLES: usize = 2000;
        let mut resample =
            || median_of(ratios.iter().map(|_| ratios[random.below(ratios.len() as u64) as usize]));
        let mut medians: Vec<f64> = (0..RESAMPLES).filter_map(|_| resample()).collect();
        medians.sort_by(f64::total_cmp);
        let interval = [RESAMPLES / 40, RESAMPLES - RESAMPLES / 40];
        Some(Self {
            median: median_of(ratios.iter().copied())?,
            interval: interval.map(|at| medians[at]),
        })
    }
}

/// `1.012 [0.980, 1.051]`
impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [low, high] = self.interval;
        write!(f, "{:.3} [{low:.3}, {high:.3}]", self.median)
    }
}
