//! Whether what seeds gave under one kernel lies above what they gave under another.
//!
//! The rank-sum test of Wilcoxon (1945) and of Mann and Whitney (1947), with the chances
//! counted over all ways to deal the values out to the two sides, so that ties and few
//! seeds need no approximation. It supposes nothing of how tails are distributed, only
//! that under kernels that are alike any seed might have been the other's.

/// The chances, each alone, of values of `b` lying so far above, and so far below, those
/// of `a` where both are alike.
///
/// A difference of up to `allowed` counts as none: `b` is moved by that much towards `a`
/// before it is asked whether it lies above, and likewise before it is asked whether it
/// lies below.
pub(super) fn chances(a: &[f64], b: &[f64], allowed: f64) -> Chances {
    let moved = |by: f64| -> Vec<f64> { b.iter().map(|value| value + by).collect() };
    let [above, _] = one_sided(a, &moved(-allowed));
    let [_, below] = one_sided(a, &moved(allowed));
    Chances { above, below }
}

/// The chances of a rank sum as high, and as low, as that found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Chances {
    above: f64,
    below: f64,
}

impl Chances {
    /// The chance of lying so far to either side.
    pub(super) fn either(self) -> f64 {
        (2.0 * self.above.min(self.below)).min(1.0)
    }

    /// Whether it is the upper side that is the less likely by chance.
    pub(super) fn is_above(self) -> bool {
        self.above < self.below
    }
}

/// The least chance that so many seeds of each side can give, when no value of one side
/// reaches those of the other.
pub(super) fn least_chance(a: usize, b: usize) -> f64 {
    2.0 / ways(a, b)
}

/// In how many ways `a + b` values can be dealt out to sides of `a` and `b`.
fn ways(a: usize, b: usize) -> f64 {
    (1..=b).fold(1.0, |ways, taken| ways * (a + taken) as f64 / taken as f64)
}

/// The chances of the rank sum of `b` being at least, and at most, what it is.
fn one_sided(a: &[f64], b: &[f64]) -> [f64; 2] {
    let values: Vec<f64> = a.iter().chain(b).copied().collect();
    let ranks = doubled_ranks(&values);
    let found: usize = ranks[a.len()..].iter().sum();
    let sums = rank_sums(&ranks, b.len());
    let all: f64 = sums.iter().sum();
    let share = |sums: &[f64]| sums.iter().sum::<f64>() / all;
    [share(&sums[found..]), share(&sums[..=found])]
}

/// Twice the rank of each value, so that those that share a place have whole numbers.
fn doubled_ranks(values: &[f64]) -> Vec<usize> {
    values
        .iter()
        .map(|value| {
            let less = values.iter().filter(|other| *other < value).count();
            let alike = values.iter().filter(|other| *other == value).count();
            2 * less + alike + 1
        })
        .collect()
}

/// In how many ways `taken` of these ranks come to each sum.
///
/// As an f64, since the ways of fifty seeds each are more than a u64 holds; what is
/// rounded is below 10⁻¹⁴ of a chance.
fn rank_sums(ranks: &[usize], taken: usize) -> Vec<f64> {
    let most: usize = ranks.iter().sum();
    let mut ways = vec![vec![0.0; most + 1]; taken + 1];
    ways[0][0] = 1.0;
    for &rank in ranks {
        // From above, so that no rank is taken twice.
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
    fn chances_are_those_of_the_tables() {
        // Of the 20 ways to deal six values out, one gives the highest sum.
        check(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0], 0.0, 1.0 / 20.0, 1.0);
        check(&[4.0, 5.0, 6.0], &[1.0, 2.0, 3.0], 0.0, 1.0, 1.0 / 20.0);
        // Mann and Whitney (1947), table for n = 4, m = 3: U = 2 has the chance 0.114.
        check(&[1.0, 2.0, 3.0, 6.0], &[4.0, 5.0, 7.0], 0.0, 4.0 / 35.0, 33.0 / 35.0);
        assert_eq!(least_chance(3, 3), 0.1);
        assert_eq!(least_chance(10, 10), 2.0 / 184_756.0);
    }

    #[test]
    fn values_that_are_all_the_same_differ_in_nothing() {
        check(&[5.0; 4], &[5.0; 4], 0.0, 1.0, 1.0);
        assert_eq!(chances(&[5.0; 4], &[5.0; 4], 0.0).either(), 1.0);
    }

    #[test]
    fn a_difference_that_is_allowed_is_none() {
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
