//! How the cost of an operation grows with its size: `a + b·N`, a fixed cost and one per byte.
//!
//! The line has the least squares of *relative* residuals, since costs span orders of magnitude and
//! the largest sizes would determine a fit by absolute ones. Its intervals are those of a bootstrap
//! over processes.
//!
//! A line through points that lie on none still has coefficients, so each is tested: the F test of
//! lack of fit (N. R. Draper and H. Smith, *Applied Regression Analysis*, 3rd edition, 1998, section
//! 2.1) compares the residuals of sizes with how processes of the same size differ. Both are robust:
//! the cost at a size is the median of its processes, and their spread the median absolute deviation.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, FisherSnedecor};
use tactus_model::bytes::Bytes;

use super::resample::{Estimate, Resamples, estimate};
use crate::median::{deviation, median_of};

/// The chance of a line's residuals, if it were true, below which it is rejected.
const CHANCE_MIN: f64 = 0.01;
/// A line that misses no size by more than this is kept whatever the test says: with quiet
/// processes, the test finds deviations that matter to nobody.
const RESIDUAL_KEPT: f64 = 0.05;
/// A line that misses a size by more than this is not used whatever the test says: with processes
/// that differ this much, the test rejects nothing.
const RESIDUAL_MAX: f64 = 0.2;
/// The variance of a median of many normal values, relative to that of their mean: π/2.
const MEDIAN_VARIANCE: f64 = std::f64::consts::FRAC_PI_2;
/// The least number of sizes for two lines: with four, each line fits its two sizes exactly.
const SIZES_MIN: usize = 5;

/// The costs at a size, one of each process, in nanoseconds per operation, and the resamples of their
/// median.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AtSize {
    pub(super) size: Bytes,
    pub(super) costs: Vec<f64>,
    pub(super) resamples: Resamples,
}

/// How a cost grows with size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "shape", rename_all = "kebab-case")]
pub enum Growth {
    /// By one line.
    Line(Line),
    /// By one line up to a size and by another beyond it.
    Broken {
        /// The size at which the lines meet, or the middle of the gap between them.
        at: Bytes,
        /// The line below.
        below: Line,
        /// The line above.
        above: Line,
    },
    /// By no line, and not by two.
    Neither {
        /// The greatest relative residual of the line that fits best.
        residual: f64,
    },
    /// The processes differ too much: the line that fits best misses a size by far, and the test does
    /// not reject it.
    Unclear {
        /// Its greatest relative residual.
        residual: f64,
    },
}

/// A fixed cost and a cost per byte.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Line {
    /// The value at size zero, in nanoseconds: the fixed cost, or of the second of two lines only a
    /// coefficient, which can be negative.
    pub fixed_ns: Estimate,
    /// The cost of a byte, in nanoseconds.
    pub per_byte_ns: Estimate,
    /// The number of sizes; a line through two has no residual.
    pub sizes: usize,
    /// The greatest relative residual: of the cost at a size from the line.
    pub residual: f64,
    /// The chance of such residuals if the line is true; `None` if that cannot be tested (two
    /// sizes, or processes that do not differ at all).
    pub chance: Option<f64>,
}

impl Line {
    /// Bytes per second at large sizes; `None` if bytes cost nothing.
    pub fn rate(&self) -> Option<f64> {
        (self.per_byte_ns.value > 0.0).then(|| 1e9 / self.per_byte_ns.value)
    }

    fn is_rejected(&self) -> bool {
        self.residual > RESIDUAL_KEPT && self.chance.is_none_or(|chance| chance < CHANCE_MIN)
    }

    fn is_kept(&self) -> bool {
        !self.is_rejected() && self.residual <= RESIDUAL_MAX
    }
}

impl Growth {
    /// Fits lines to costs at ascending sizes; `None` with fewer than two.
    pub(super) fn of(points: &[AtSize]) -> Option<Self> {
        let line = fitted(points, Fixed::Cost)?;
        if line.is_kept() {
            return Some(Self::Line(line));
        }
        let residual = line.residual;
        let broken = broken(points).filter(|(below, above, _)| below.is_kept() && above.is_kept());
        Some(match broken {
            Some((below, above, gap)) => {
                Self::Broken { at: meeting(&below, &above, gap), below, above }
            }
            None if line.is_rejected() => Self::Neither { residual },
            None => Self::Unclear { residual },
        })
    }
}

/// What the value of a line at size zero is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fixed {
    /// A cost, so it is not negative.
    Cost,
    /// A value that no size reaches: the line begins at a larger size.
    Extrapolated,
}

/// The two lines with the least squares together, and the sizes between which the first ends.
fn broken(points: &[AtSize]) -> Option<(Line, Line, [Bytes; 2])> {
    if points.len() < SIZES_MIN {
        return None;
    }
    let squares = |points: &[AtSize], fixed: Fixed| -> f64 {
        let centers = centers(points);
        let line = least_squares(&centers, fixed);
        centers.iter().map(|point| residual(line, *point).powi(2)).sum()
    };
    let both = |split: &usize| {
        let (below, above) = points.split_at(*split);
        squares(below, Fixed::Cost) + squares(above, Fixed::Extrapolated)
    };
    let split = (2..=points.len() - 2).min_by(|a, b| both(a).total_cmp(&both(b)))?;
    let (below, above) = points.split_at(split);
    let gap = [below.last()?.size, above.first()?.size];
    Some((fitted(below, Fixed::Cost)?, fitted(above, Fixed::Extrapolated)?, gap))
}

/// The size at which two lines meet, if it lies in the gap between their sizes; else its middle.
fn meeting(below: &Line, above: &Line, gap: [Bytes; 2]) -> Bytes {
    let [low, high] = gap.map(|size| size.get() as f64);
    let steeper = above.per_byte_ns.value - below.per_byte_ns.value;
    let meet = (below.fixed_ns.value - above.fixed_ns.value) / steeper;
    let at = if (low..=high).contains(&meet) { meet } else { (low * high).sqrt() };
    Bytes::new(at.round() as u64)
}

/// The line through the medians of sizes, with intervals and test; `None` with fewer than two
/// sizes, or without costs.
fn fitted(points: &[AtSize], fixed: Fixed) -> Option<Line> {
    let centers = centers(points);
    if centers.len() < 2 || centers.len() < points.len() {
        return None;
    }
    let line = least_squares(&centers, fixed);
    let sides: Vec<&Resamples> = points.iter().map(|point| &point.resamples).collect();
    let of = |which: fn((f64, f64)) -> f64| {
        let drawn = |medians: &[f64]| {
            let drawn: Vec<(f64, f64)> =
                centers.iter().zip(medians).map(|((size, _), cost)| (*size, *cost)).collect();
            which(least_squares(&drawn, fixed))
        };
        estimate(which(line), &sides, drawn)
    };
    let worst = centers.iter().map(|point| residual(line, *point).abs()).fold(0.0, f64::max);
    Some(Line {
        fixed_ns: of(|line| line.0),
        per_byte_ns: of(|line| line.1),
        sizes: points.len(),
        residual: worst,
        chance: chance(points, &centers, line),
    })
}

/// The size and the median cost of each point that has costs.
fn centers(points: &[AtSize]) -> Vec<(f64, f64)> {
    let center = |point: &AtSize| {
        let cost = median_of(point.costs.iter().copied()).filter(|cost| *cost > 0.0)?;
        Some((point.size.get() as f64, cost))
    };
    points.iter().filter_map(center).collect()
}

/// The fixed cost and the cost per byte, which is not negative, with the least squares of relative
/// residuals.
fn least_squares(points: &[(f64, f64)], fixed: Fixed) -> (f64, f64) {
    let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
        points.iter().map(|(size, cost)| of(*size, *cost)).sum()
    };
    let ones = sum(&|_, cost| 1.0 / (cost * cost));
    let sizes = sum(&|size, cost| size / (cost * cost));
    let squares = sum(&|size, cost| size * size / (cost * cost));
    let [shares, rates] = [sum(&|_, cost| 1.0 / cost), sum(&|size, cost| size / cost)];
    let determinant = ones * squares - sizes * sizes;
    let at_zero = (shares * squares - rates * sizes) / determinant;
    let per_byte = (ones * rates - sizes * shares) / determinant;
    match (at_zero < 0.0 && fixed == Fixed::Cost, per_byte < 0.0) {
        (true, _) => (0.0, rates / squares),
        (_, true) => (shares / ones, 0.0),
        _ => (at_zero, per_byte),
    }
}

fn residual((fixed, per_byte): (f64, f64), (size, cost): (f64, f64)) -> f64 {
    (fixed + per_byte * size) / cost - 1.0
}

/// The chance of residuals as large as these if the line is true.
fn chance(points: &[AtSize], centers: &[(f64, f64)], line: (f64, f64)) -> Option<f64> {
    let lack_freedom = centers.len().checked_sub(2).filter(|freedom| *freedom > 0)? as f64;
    let pure_freedom: usize = points.iter().map(|point| point.costs.len() - 1).sum();
    let lack: f64 = points
        .iter()
        .zip(centers)
        .map(|(point, center)| point.costs.len() as f64 * residual(line, *center).powi(2))
        .sum();
    let pure: f64 = points
        .iter()
        .zip(centers)
        .map(|(point, (_, cost))| {
            let spread = deviation(&point.costs, *cost) / cost;
            (point.costs.len() - 1) as f64 * spread * spread
        })
        .sum();
    let pure_freedom = pure_freedom as f64;
    let distribution = FisherSnedecor::new(lack_freedom, pure_freedom).ok()?;
    let ratio = lack / lack_freedom / (MEDIAN_VARIANCE * pure / pure_freedom);
    ratio.is_finite().then(|| distribution.sf(ratio))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five processes at each size that differ by a few per cent.
    fn points(sizes: &[u64], cost: impl Fn(f64) -> f64) -> Vec<AtSize> {
        spread_points(sizes, 0.02, cost)
    }

    /// Five processes at each size that differ by up to this share.
    fn spread_points(sizes: &[u64], spread: f64, cost: impl Fn(f64) -> f64) -> Vec<AtSize> {
        let at = |size: &u64| {
            let center = cost(*size as f64);
            let costs: Vec<f64> = [-0.5, 0.5, 0.0, -1.0, 1.0]
                .iter()
                .map(|place| (1.0 + spread * place) * center)
                .collect();
            let processes: Vec<Vec<f64>> = costs.iter().map(|cost| vec![*cost]).collect();
            AtSize { size: Bytes::new(*size), costs, resamples: Resamples::of(&processes) }
        };
        sizes.iter().map(at).collect()
    }

    const SIZES: [u64; 7] = [64, 1024, 4096, 16 << 10, 64 << 10, 256 << 10, 1 << 20];

    #[test]
    fn a_line_is_found_with_its_intervals() {
        let Some(Growth::Line(line)) = Growth::of(&points(&SIZES, |size| 7900.0 + size / 3.0))
        else {
            panic!("it is a line");
        };
        assert!((line.fixed_ns.value / 7900.0 - 1.0).abs() < 1e-9, "{line:?}");
        assert!((line.rate().unwrap() / 3e9 - 1.0).abs() < 1e-9);
        for (found, truth) in [(line.fixed_ns, 7900.0), (line.per_byte_ns, 1.0 / 3.0)] {
            let [low, high] = found.interval.unwrap();
            assert!(low < truth && truth < high && high / low < 1.2, "{found:?}");
        }
        assert!(line.chance.unwrap() > 0.9 && line.residual < 1e-9);
    }

    #[test]
    fn a_cache_that_is_too_small_breaks_the_line() {
        let cost = |size: f64| 100.0 + size * 0.01 + (size - 100e3).max(0.0) * 0.2;
        let found = Growth::of(&points(&SIZES, cost)).unwrap();
        let Growth::Broken { at, below, above } = found else { panic!("{found:?}") };
        assert!((90_000..110_000).contains(&at.get()), "{at}");
        assert!((below.per_byte_ns.value - 0.01).abs() < 1e-6, "{below:?}");
        assert!((above.per_byte_ns.value - 0.21).abs() < 1e-3, "{above:?}");
    }

    #[test]
    fn what_is_no_line_is_called_so() {
        let wave = |size: f64| if size as u64 % 5 == 4 { 4000.0 } else { 1000.0 };
        let found = Growth::of(&points(&SIZES, wave)).unwrap();
        assert!(matches!(found, Growth::Neither { residual } if residual > 0.3), "{found:?}");
        let few = Growth::of(&points(&SIZES[3..], |size| size.powf(1.7))).unwrap();
        assert!(matches!(few, Growth::Neither { .. }), "four sizes show no break: {few:?}");
    }

    #[test]
    fn processes_that_differ_much_leave_it_unclear() {
        let bent = |size: f64| (1000.0 + size) * (1.0 + 0.6 * (size.ln()).sin());
        let found = Growth::of(&spread_points(&SIZES[..4], 0.9, bent)).unwrap();
        assert!(matches!(found, Growth::Unclear { residual } if residual > 0.2), "{found:?}");
    }

    #[test]
    fn small_deviations_and_two_sizes_are_a_line() {
        let bent = |size: f64| (1000.0 + size) * (1.0 + 0.02 * (size.ln()).sin());
        let found = Growth::of(&points(&SIZES, bent)).unwrap();
        assert!(matches!(found, Growth::Line(line) if line.residual < RESIDUAL_KEPT), "{found:?}");
        let two = Growth::of(&points(&SIZES[..2], |size| 10.0 + size)).unwrap();
        assert!(matches!(two, Growth::Line(Line { chance: None, sizes: 2, .. })));
        assert_eq!(Growth::of(&points(&SIZES[..1], |size| size)), None);
        assert_eq!(Growth::of(&[]), None);
    }

    #[test]
    fn costs_that_would_need_a_negative_coefficient_are_no_line() {
        let found = Growth::of(&points(&SIZES[..3], |size| size * size)).unwrap();
        assert!(matches!(found, Growth::Neither { .. }), "{found:?}");
        let shrinking = Growth::of(&points(&SIZES[..2], |size| 1e6 / size)).unwrap();
        assert!(matches!(shrinking, Growth::Neither { .. }), "{shrinking:?}");
    }
}
