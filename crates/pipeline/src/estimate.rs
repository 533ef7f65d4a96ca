//! Figures of the time of a frame, with intervals.

use serde::Serialize;
use tactus_model::time::Nanos;
use tactus_stats::histogram::nearest_rank;
use tactus_stats::{UnseenBound, percentile_curve};

/// The quantiles of the time of a frame that are reported.
pub const QUANTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

/// A quantile with a range that contains the true one in 95 of 100 repetitions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Estimate {
    /// Its value.
    pub value: Nanos,
    /// The lower end of its interval.
    pub low: Nanos,
    /// The upper end of its interval.
    pub high: Nanos,
}

/// The share of frames that miss their budget.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Chance {
    /// The share, 0 to 1.
    pub share: f64,
    /// The lower end of its interval.
    pub low: f64,
    /// The upper end of its interval.
    pub high: f64,
    /// The bound if no frame missed its budget.
    pub unseen: Option<UnseenBound>,
}

/// Durations in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sorted(Vec<Nanos>);

impl Sorted {
    pub(crate) fn of(durations: impl IntoIterator<Item = Nanos>) -> Self {
        let mut sorted: Vec<Nanos> = durations.into_iter().collect();
        sorted.sort_unstable();
        Self(sorted)
    }

    /// A quantile by the nearest rank; zero without durations.
    pub(crate) fn quantile(&self, quantile: f64) -> Nanos {
        let rank = nearest_rank(quantile, self.0.len() as u64);
        let index = usize::try_from(rank.saturating_sub(1)).unwrap_or(usize::MAX);
        self.0.get(index).copied().unwrap_or_default()
    }

    /// The points of a percentile curve.
    pub(crate) fn curve(&self) -> Vec<(f64, Nanos)> {
        percentile_curve(&self.0.iter().copied().collect())
    }

    /// The share above a limit.
    pub(crate) fn share_above(&self, limit: Nanos) -> f64 {
        let within = self.0.partition_point(|duration| *duration <= limit);
        (self.0.len() - within) as f64 / self.0.len().max(1) as f64
    }
}

/// The 95 % range of values of repetitions.
fn range<T: Copy + PartialOrd>(mut values: Vec<T>) -> Option<[T; 2]> {
    values.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    let last = values.len().checked_sub(1)?;
    let at = |share: f64| values[(share * last as f64).round() as usize];
    Some([at(0.025), at(0.975)])
}

/// The quantiles of [`QUANTILES`], with intervals from repetitions.
pub(crate) fn quantiles(whole: &Sorted, repetitions: &[Sorted]) -> Vec<Estimate> {
    let of = |quantile: &f64| {
        let value = whole.quantile(*quantile);
        let repeated = repetitions.iter().map(|frames| frames.quantile(*quantile)).collect();
        let [low, high] = range(repeated).unwrap_or([value; 2]);
        Estimate { value, low: low.min(value), high: high.max(value) }
    };
    QUANTILES.iter().map(of).collect()
}

/// The chance of a miss, with an interval from repetitions; `trials` independent frames or samples
/// bound what did not occur.
pub(crate) fn chance(
    whole: &Sorted,
    repetitions: &[Sorted],
    budget: Nanos,
    trials: usize,
) -> Chance {
    let share = whole.share_above(budget);
    let repeated = repetitions.iter().map(|frames| frames.share_above(budget)).collect();
    let [low, high] = range(repeated).unwrap_or([share; 2]);
    let unseen = (share == 0.0).then(|| UnseenBound::after(trials as u64)).flatten();
    Chance { share, low: low.min(share), high: high.max(share), unseen }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_and_shares_of_a_hundred() {
        let sorted = Sorted::of((1..=100).rev().map(Nanos::from_micros));
        assert_eq!(sorted.quantile(0.5), Nanos::from_micros(50));
        assert_eq!(sorted.quantile(0.99), Nanos::from_micros(99));
        assert_eq!(sorted.share_above(Nanos::from_micros(95)), 0.05);
        assert_eq!(Sorted::default().quantile(0.5), Nanos::ZERO);
    }

    #[test]
    fn a_chance_of_nothing_has_a_bound() {
        let sorted = Sorted::of([Nanos::from_micros(1); 10]);
        let found = chance(&sorted, &[], Nanos::from_micros(2), 300);
        assert_eq!(found.unseen.map(|bound| bound.rate), Some(0.01));
        assert_eq!(chance(&sorted, &[], Nanos::ZERO, 300).unseen, None);
    }
}
