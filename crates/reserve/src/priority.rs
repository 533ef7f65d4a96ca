//! Rate-monotonic priorities.

use tactus_model::policy::RealtimePriority;
use tactus_model::time::Nanos;

/// The priority of enforcers, above every reserved thread.
pub(crate) const ENFORCER: RealtimePriority = match RealtimePriority::new(90) {
    Some(priority) => priority,
    None => panic!("90 is a priority"),
};

/// The priority of the shortest period.
const HIGHEST: f64 = 85.0;
/// How much lower the priority of the double period is.
const STEP: f64 = 5.0;

/// The priority of a period, below that of its enforcer: 85 for 100 µs and less, 5 less for each
/// doubling, and at least 1. Liu and Layland, JACM 20(1), 1973, Theorem 2.
pub(crate) fn rate_monotonic(period: Nanos, enforcer: RealtimePriority) -> RealtimePriority {
    let doublings = (period.as_micros_f64() / 100.0).log2().max(0.0);
    let wanted = (HIGHEST - STEP * doublings).round().max(1.0) as u8;
    let priority = wanted.min(enforcer.get() - 1).max(1);
    RealtimePriority::new(priority).unwrap_or(enforcer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shorter_period_has_a_higher_priority_below_its_enforcer() {
        let of = |micros| rate_monotonic(Nanos::from_micros(micros), ENFORCER).get();
        assert_eq!([50, 100, 200, 400].map(of), [85, 85, 80, 75]);
        let all: Vec<u8> = (0..24).map(|doublings| of(100 << doublings)).collect();
        assert!(all.windows(2).all(|pair| pair[0] >= pair[1]), "{all:?}");
        let limited = |limit, micros| {
            let limit = RealtimePriority::new(limit).unwrap();
            rate_monotonic(Nanos::from_micros(micros), limit).get()
        };
        assert_eq!([limited(20, 100), limited(2, 1 << 30), limited(1, 1)], [19, 1, 1]);
    }
}
