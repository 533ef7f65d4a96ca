//! Student's t distribution, whose degrees of freedom need not be whole.
//!
//! With T = √ν · cot u, the chance of |T| > t is the integral of sin^(ν−1) u from
//! 0 to atan(√ν / t), as a part of that up to π/2 (Abramowitz and Stegun,
//! *Handbook of Mathematical Functions*, 26.7, by that substitution). The
//! integrand is smooth, so Simpson's rule is enough.

use std::f64::consts::FRAC_PI_2;

/// Steps of Simpson's rule; an even number.
const STEPS: u32 = 400;
/// Beyond this many degrees of freedom the distribution is the normal one to within
/// 1 %, and fewer only make a test more careful.
const MOST_FREEDOM: f64 = 200.0;

/// The chance that |T| exceeds `t` (at least 0), for at least one degree of freedom.
pub(crate) fn chance_beyond(t: f64, freedom: f64) -> f64 {
    let freedom = freedom.clamp(1.0, MOST_FREEDOM);
    let angle = (freedom.sqrt() / t).atan();
    (powers_of_sine(angle, freedom - 1.0) / powers_of_sine(FRAC_PI_2, freedom - 1.0)).min(1.0)
}

/// The t that |T| exceeds with a chance of `chance`, by halving.
pub(crate) fn critical(chance: f64, freedom: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1e6);
    for _ in 0..60 {
        // Halved in the logarithm, since the answer lies between 2 and thousands.
        let middle = ((low + 1.0_f64) * (high + 1.0_f64)).sqrt() - 1.0;
        if chance_beyond(middle, freedom) > chance { low = middle } else { high = middle }
    }
    high
}

/// The integral of sin^`power` from 0 to `end`.
fn powers_of_sine(end: f64, power: f64) -> f64 {
    let step = end / f64::from(STEPS);
    let weighted = (0..=STEPS).map(|nth| {
        let weight = match nth {
            0 | STEPS => 1.0,
            odd if odd % 2 == 1 => 4.0,
            _ => 2.0,
        };
        weight * (f64::from(nth) * step).sin().powf(power)
    });
    weighted.sum::<f64>() * step / 3.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(freedom: f64, chance: f64, tabled: f64) {
        let found = critical(chance, freedom);
        assert!((found / tabled - 1.0).abs() < 2e-3, "{freedom}, {chance}: {found}, not {tabled}");
        assert!((chance_beyond(tabled, freedom) / chance - 1.0).abs() < 2e-2);
    }

    #[test]
    fn critical_values_are_those_of_the_tables() {
        check(1.0, 0.05, 12.706);
        check(2.0, 0.05, 4.303);
        check(4.0, 0.05, 2.776);
        check(4.0, 0.001, 8.610);
        check(10.0, 0.01, 3.169);
        check(30.0, 0.05, 2.042);
        check(120.0, 0.05, 1.980);
    }

    #[test]
    fn no_difference_is_no_surprise() {
        assert!((chance_beyond(0.0, 3.5) - 1.0).abs() < 1e-9);
        assert!(chance_beyond(f64::INFINITY, 3.5) < 1e-9);
    }
}
