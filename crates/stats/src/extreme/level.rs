//! The return level for a recurrence interval, with its confidence interval.
//!
//! Late events occur at a rate λ, and their excesses over the threshold u follow a generalised
//! Pareto distribution; so the level that is exceeded once in a time P is u + σ/ξ ((λP)^ξ − 1)
//! (S. Coles, *An Introduction to Statistical Modeling of Extreme Values*, 2001, section
//! 4.3.3). The interval is the profile-likelihood interval (the same, 2.6.6): all levels at
//! which the best choice of the other parameters makes the peaks nearly as likely as at the
//! best level. It is asymmetric: most of the uncertainty is on the upper side.
//!
//! For a given level x and β = ξ/σ, the rate follows from s = 1/σ: ln λP = s ln(1 + β(x −
//! u))/β. The remaining function is concave in s, so the search is over β alone, with a few
//! Newton steps inside.

use super::pareto::{AtBeta, GeneralisedPareto, Likely, Sums, least_rate};
use crate::paired::student_95;

/// Peaks over a threshold: excesses, and the duration of their measurement.
#[derive(Debug)]
pub(super) struct Peaks<'a> {
    /// By how much each exceeded the threshold; all positive.
    pub(super) excesses: &'a [f64],
    /// The time in which they came, in any unit.
    pub(super) observed: f64,
}

/// An excess with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ExcessLevel {
    pub(super) estimate: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// The maximum number of doublings to bracket the upper end, and of halvings to find an end.
const STEPS: u32 = 60;
/// The Bartlett correction: the mean of twice the log-likelihood loss at the true level,
/// relative to a χ² variable with one degree of freedom (M. S. Bartlett, *Properties of
/// sufficiency and statistical tests*, Proceedings of the Royal Society A 160, 1937).
/// Determined by simulation: without it, nominal 95 % intervals contained the true value in
/// 93.6 % of 1384 measurements of five distributions, mostly because their upper ends were too
/// low.
const BARTLETT: f64 = 1.12;
/// The precision of an end, relative to its distance from the threshold.
const NEAR_ENOUGH: f64 = 1e-3;

impl Peaks<'_> {
    /// The excess that is exceeded once per `period`; more than one peak must be expected in
    /// it.
    pub(super) fn level(&self, period: f64) -> ExcessLevel {
        let sums = Sums::of(self.excesses);
        let expected = sums.count / self.observed * period;
        let fit = GeneralisedPareto::fit(self.excesses);
        let estimate = fit.exceeded_with(expected.recip());
        let windows = self.observed / period;
        // Besides the tail's own likelihood, that of the rate, which is greatest at n peaks;
        // both without constants.
        let likelihood = |excess: f64| {
            sums.search(excess, |sums, beta| at_level(sums, beta, excess, windows)).log_likelihood
        };
        let best = sums.search(0.0, |sums, beta| sums.unconstrained(beta)).log_likelihood
            + sums.count * (expected.ln() - 1.0);
        // Student's t instead of the normal distribution: two parameters of the tail are
        // estimated from this number of peaks.
        let allowed = BARTLETT * student_95(self.excesses.len().saturating_sub(2)).powi(2) / 2.0;
        let likely = |excess: f64| best - likelihood(excess) < allowed;
        ExcessLevel {
            estimate,
            low: lower_end(estimate, likely),
            high: upper_end(estimate, likely),
        }
    }
}

/// The maximum likelihood at a β for peaks of which one per period exceeds `excess`.
fn at_level(sums: &Sums<'_>, beta: f64, excess: f64, windows: f64) -> Likely {
    let AtBeta { logarithms, weighted } = sums.at(beta);
    let inside = beta * excess;
    let reach = if inside.abs() < 1e-9 { excess } else { inside.ln_1p() / beta };
    let slope = |rate: f64| {
        sums.count * reach - windows * reach * (reach * rate).exp() + sums.count / rate - weighted
    };
    let bend =
        |rate: f64| -windows * reach * reach * (reach * rate).exp() - sums.count / (rate * rate);
    let rate = root(least_rate(beta).max(1e-9 / excess), sums.count / weighted, slope, bend);
    let log_likelihood = sums.count * reach * rate - windows * (reach * rate).exp()
        + sums.count * rate.ln()
        - logarithms
        - rate * weighted;
    Likely { beta, rate, log_likelihood }
}

/// The zero of `slope`, a decreasing function; `least` if there is none above that.
fn root(least: f64, start: f64, slope: impl Fn(f64) -> f64, bend: impl Fn(f64) -> f64) -> f64 {
    if slope(least) <= 0.0 {
        return least;
    }
    let mut low = least;
    let mut high = start.max(2.0 * least);
    for _ in 0..STEPS {
        if slope(high) <= 0.0 {
            break;
        }
        low = high;
        high *= 2.0;
    }
    let mut rate = low.midpoint(high);
    for _ in 0..STEPS {
        let at = slope(rate);
        if at > 0.0 {
            low = rate
        } else {
            high = rate
        }
        let newton = rate - at / bend(rate);
        let next = if newton > low && newton < high { newton } else { low.midpoint(high) };
        if (next - rate).abs() <= 1e-9 * rate {
            return next;
        }
        rate = next;
    }
    rate
}

fn lower_end(estimate: f64, likely: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, estimate);
    while high - low > NEAR_ENOUGH * high {
        let middle = low.midpoint(high);
        if middle <= f64::EPSILON * estimate {
            break;
        }
        if likely(middle) { high = middle } else { low = middle }
    }
    high
}

fn upper_end(estimate: f64, likely: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (estimate, estimate * 1.5);
    for _ in 0..STEPS {
        if !likely(high) {
            break;
        }
        low = high;
        high *= 1.5;
    }
    while high - low > NEAR_ENOUGH * low {
        let middle = low.midpoint(high);
        if likely(middle) { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Draw;

    fn excesses(count: usize, shape: f64, seed: u64) -> Vec<f64> {
        let truth = GeneralisedPareto { shape, scale: 1.0 };
        let mut draw = Draw::new(seed);
        (0..count).map(|_| truth.exceeded_with(draw.uniform())).collect()
    }

    #[test]
    fn fixing_the_level_at_its_estimate_loses_no_likelihood() {
        for shape in [-0.2, 0.0, 0.4] {
            let excesses = excesses(200, shape, 5);
            let sums = Sums::of(&excesses);
            let peaks = Peaks { excesses: &excesses, observed: 1.0 };
            let level = peaks.level(10.0);
            let held = sums
                .search(level.estimate, |sums, beta| at_level(sums, beta, level.estimate, 0.1))
                .log_likelihood;
            let free = sums.search(0.0, |sums, beta| sums.unconstrained(beta)).log_likelihood
                + 200.0 * (2000.0_f64.ln() - 1.0);
            assert!((held - free).abs() < 1e-3, "{shape}: {held} {free}");
            assert!(level.low < level.estimate && level.estimate < level.high, "{level:?}");
        }
    }

    #[test]
    fn longer_periods_and_fewer_peaks_widen_the_interval() {
        let many = excesses(400, 0.2, 6);
        let wide = |peaks: &[f64], period| {
            let level = Peaks { excesses: peaks, observed: peaks.len() as f64 }.level(period);
            level.high / level.low
        };
        assert!(wide(&many, 4_000.0) > wide(&many, 100.0));
        assert!(wide(&many[..80], 4_000.0) > wide(&many, 4_000.0));
    }
}
