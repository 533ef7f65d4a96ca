//! The mean of paired differences, with its interval.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The mean of paired differences and its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PairedDifference {
    /// The mean of the differences.
    pub mean: f64,
    /// The lower end of its interval.
    pub low: f64,
    /// The upper end of its interval.
    pub high: f64,
    /// The number of pairs.
    pub pairs: u64,
}

impl PairedDifference {
    /// Takes the differences of all pairs; `None` with fewer than two pairs, since their
    /// variance is then unknown.
    ///
    /// The interval is Student's (*The probable error of a mean*, Biometrika 6, 1908), for
    /// approximately normal differences. With few pairs it is wide, as it must be.
    pub fn of(differences: &[f64]) -> Option<Self> {
        let pairs = differences.len();
        if pairs < 2 {
            return None;
        }
        let count = pairs as f64;
        let mean = differences.iter().sum::<f64>() / count;
        let squares: f64 = differences.iter().map(|difference| (difference - mean).powi(2)).sum();
        let standard_error = (squares / (count - 1.0) / count).sqrt();
        let half = student_95(pairs - 1) * standard_error;
        Some(Self { mean, low: mean - half, high: mean + half, pairs: pairs as u64 })
    }
}

/// The two-sided 95 % quantile of Student's t, by degrees of freedom; infinite for none.
pub(crate) fn student_95(freedom: usize) -> f64 {
    StudentsT::new(0.0, 1.0, freedom as f64)
        .map_or(f64::INFINITY, |student| student.inverse_cdf(0.975))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_pair_gives_no_interval() {
        assert_eq!(PairedDifference::of(&[]), None);
        assert_eq!(PairedDifference::of(&[3.0]), None);
    }

    #[test]
    fn the_interval_is_students() {
        // A worked example: mean 3, standard deviation √2.5, five pairs, t = 2.776.
        let found = PairedDifference::of(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert!((found.mean - 3.0).abs() < 1e-12);
        assert!((found.high - (3.0 + 2.776 * 0.5_f64.sqrt())).abs() < 1e-3, "{found:?}");
        assert!((found.mean - found.low - (found.high - found.mean)).abs() < 1e-12);
    }

    #[test]
    fn critical_values_are_those_of_the_tables() {
        let tabled =
            [(1, 12.706), (2, 4.303), (4, 2.776), (30, 2.042), (120, 1.980), (1_000_000, 1.960)];
        for (freedom, tabled) in tabled {
            let found = student_95(freedom);
            assert!((found - tabled).abs() < 6e-4, "{freedom}: {found}, not {tabled}");
        }
        assert_eq!(student_95(0), f64::INFINITY);
    }
}
