//! The distance between the lines of the scope.

use tactus_model::time::Nanos;

/// The distance between the lines of the scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Fits the samples: nearly all are within a line or two of the interval. Chosen again
    /// whenever the pen returns to the left edge.
    Fitting,
    /// Set by the user.
    Fixed(Nanos),
}

/// The range of distances, as powers of ten nanoseconds: 1 µs to 1 s.
const EXPONENTS: std::ops::RangeInclusive<u32> = 3..=9;

/// The share of arrivals that must be near the interval.
const NEARLY_ALL: f64 = 0.98;
/// How many lines from the interval they may be.
const LINES_OFF: f64 = 1.5;

/// 1, 2, 5, 10, … microseconds, up to a second.
fn steps() -> impl DoubleEndedIterator<Item = Nanos> {
    EXPONENTS
        .flat_map(|exponent| [1, 2, 5].map(|digit| Nanos::from_nanos(digit * 10_u64.pow(exponent))))
        .filter(|step| *step <= Nanos::from_secs(1))
}

/// The next coarser distance.
pub(crate) fn coarser(line: Nanos) -> Nanos {
    steps().find(|step| *step > line).unwrap_or(line)
}

/// The next finer distance.
pub(crate) fn finer(line: Nanos) -> Nanos {
    steps().rev().find(|step| *step < line).unwrap_or(line)
}

/// The distance that puts nearly all of `lengths` near `middle`.
pub(crate) fn fitting(middle: Nanos, lengths: impl Iterator<Item = Nanos>) -> Option<Nanos> {
    let mut off: Vec<u64> =
        lengths.map(|length| length.as_nanos().abs_diff(middle.as_nanos())).collect();
    let place = ((off.len() as f64 * NEARLY_ALL) as usize).min(off.len().checked_sub(1)?);
    let (_, nearly_all, _) = off.select_nth_unstable(place);
    let wanted = Nanos::from_nanos((*nearly_all as f64 / LINES_OFF) as u64);
    steps().find(|step| *step >= wanted).or_else(|| steps().next_back())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_go_by_one_two_and_five() {
        assert_eq!(coarser(Nanos::from_millis(1)), Nanos::from_millis(2));
        assert_eq!(coarser(Nanos::from_millis(3)), Nanos::from_millis(5));
        assert_eq!(finer(Nanos::from_millis(1)), Nanos::from_micros(500));
        assert_eq!(finer(Nanos::from_micros(1)), Nanos::from_micros(1));
        assert_eq!(coarser(Nanos::from_secs(1)), Nanos::from_secs(1));
    }

    #[test]
    fn the_fitting_distance_ignores_outliers() {
        let usual = (0..1000).map(|k| Nanos::from_nanos(1_000_000 + k * 28));
        let stall = std::iter::once(Nanos::from_millis(40));
        let line = fitting(Nanos::from_millis(1), usual.chain(stall));
        assert_eq!(line, Some(Nanos::from_micros(20)));
        assert_eq!(fitting(Nanos::from_millis(1), std::iter::empty()), None);
    }
}
