//! Whether excesses are distributed as the fitted distribution says.
//!
//! The statistic of Anderson and Darling, which looks at the ends more than at the
//! middle; V. Choulakian and M. A. Stephens, *Goodness-of-fit tests for the generalized
//! Pareto distribution*, Technometrics 43, 2001, tell how it is distributed where both
//! parameters are fitted: it depends on the shape, and hardly on the number of excesses.
//! The critical values here are our own, of our own fit: `cargo xtask coverage goodness`.

use super::pareto::GeneralisedPareto;

/// Shapes, and what the statistic exceeds in 1 % of samples of a distribution of that
/// shape when both parameters are fitted: 10 000 samples of 200 excesses each. At the
/// limits of the shape the neighbours' course is followed, since a fit that is held
/// there is farther from its samples.
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

/// The statistic of excesses under a distribution; greater where they fit worse.
pub fn anderson_darling(excesses: &[f64], tail: GeneralisedPareto) -> f64 {
    let mut beyond: Vec<f64> =
        excesses.iter().map(|excess| tail.log_chance_beyond(*excess)).collect();
    // Descending chances beyond are ascending excesses.
    beyond.sort_unstable_by(|a, b| b.total_cmp(a));
    let count = beyond.len();
    let weighted = (0..count).map(|nth| {
        // The chance below is never zero, or its logarithm would not be a number.
        let below = (-beyond[nth].exp_m1()).max(1e-12).ln();
        (2 * nth + 1) as f64 * (below + beyond[count - 1 - nth].max(-1e3))
    });
    -(count as f64) - weighted.sum::<f64>() / count as f64
}

/// What the statistic of excesses that do fit exceeds in 1 of 100 samples.
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
    fn critical_values_between_and_beyond_the_rows_follow_them() {
        let between = critical(0.15);
        assert!(critical(0.2) < between && between < critical(0.1), "{between}");
        assert_eq!((critical(-3.0), critical(3.0)), (critical(-0.5), critical(1.0)));
    }

    /// The share of samples that are said not to fit.
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
    fn what_fits_is_seldom_refused_and_what_does_not_often() {
        for shape in [-0.2, 0.0, 0.4] {
            let tail = GeneralisedPareto { shape, scale: 2.0 };
            let share = refused(|draw| tail.exceeded_with(draw.uniform()));
            assert!(share < 0.04, "{shape}: {share}");
        }
        // Two causes: most excesses small, a fifth of them around ten times as much.
        let share = refused(|draw| match draw.uniform() < 0.2 {
            true => 10.0 + draw.normal().abs(),
            false => -draw.uniform().ln(),
        });
        assert!(share > 0.8, "{share}");
    }
}
