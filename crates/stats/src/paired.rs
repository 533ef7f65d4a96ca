//! The mean of paired differences, with its interval.

use serde::Serialize;

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

/// The two-sided 95 % quantile of Student's t, by degrees of freedom.
pub(crate) fn student_95(freedom: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
        2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
        2.052, 2.048, 2.045, 2.042,
    ];
    let normal: f64 = 1.959_964;
    // Beyond the table, the first term of Fisher's expansion is accurate to three digits.
    let beyond = || normal + (normal.powi(3) + normal) / (4.0 * freedom as f64);
    freedom.checked_sub(1).and_then(|index| TABLE.get(index)).copied().unwrap_or_else(beyond)
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
        assert!((found.high - (3.0 + 2.776 * 0.5_f64.sqrt())).abs() < 1e-9, "{found:?}");
        assert!((found.mean - found.low - (found.high - found.mean)).abs() < 1e-12);
    }

    #[test]
    fn the_expansion_continues_the_table() {
        assert!((student_95(31) - 2.040).abs() < 0.005, "{}", student_95(31));
        assert!((student_95(1_000_000) - 1.96).abs() < 0.001);
    }
}
