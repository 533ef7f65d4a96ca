//! Intervals of figures, over the rounds of a run.

use serde::Serialize;
use tactus_stats::paired::PairedDifference;

/// The fewest rounds that give an interval.
pub(crate) const ROUNDS_LEAST: usize = 3;

/// A 95 % interval, in the base unit of its figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// How an interval lies to limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Between them.
    Inside,
    /// Beyond one of them.
    Outside,
    /// Across one of them.
    Across,
}

impl Interval {
    /// That of the values of rounds, by Student's t ([`PairedDifference`]): of their logarithms if all
    /// are positive, since the rounds of a slow machine differ by factors. `None` with fewer than three
    /// rounds.
    pub fn of_rounds(values: &[f64]) -> Option<Self> {
        if values.len() < ROUNDS_LEAST {
            return None;
        }
        let are_positive = values.iter().all(|value| *value > 0.0);
        let logarithms = || values.iter().map(|value| value.ln()).collect::<Vec<f64>>();
        let found = match are_positive {
            true => PairedDifference::of(&logarithms())
                .map(|found| Self { low: found.low.exp(), high: found.high.exp() }),
            false => {
                PairedDifference::of(values).map(|found| Self { low: found.low, high: found.high })
            }
        };
        found.filter(|found| found.low.is_finite() && found.high.is_finite())
    }

    /// That of the ratio of two independent figures with their intervals: distances in logarithms add
    /// up as the roots of squares do. `None` if an end is not positive.
    pub fn of_ratio((figure, of): (f64, Self), (to, of_to): (f64, Self)) -> Option<Self> {
        let all = [figure, of.low, of.high, to, of_to.low, of_to.high];
        if all.iter().any(|value| *value <= 0.0) {
            return None;
        }
        let reach = |one: f64, other: f64| one.ln().hypot(other.ln());
        let ratio = figure / to;
        Some(Self {
            low: ratio / reach(figure / of.low, of_to.high / to).exp(),
            high: ratio * reach(of.high / figure, to / of_to.low).exp(),
        })
    }

    /// Its place between limits.
    pub(crate) fn place(self, above: Option<f64>, below: Option<f64>) -> Place {
        let is_below = |value: f64| below.is_none_or(|below| value <= below);
        let is_above = |value: f64| above.is_none_or(|above| value >= above);
        let is_inside = is_above(self.low) && is_below(self.high);
        let is_outside = !is_above(self.high) || !is_below(self.low);
        match (is_inside, is_outside) {
            (true, _) => Place::Inside,
            (_, true) => Place::Outside,
            _ => Place::Across,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_needs_three_rounds_and_contains_their_middle() {
        assert_eq!(Interval::of_rounds(&[1.0, 2.0]), None);
        let Interval { low, high } = Interval::of_rounds(&[0.9, 1.0, 1.1]).unwrap();
        assert!(0.0 < low && low < 0.9 && high > 1.1, "{low} {high}");
        let Interval { low, high } = Interval::of_rounds(&[-0.1, 0.0, 0.1]).unwrap();
        assert!(low < 0.0 && (low + high).abs() < 1e-12, "{low} {high}");
    }

    #[test]
    fn a_ratio_is_less_certain_than_its_figures() {
        let of = |low, high| Interval { low, high };
        let found = Interval::of_ratio((2.0, of(1.8, 2.2)), (1.0, of(0.9, 1.1))).unwrap();
        assert!(found.low < 1.8 && found.high > 2.2, "{found:?}");
        let exact = Interval::of_ratio((2.0, of(1.8, 2.2)), (1.0, of(1.0, 1.0))).unwrap();
        assert!((exact.low - 1.8).abs() < 1e-12 && (exact.high - 2.2).abs() < 1e-12, "{exact:?}");
        assert_eq!(Interval::of_ratio((2.0, of(0.0, 2.2)), (1.0, of(0.9, 1.1))), None);
    }

    #[test]
    fn an_interval_is_inside_outside_or_across() {
        let check = |low, high, expected| {
            assert_eq!(Interval { low, high }.place(Some(1.0), Some(2.0)), expected);
        };
        check(1.2, 1.8, Place::Inside);
        check(0.2, 0.8, Place::Outside);
        check(2.2, 2.8, Place::Outside);
        check(0.8, 1.2, Place::Across);
        check(0.8, 2.2, Place::Across);
        assert_eq!(Interval { low: -1.0, high: 9.0 }.place(None, None), Place::Inside);
    }
}
