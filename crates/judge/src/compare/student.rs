//! Student's t distribution, whose degrees of freedom need not be whole.

use statrs::function::beta::{beta_reg, inv_beta_reg};

/// The chance that |T| exceeds `t` (at least 0), for at least one degree of freedom.
pub(crate) fn chance_beyond(t: f64, freedom: f64) -> f64 {
    beta_reg(freedom / 2.0, 0.5, freedom / (freedom + t.powi(2)))
}

/// The chance that T is less than `t`.
pub(crate) fn chance_below(t: f64, freedom: f64) -> f64 {
    let beyond = chance_beyond(t.abs(), freedom) / 2.0;
    if t < 0.0 { beyond } else { 1.0 - beyond }
}

/// The t that |T| exceeds with a chance of `chance`.
pub(crate) fn critical(chance: f64, freedom: f64) -> f64 {
    let share = inv_beta_reg(freedom / 2.0, 0.5, chance);
    (freedom * (1.0 - share) / share).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(freedom: f64, chance: f64, tabled: f64) {
        let found = critical(chance, freedom);
        assert!((found / tabled - 1.0).abs() < 2e-3, "{freedom}, {chance}: {found}, not {tabled}");
        assert!((chance_beyond(tabled, freedom) / chance - 1.0).abs() < 2e-2);
        assert!((chance_below(-tabled, freedom) / chance - 0.5).abs() < 1e-2);
        assert!((chance_below(tabled, freedom) - 1.0 + chance / 2.0).abs() < 1e-3);
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
