//! False alarms of several tests at once.

/// Adjusts the p-values of tests that are made together, so that those at or below
/// α hold a single false alarm with a chance of at most α.
///
/// S. Holm, *A simple sequentially rejective multiple test procedure* (1979). It
/// holds however the tests depend on each other, as quantiles of one cell do.
pub(crate) fn adjusted(chances: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..chances.len()).collect();
    order.sort_by(|a, b| chances[*a].total_cmp(&chances[*b]));
    let mut adjusted = vec![0.0; chances.len()];
    let mut greatest = 0.0_f64;
    for (rank, place) in order.into_iter().enumerate() {
        let remaining = (chances.len() - rank) as f64;
        greatest = greatest.max(chances[place] * remaining).min(1.0);
        adjusted[place] = greatest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_multiplied_by_those_that_remain_and_none_overtakes() {
        let found = adjusted(&[0.01, 0.04, 0.03, 0.005]);
        let expected = [0.03, 0.06, 0.06, 0.02];
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
        }
        assert_eq!(adjusted(&[0.7, 0.8]), [1.0, 1.0]);
        assert!(adjusted(&[]).is_empty());
    }
}
