//! Intervals by resampling the processes that measured a cost.
//!
//! The fresh process is the unit of replication: processes often differ by more than their batches
//! do. So a cost is the median over processes of what each process found, and its interval is that
//! of the hierarchical bootstrap of this median: processes are resampled, and within each process
//! runs of neighbouring batches (A. C. Davison and D. V. Hinkley, *Bootstrap Methods and their
//! Application*, 1997, section 3.8). Whatever is computed from several costs (a ratio, a line) is
//! computed from their resamples, so that all intervals follow from the same ones.

use serde::Serialize;
use tactus_model::random::SplitMix64;

use crate::bootstrap::{RESAMPLES, draw_runs, ends_of};
use crate::cell::SEED;
use crate::median::median_of;

/// The least number of processes for an interval: two show too little.
const PROCESSES_MIN: usize = 3;

/// A value with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// Its interval; `None` with fewer than three processes.
    pub interval: Option<[f64; 2]>,
}

impl Estimate {
    /// Whether the interval excludes a value; false without one.
    pub fn excludes(&self, value: f64) -> bool {
        self.interval.is_some_and(|[low, high]| value < low || high < value)
    }
}

/// A cost in each resample of the processes that measured it; empty with fewer than three.
///
/// Costs with equally many processes are resampled together: their processes of a round were
/// measured close to each other, so a ratio of such costs is a paired one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resamples(Vec<f64>);

impl Resamples {
    /// Resamples processes, in the order of their rounds, each with a value for each of its batches.
    pub(super) fn of(processes: &[Vec<f64>]) -> Self {
        if processes.len() < PROCESSES_MIN {
            return Self::default();
        }
        // Batches do not take random numbers from the rounds, which are then the same for all costs.
        let (mut rounds, mut runs) = (SplitMix64::new(SEED), SplitMix64::new(!SEED));
        let mut drawn = Vec::new();
        let mut resample = || {
            let of_process = |_| {
                let batches = &processes[rounds.below(processes.len() as u64) as usize];
                drawn.clear();
                draw_batches(batches, &mut drawn, &mut runs);
                median_in(&mut drawn)
            };
            let mut medians: Vec<f64> = (0..processes.len()).map(of_process).collect();
            median_in(&mut medians)
        };
        Self((0..RESAMPLES).map(|_| resample()).collect())
    }

    /// The 95 % interval; `None` without resamples.
    pub(super) fn interval(&self) -> Option<[f64; 2]> {
        ends_of(self.0.clone())
    }
}

/// Draws as many batches as there are, in runs of neighbours.
fn draw_batches(batches: &[f64], drawn: &mut Vec<f64>, random: &mut SplitMix64) {
    let mut times = vec![0_u64; batches.len()];
    draw_runs(&mut times, random);
    for (batch, times) in batches.iter().zip(times) {
        drawn.extend((0..times).map(|_| *batch));
    }
}

/// The median, by partial sorting: this is done some thousand times for each cost.
fn median_in(values: &mut [f64]) -> f64 {
    let middle = values.len() / 2;
    let is_odd = values.len() % 2 == 1;
    let (below, upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let upper = *upper;
    match is_odd {
        true => upper,
        false => below.iter().copied().max_by(f64::total_cmp).unwrap_or(upper).midpoint(upper),
    }
}

/// Gives `value`, which `of` computes from costs, an interval by the resamples of these costs.
pub(super) fn estimate(
    value: f64,
    costs: &[&Resamples],
    mut of: impl FnMut(&[f64]) -> f64,
) -> Estimate {
    let count = costs.iter().map(|cost| cost.0.len()).min().unwrap_or_default();
    let mut resample = |number: usize| {
        let drawn: Vec<f64> = costs.iter().map(|cost| cost.0[number]).collect();
        of(&drawn)
    };
    Estimate { value, interval: ends_of((0..count).map(&mut resample).collect()) }
}

/// The median of this many costs, drawn with replacement.
pub(super) fn drawn_median(costs: &[f64], count: usize, random: &mut SplitMix64) -> f64 {
    let draw = (0..count).map(|_| costs[random.below(costs.len() as u64) as usize]);
    median_of(draw).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_differ_by_more_than_their_batches() {
        let process = |center: f64| -> Vec<f64> {
            (0..150).map(|batch| center + f64::from(batch % 7) / 10.0).collect()
        };
        let processes: Vec<Vec<f64>> =
            [100.0, 101.0, 108.0, 99.0, 110.0].into_iter().map(process).collect();
        let [low, high] = Resamples::of(&processes).interval().unwrap();
        assert!(low < 101.0 && high > 107.0, "{low} {high}");
        assert_eq!(Resamples::of(&processes[..2]).interval(), None);
    }

    #[test]
    fn a_ratio_is_paired_by_rounds() {
        // The machine gets slower from round to round, and both costs with it.
        let of = |times: f64| {
            let each = (0..5).map(|round| vec![times * (100.0 + 30.0 * f64::from(round))]);
            Resamples::of(&each.collect::<Vec<_>>())
        };
        let ratio = estimate(1.1, &[&of(1.0), &of(1.1)], |costs| costs[1] / costs[0]);
        let [low, high] = ratio.interval.unwrap();
        assert!((low - 1.1).abs() < 1e-9 && (high - 1.1).abs() < 1e-9, "{ratio:?}");
        assert!(ratio.excludes(1.0) && !ratio.excludes(1.1000000001_f64.min(high)));
        assert!(!Estimate { interval: None, ..ratio }.excludes(1.0));
    }

    #[test]
    fn the_median_needs_no_order() {
        assert_eq!(median_in(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median_in(&mut [4.0, 1.0, 3.0, 2.0]), 2.5);
    }
}
