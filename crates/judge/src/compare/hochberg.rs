//! Adjustment of p-values for multiple comparisons.

/// Adjusts the p-values of several tests, so that the probability of any false alarm
/// among those at or below α is at most α.
///
/// Y. Hochberg, *A sharper Bonferroni procedure for multiple tests of significance*
/// (1988). It is more powerful than Holm's method, and valid if the tests are not
/// negatively dependent. Quantiles of one cell are not: they rise and fall together.
pub(crate) fn adjusted(chances: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..chances.len()).collect();
    order.sort_by(|a, b| chances[*b].total_cmp(&chances[*a]));
    let mut adjusted = vec![0.0; chances.len()];
    let mut least = 1.0_f64;
    for (greater, place) in order.into_iter().enumerate() {
        least = least.min(chances[place] * (greater + 1) as f64);
        adjusted[place] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(chances: &[f64], expected: &[f64]) {
        let found = adjusted(chances);
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
        }
    }

    #[test]
    fn each_p_value_is_multiplied_by_its_rank_from_the_greatest() {
        check(&[0.01, 0.04, 0.03, 0.005], &[0.03, 0.04, 0.04, 0.02]);
        check(&[0.04, 0.045], &[0.045, 0.045]);
        check(&[0.7, 0.8], &[0.8, 0.8]);
        check(&[0.02], &[0.02]);
        check(&[], &[]);
    }
}
