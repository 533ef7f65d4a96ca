//! Where the level of a series of figures changed.
//!
//! The method is E-divisive: Matteson and James, *A Nonparametric Approach for Multiple Change Point
//! Analysis of Multivariate Data*, Journal of the American Statistical Association 109 (2014). It
//! compares the values on both sides of a candidate by their energy distance, which assumes no
//! distribution, and accepts the best candidate if few random orders of the same values have one as
//! good; then it searches both parts. Daly et al., *The Use of Change Point Detection to Identify
//! Software Performance Regressions in a Continuous Integration System* (ICPE 2020), describe its use
//! for figures of performance.

use std::ops::Range;

use tactus_model::random::SplitMix64;

use crate::median::median_of;

/// The fewest values between two changes: fewer say nothing about a level.
pub const SEGMENT_MIN: usize = 5;

/// The number of random orders a candidate is compared with.
pub const PERMUTATIONS: u32 = 199;

/// The chance that a series without a change appears to have one, per tested candidate.
pub const ERROR_RATE: f64 = 0.01;

/// The longest series: the time grows with the square of the length.
pub const VALUES_MAX: usize = 400;

/// A stretch of a series without a change.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// The indices of its values.
    pub values: Range<usize>,
    /// Their median.
    pub median: f64,
}

/// Divides a series into stretches between changes, in order; one stretch if nothing changed, none
/// if there are no values. Random orders are drawn from `seed`.
///
/// Ratios matter for durations, so pass their logarithms.
///
/// # Panics
/// There are more than [`VALUES_MAX`] values.
pub fn levels(values: &[f64], seed: u64) -> Vec<Level> {
    assert!(values.len() <= VALUES_MAX, "a series has at most {VALUES_MAX} values");
    let mut random = SplitMix64::new(seed);
    let mut bounds = vec![0];
    divide(values, 0, &mut random, &mut bounds);
    bounds.push(values.len());
    bounds
        .windows(2)
        .filter_map(|ends| {
            let stretch = ends[0]..ends[1];
            let median = median_of(values[stretch.clone()].iter().copied())?;
            Some(Level { values: stretch, median })
        })
        .collect()
}

/// Adds the changes within `values`, which begin at `offset`, in ascending order.
fn divide(values: &[f64], offset: usize, random: &mut SplitMix64, changes: &mut Vec<usize>) {
    let Some((change, distance)) = best_division(values) else { return };
    if !is_significant(values, distance, random) {
        return;
    }
    divide(&values[..change], offset, random, changes);
    changes.push(offset + change);
    divide(&values[change..], offset + change, random, changes);
}

/// Whether at most [`ERROR_RATE`] of all orders, the given one included, have as good a division.
fn is_significant(values: &[f64], distance: f64, random: &mut SplitMix64) -> bool {
    let allowed = (ERROR_RATE * f64::from(PERMUTATIONS + 1)) as u32 - 1;
    let mut shuffled = values.to_vec();
    let mut as_good = 0;
    for _ in 0..PERMUTATIONS {
        random.shuffle(&mut shuffled);
        let found = best_division(&shuffled).is_some_and(|(_, found)| found >= distance);
        as_good += u32::from(found);
        if as_good > allowed {
            return false;
        }
    }
    true
}

/// The division with the largest scaled energy distance between its parts: the index where the
/// second part begins, and the distance. `None` if the values are too few to be divided.
///
/// Equation 7 of Matteson and James, with the exponent 1.
fn best_division(values: &[f64]) -> Option<(usize, f64)> {
    let distance = |from: f64, others: &[f64]| -> f64 {
        others.iter().map(|other| (from - other).abs()).sum()
    };
    // The sums of the distances between pairs within the first part, within the second, and across.
    let (mut first, mut second, mut across) = (0.0, 0.0, 0.0);
    for (index, value) in values.iter().enumerate() {
        second += distance(*value, &values[..index]);
    }
    let mut best = None;
    for division in 1..values.len() {
        let moved = values[division - 1];
        let to_first = distance(moved, &values[..division - 1]);
        let to_second = distance(moved, &values[division..]);
        first += to_first;
        second -= to_second;
        across += to_second - to_first;
        let (n, m) = (division, values.len() - division);
        if n < SEGMENT_MIN || m < SEGMENT_MIN {
            continue;
        }
        let (n, m) = (n as f64, m as f64);
        let energy =
            2.0 * across / (n * m) - 2.0 * first / (n * (n - 1.0)) - 2.0 * second / (m * (m - 1.0));
        let scaled = energy * n * m / (n + m);
        if best.is_none_or(|(_, found)| scaled > found) {
            best = Some((division, scaled));
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Noise of ±10 % around 1, as logarithms, with a tail of large values.
    fn noise(count: usize, seed: u64) -> Vec<f64> {
        let mut random = SplitMix64::new(seed);
        let value = |random: &mut SplitMix64| {
            let body = random.below(200) as f64 / 1000.0 - 0.1;
            let tail = if random.below(20) == 0 { 1.0 } else { 0.0 };
            body + tail
        };
        (0..count).map(|_| value(&mut random)).collect()
    }

    fn bounds(values: &[f64]) -> Vec<usize> {
        levels(values, 1).iter().map(|level| level.values.end).collect()
    }

    #[test]
    fn a_planted_change_is_found_where_it_is() {
        for seed in 0..20 {
            let mut values = noise(60, seed);
            values[35..].iter_mut().for_each(|value| *value += 0.7);
            let found = bounds(&values);
            assert_eq!(found.len(), 2, "seed {seed}: {found:?}");
            assert!(found[0].abs_diff(35) <= 2, "seed {seed}: {found:?}");
        }
    }

    #[test]
    fn a_change_and_a_return_are_both_found() {
        let mut values = noise(90, 3);
        values[30..60].iter_mut().for_each(|value| *value -= 0.9);
        let found = bounds(&values);
        assert_eq!(found.len(), 3, "{found:?}");
        let levels = levels(&values, 1);
        assert!(levels[1].median < levels[0].median && levels[1].median < levels[2].median);
    }

    #[test]
    fn a_series_without_a_change_seldom_has_one() {
        let wrong = (0..100).filter(|seed| bounds(&noise(50, 1000 + seed)).len() > 1).count();
        // With a chance of 1 % each, more than 6 of 100 come once in a thousand tests, and these
        // seeds are fixed.
        assert!(wrong <= 6, "{wrong} of 100 series");
    }

    #[test]
    fn few_or_equal_values_have_no_change() {
        assert_eq!(bounds(&[]), [0; 0]);
        assert_eq!(bounds(&[1.0, 9.0, 1.0, 9.0]), [4]);
        assert_eq!(bounds(&[2.0; 40]), [40]);
    }

    proptest! {
        #[test]
        fn levels_cover_the_series_in_order(
            values in prop::collection::vec(-5.0..5.0, 0..60),
            seed in any::<u64>(),
        ) {
            let found = levels(&values, seed);
            let mut next = 0;
            for level in &found {
                prop_assert_eq!(level.values.start, next);
                prop_assert!(level.values.len() >= SEGMENT_MIN.min(values.len()));
                next = level.values.end;
            }
            prop_assert_eq!(next, values.len());
        }

        #[test]
        fn the_division_is_that_of_the_definition(values in prop::collection::vec(-5.0..5.0, 10..30)) {
            let pairs = |part: &[f64]| -> f64 {
                let all: f64 = part.iter().flat_map(|a| part.iter().map(move |b: &f64| (a - b).abs())).sum();
                all / (part.len() * (part.len() - 1)) as f64
            };
            let statistic = |division: usize| {
                let (x, y) = values.split_at(division);
                let across: f64 = x.iter().flat_map(|a| y.iter().map(move |b: &f64| (a - b).abs())).sum();
                let (n, m) = (x.len() as f64, y.len() as f64);
                n * m / (n + m) * (2.0 * across / (n * m) - pairs(x) - pairs(y))
            };
            let best = (SEGMENT_MIN..=values.len() - SEGMENT_MIN)
                .map(statistic)
                .fold(f64::NEG_INFINITY, f64::max);
            let (_, found) = best_division(&values).unwrap();
            prop_assert!((found - best).abs() < 1e-9, "{} is not {}", found, best);
        }
    }
}
