//! The goodness of fit of the excesses.
//!
//! The Anderson-Darling statistic, which gives more weight to the tails than to the middle. V.
//! Choulakian and M. A. Stephens, *Goodness-of-fit tests for the generalized Pareto
//! distribution*, Technometrics 43, 2001, give its distribution with both parameters fitted: it
//! depends on the shape, and hardly on the number of excesses. The critical values here were
//! computed for this fit: `cargo xtask coverage goodness`.

use super::pareto::GeneralisedPareto;

/// Shapes, with the 99th percentile of the statistic under a distribution of that shape with
/// both parameters fitted: 10 000 samples of 200 excesses each. At the limits of the shape, the
/// trend of the neighbouring values is extrapolated, since a fit that is constrained there is
/// farther from its samples.
const CRITICAL: [(f64, f64); 16] = [
    (-0.5, 1.760),
    (-0.4, 1.664),
    (-0.3, 1.571),
    (-0.2, 1.503),
    (-0.1, 1.459),
    (0.0, 1.393),
    (0.1, 1.346),
    (0.2, 1.304),
    (0.3, 1.255),
    (0.4, 1.218),
    (0.5, 1.189),
    (0.6, 1.148),
    (0.7, 1.118),
    (0.8, 1.105),
    (0.9, 1.095),
    (1.0, 1.085),
];

/// The statistic of excesses under a distribution; larger for a worse fit.
pub fn anderson_darling(excesses: &[f64], tail: GeneralisedPareto) -> f64 {
    let mut beyond: Vec<f64> =
        excesses.iter().map(|excess| tail.log_chance_beyond(*excess)).collect();
    // Descending probabilities are ascending excesses.
    beyond.sort_unstable_by(|a, b| b.total_cmp(a));
    let count = beyond.len();
    let weighted = (0..count).map(|nth| {
        // The probability is never zero, since its logarithm would not be finite.
        let below = (-beyond[nth].exp_m1()).max(1e-12).ln();
        (2 * nth + 1) as f64 * (below + beyond[count - 1 - nth].max(-1e3))
    });
    -(count as f64) - weighted.sum::<f64>() / count as f64
}

/// The critical value at 1 % significance.
pub fn critical(shape: f64) -> f64 {
    let after = CRITICAL.partition_point(|(tabled, _)| *tabled < shape);
    let (Some(low), high) = (CRITICAL.get(after.saturating_sub(1)), CRITICAL.get(after)) else {
        return CRITICAL[0].1;
    };
    let high = high.unwrap_or(low);
    let width = high.0 - low.0;
    if width <= 0.0 { low.1 } else { low.1 + (high.1 - low.1) * (shape - low.0) / width }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Draw;

    #[test]
    fn critical_values_are_interpolated_and_extrapolated() {
        let between = critical(0.15);
        assert!(critical(0.2) < between && between < critical(0.1), "{between}");
        assert_eq!((critical(-3.0), critical(3.0)), (critical(-0.5), critical(1.0)));
    }

    /// The share of samples that are rejected.
    fn refused(excess: impl Fn(&mut Draw) -> f64) -> f64 {
        let mut draw = Draw::new(2);
        let refused = (0..400).filter(|_| {
            let excesses: Vec<f64> = (0..200).map(|_| excess(&mut draw)).collect();
            let fit = GeneralisedPareto::fit(&excesses);
            anderson_darling(&excesses, fit) > critical(fit.shape)
        });
        refused.count() as f64 / 400.0
    }

    #[test]
    fn good_fits_are_rarely_rejected_and_bad_fits_often() {
        for shape in [-0.2, 0.0, 0.4] {
            let tail = GeneralisedPareto { shape, scale: 2.0 };
            let share = refused(|draw| tail.exceeded_with(draw.uniform()));
            assert!(share < 0.04, "{shape}: {share}");
        }
        // Two causes: most excesses are small, a fifth of them about ten times as large.
        let share = refused(|draw| match draw.uniform() < 0.2 {
            true => 10.0 + draw.normal().abs(),
            false => -draw.uniform().ln(),
        });
        assert!(share > 0.8, "{share}");
    }
}
