//! Whether the figures of seeds under one kernel are greater than under another.
//!
//! The rank-sum test of Wilcoxon (1945) and of Mann and Whitney (1947), exact: the
//! probabilities are counted over all assignments of the values to the two sides, so ties
//! and few seeds need no approximation. It assumes no distribution of tails, only that
//! under equal kernels the seeds of both sides are interchangeable.

/// The one-sided p-values of `b` being greater, and being less, than `a`.
///
/// Differences up to `allowed` do not count: each test first moves `b` by that much towards
/// `a`.
pub(super) fn chances(a: &[f64], b: &[f64], allowed: f64) -> Chances {
    let moved = |by: f64| -> Vec<f64> { b.iter().map(|value| value + by).collect() };
    let [above, _] = one_sided(a, &moved(-allowed));
    let [_, below] = one_sided(a, &moved(allowed));
    Chances { above, below }
}

/// The one-sided p-values of a rank sum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Chances {
    above: f64,
    below: f64,
}

impl Chances {
    /// The two-sided p-value.
    pub(super) fn either(self) -> f64 {
        (2.0 * self.above.min(self.below)).min(1.0)
    }

    /// Whether the p-value for greater is the smaller one.
    pub(super) fn is_above(self) -> bool {
        self.above < self.below
    }
}

/// The least possible p-value with `a` and `b` seeds, when the values of the two sides do not
/// overlap.
pub(super) fn least_chance(a: usize, b: usize) -> f64 {
    2.0 / ways(a, b)
}

/// The number of assignments of `a + b` values to sides of `a` and `b`.
fn ways(a: usize, b: usize) -> f64 {
    (1..=b).fold(1.0, |ways, taken| ways * (a + taken) as f64 / taken as f64)
}

/// The probabilities that the rank sum of `b` is at least, and at most, the observed one.
fn one_sided(a: &[f64], b: &[f64]) -> [f64; 2] {
    let values: Vec<f64> = a.iter().chain(b).copied().collect();
    let ranks = doubled_ranks(&values);
    let found: usize = ranks[a.len()..].iter().sum();
    let sums = rank_sums(&ranks, b.len());
    let all: f64 = sums.iter().sum();
    let share = |sums: &[f64]| sums.iter().sum::<f64>() / all;
    [share(&sums[found..]), share(&sums[..=found])]
}

/// Twice the rank of each value, so that ties have whole numbers.
fn doubled_ranks(values: &[f64]) -> Vec<usize> {
    values
        .iter()
        .map(|value| {
            let less = values.iter().filter(|other| *other < value).count();
            let equal = values.iter().filter(|other| *other == value).count();
            2 * less + equal + 1
        })
        .collect()
}

/// The number of ways in which `taken` of these ranks add up to each sum.
///
/// As f64, because the number of ways for fifty seeds on each side exceeds a u64; the
/// rounding error of a p-value is below 10⁻¹⁴.
fn rank_sums(ranks: &[usize], taken: usize) -> Vec<f64> {
    let most: usize = ranks.iter().sum();
    let mut ways = vec![vec![0.0; most + 1]; taken + 1];
    ways[0][0] = 1.0;
    for &rank in ranks {
        // In descending order, so that no rank is used twice.
        for count in (1..=taken).rev() {
            let (fewer, more) = ways.split_at_mut(count);
            let (from, to) = (&fewer[count - 1], &mut more[0]);
            to[rank..].iter_mut().zip(from).for_each(|(to, from)| *to += from);
        }
    }
    ways.swap_remove(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(a: &[f64], b: &[f64], allowed: f64, above: f64, below: f64) {
        let found = chances(a, b, allowed);
        let near = |found: f64, expected: f64| (found - expected).abs() < 1e-12;
        assert!(near(found.above, above) && near(found.below, below), "{a:?} {b:?}: {found:?}");
    }

    #[test]
    fn p_values_equal_the_published_tables() {
        // Of the 20 assignments of six values, one has the highest sum.
        check(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0], 0.0, 1.0 / 20.0, 1.0);
        check(&[4.0, 5.0, 6.0], &[1.0, 2.0, 3.0], 0.0, 1.0, 1.0 / 20.0);
        // Mann and Whitney (1947), table for n = 4, m = 3: U = 2 has the probability 0.114.
        check(&[1.0, 2.0, 3.0, 6.0], &[4.0, 5.0, 7.0], 0.0, 4.0 / 35.0, 33.0 / 35.0);
        assert_eq!(least_chance(3, 3), 0.1);
        assert_eq!(least_chance(10, 10), 2.0 / 184_756.0);
    }

    #[test]
    fn equal_values_show_no_difference() {
        check(&[5.0; 4], &[5.0; 4], 0.0, 1.0, 1.0);
        assert_eq!(chances(&[5.0; 4], &[5.0; 4], 0.0).either(), 1.0);
    }

    #[test]
    fn an_allowed_difference_does_not_count() {
        let (a, b) = ([10.0, 11.0, 12.0], [13.0, 14.0, 15.0]);
        assert!(chances(&a, &b, 0.0).is_above());
        assert_eq!(chances(&a, &b, 0.0).either(), 0.1);
        assert!(chances(&a, &b, 3.0).either() > 0.9);
    }

    #[test]
    fn fifty_seeds_each_are_counted_without_overflow() {
        let a: Vec<f64> = (0..50).map(f64::from).collect();
        let b: Vec<f64> = (0..50).map(|value| f64::from(value) + 0.5).collect();
        let found = chances(&a, &b, 0.0);
        assert!((0.3..0.5).contains(&found.above), "{found:?}");
    }
}
