//! Intervals by resampling the processes that measured a cost.

use serde::Serialize;
use tactus_model::random::SplitMix64;

use crate::cell::SEED;
use crate::modes::median_of;

/// The number of resamples. Each end of a 95 % interval then depends on ten of them.
const RESAMPLES: usize = 400;
/// The least number of processes at each place for an interval: two show too little.
const PROCESSES_MIN: usize = 3;

/// A value with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// Its interval; `None` with fewer than three processes.
    pub interval: Option<[f64; 2]>,
}

/// Gives `value`, which `of` computes from the medians of `sides`, an interval: each side is a
/// cost in each of its processes, and these are drawn with replacement.
pub(super) fn estimate(
    value: f64,
    sides: &[&[f64]],
    mut of: impl FnMut(&[f64]) -> f64,
) -> Estimate {
    if sides.iter().any(|costs| costs.len() < PROCESSES_MIN) {
        return Estimate { value, interval: None };
    }
    let mut random = SplitMix64::new(SEED);
    let mut found: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let medians: Vec<f64> =
                sides.iter().map(|costs| drawn_median(costs, costs.len(), &mut random)).collect();
            of(&medians)
        })
        .collect();
    found.sort_unstable_by(f64::total_cmp);
    let tail = RESAMPLES / 40;
    Estimate { value, interval: Some([found[tail - 1], found[RESAMPLES - tail]]) }
}

/// The median of this many costs, drawn with replacement.
pub(super) fn drawn_median(costs: &[f64], count: usize, random: &mut SplitMix64) -> f64 {
    let draw = (0..count).map(|_| costs[random.below(costs.len() as u64) as usize]);
    median_of(draw).unwrap_or_default()
}
