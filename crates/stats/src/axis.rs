//! The horizontal axes of the percentile graph, and its curves.
//!
//! Latencies are plotted on a logarithmic vertical axis against a horizontal axis that
//! stretches the tail, since "the (supposedly) few latency time values which are much higher
//! than the average" matter most (Faller, *Measuring the latency time of real-time Unix-like
//! operating systems*, ICSI TR-92-037, 1992, section 6). HdrHistogram's plots use the axis of
//! 1/(1−p).

use serde::{Deserialize, Serialize};
use tactus_model::time::Nanos;

use crate::histogram::LatencyHistogram;

/// The curvature of the exponential axis: position ∝ e^(7p) − 1.
///
/// The paper draws its axis without naming the base; it only says that "the median value is
/// plotted close to the left vertical axis". With 7 the median is at 1/(e^3.5 + 1) = 3 % of the
/// width, 90 % in the middle and 99 % at 93 %.
const STEEPNESS: f64 = 7.0;

/// The mapping from a share of the wakeups to a position on the axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PercentileAxis {
    /// The exponential of the percentile (Faller 1992): values "are continuously
    /// amplified as we get to higher values of percentiles".
    Exponential,
    /// The logarithm of 1/(1−p): 0, 90, 99, 99.9 % … are equally spaced, and each step to the
    /// right makes a wakeup ten times as rare.
    Reciprocal,
}

/// A mark on an axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tick {
    /// The share it stands for, 0 to 1.
    pub share: f64,
    /// Where it stands: 0 at the left end, 1 at the right.
    pub position: f64,
    /// The share as a percentile: `99.9`.
    pub label: &'static str,
}

/// The shares that get a mark, with their labels.
const MARKS: [(f64, &str); 13] = [
    (0.0, "0"),
    (0.5, "50"),
    (0.75, "75"),
    (0.9, "90"),
    (0.95, "95"),
    (0.99, "99"),
    (0.999, "99.9"),
    (0.9999, "99.99"),
    (0.99999, "99.999"),
    (0.999_999, "99.9999"),
    (0.999_999_9, "99.99999"),
    (0.999_999_99, "99.999999"),
    (0.999_999_999, "99.9999999"),
];

/// The maximum share at the end of an axis, so that 1/(1−p) stays finite.
const GREATEST: f64 = 1.0 - 1e-12;

impl PercentileAxis {
    /// Both axes.
    pub const ALL: [Self; 2] = [Self::Exponential, Self::Reciprocal];

    /// The position of `share` on an axis from 0 to `share_max`: 0 at the left end, 1 at the
    /// right.
    ///
    /// Shares outside the axis are clamped to its ends. On an axis of zero length all positions
    /// are at the left end.
    pub fn position(self, share: f64, share_max: f64) -> f64 {
        let end = self.unscaled(share_max.clamp(0.0, GREATEST));
        if end > 0.0 { (self.unscaled(share.clamp(0.0, GREATEST)) / end).min(1.0) } else { 0.0 }
    }

    /// The share at `position`: the inverse of [`position`](Self::position).
    pub fn share_at(self, position: f64, share_max: f64) -> f64 {
        let along = position.clamp(0.0, 1.0) * self.unscaled(share_max.clamp(0.0, GREATEST));
        match self {
            Self::Exponential => along.ln_1p() / STEEPNESS,
            Self::Reciprocal => -(-along).exp_m1(),
        }
    }

    /// The marks from 0 to `share_max`, ascending. The drawing code decides which marks have
    /// room for labels.
    pub fn ticks(self, share_max: f64) -> Vec<Tick> {
        MARKS
            .into_iter()
            // The quarters are too close together on an axis that gives every nine the same
            // space.
            .filter(|(share, _)| self == Self::Exponential || ![0.75, 0.95].contains(share))
            .filter(|(share, _)| *share <= share_max)
            .map(|(share, label)| Tick { share, position: self.position(share, share_max), label })
            .collect()
    }

    fn unscaled(self, share: f64) -> f64 {
        match self {
            Self::Exponential => (STEEPNESS * share).exp_m1(),
            Self::Reciprocal => -(-share).ln_1p(),
        }
    }
}

/// The distance below which a point of a curve is dropped, as a fraction of the axis width and
/// of the logarithm of a factor of 1000 in time.
const RESOLUTION: f64 = 1.0 / 1000.0;

/// The percentile curve of a histogram: shares, and for each the latency that it does not
/// exceed.
///
/// The k-th of N samples is at (k−1)/N, so that the curve begins with the minimum at 0 and ends
/// with the maximum at 1 − 1/N, which both axes can show. A bucket of several samples has a
/// point at each end. Points that are indistinguishable in a drawing of 1000 pixels on either
/// axis are dropped: a few thousand remain for any number of samples. Both columns ascend.
pub fn percentile_curve(histogram: &LatencyHistogram) -> Vec<(f64, Nanos)> {
    let (Some(min), Some(max)) = (histogram.min(), histogram.max()) else { return Vec::new() };
    let share_max = greatest_share(histogram.count());
    let mut curve = Thinned { share_max, points: Vec::new() };
    let mut below = 0_u64;
    for bucket in histogram.buckets() {
        let latency = bucket.high.min(max);
        let last = below.saturating_add(bucket.count - 1);
        curve.push(below as f64 / histogram.count() as f64, latency);
        if last > below {
            curve.push(last as f64 / histogram.count() as f64, latency);
        }
        below = last.saturating_add(1);
    }
    let mut points = curve.points;
    if let Some(first) = points.first_mut() {
        first.1 = min;
    }
    if points.last() != Some(&(share_max, max)) {
        points.push((share_max, max));
    }
    points
}

/// The share of the slowest of `count` samples: the right end of an axis that shows all of
/// them. 0 if there are none.
pub fn greatest_share(count: u64) -> f64 {
    if count == 0 { 0.0 } else { (count - 1) as f64 / count as f64 }
}

/// A curve without the points that are indistinguishable from the point before.
struct Thinned {
    share_max: f64,
    points: Vec<(f64, Nanos)>,
}

impl Thinned {
    fn push(&mut self, share: f64, latency: Nanos) {
        let near = |&(last_share, last_latency): &(f64, Nanos)| {
            let magnitude = |latency: Nanos| (latency.as_nanos().max(1) as f64).log10() / 3.0;
            let beside = |axis: PercentileAxis| {
                axis.position(share, self.share_max) - axis.position(last_share, self.share_max)
                    < RESOLUTION
            };
            magnitude(latency) - magnitude(last_latency) < RESOLUTION
                && PercentileAxis::ALL.into_iter().all(beside)
        };
        if !self.points.last().is_some_and(near) {
            self.points.push((share, latency));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(axis: PercentileAxis, share: f64, share_max: f64, expected: f64) {
        let found = axis.position(share, share_max);
        assert!((found - expected).abs() < 0.005, "{axis:?} {share}: {found}, not {expected}");
    }

    #[test]
    fn the_reciprocal_axis_gives_every_nine_the_same_space() {
        for (nines, share) in [0.0, 0.9, 0.99, 0.999, 0.9999].into_iter().enumerate() {
            check(PercentileAxis::Reciprocal, share, 0.9999, nines as f64 / 4.0);
        }
    }

    #[test]
    fn the_exponential_axis_has_the_median_near_its_left_end() {
        check(PercentileAxis::Exponential, 0.5, 1.0, 0.03);
        check(PercentileAxis::Exponential, 0.9, 1.0, 0.496);
        check(PercentileAxis::Exponential, 0.99, 1.0, 0.932);
        check(PercentileAxis::Exponential, 1.0, 1.0, 1.0);
    }

    #[test]
    fn an_axis_of_zero_length_does_not_divide_by_zero() {
        for axis in PercentileAxis::ALL {
            assert_eq!(axis.position(0.5, 0.0), 0.0);
            assert_eq!(axis.position(1.0, 1.0), 1.0);
        }
    }

    #[test]
    fn ticks_ascend_and_end_with_the_axis() {
        let labels = |axis: PercentileAxis| -> Vec<&str> {
            axis.ticks(0.9995).into_iter().map(|tick| tick.label).collect()
        };
        assert_eq!(
            labels(PercentileAxis::Exponential),
            ["0", "50", "75", "90", "95", "99", "99.9"]
        );
        assert_eq!(labels(PercentileAxis::Reciprocal), ["0", "50", "90", "99", "99.9"]);
    }

    #[test]
    fn a_constant_latency_is_a_horizontal_line() {
        let constant = Nanos::from_micros(7);
        let mut histogram = LatencyHistogram::new();
        histogram.record_n(constant, 1000);
        assert_eq!(percentile_curve(&histogram), [(0.0, constant), (0.999, constant)]);
    }

    #[test]
    fn a_curve_of_many_samples_is_thinned() {
        let mut histogram = LatencyHistogram::new();
        for k in 0..3_000_000_u64 {
            histogram.record_n(Nanos::from_nanos(k * 7), 10);
        }
        let curve = percentile_curve(&histogram);
        assert!((1000..5000).contains(&curve.len()), "{} points", curve.len());
    }

    proptest! {
        #[test]
        fn share_at_inverts_position(share in 0.0..0.9999_f64, share_max in 0.9999..0.99999_f64) {
            for axis in PercentileAxis::ALL {
                let position = axis.position(share, share_max);
                prop_assert!((0.0..=1.0).contains(&position));
                prop_assert!((axis.share_at(position, share_max) - share).abs() < 1e-9);
            }
        }

        #[test]
        fn a_curve_ascends_from_the_minimum_to_the_maximum(
            values in prop::collection::vec(0..u64::MAX, 1..200),
        ) {
            let histogram: LatencyHistogram = values.iter().copied().map(Nanos::from_nanos).collect();
            let curve = percentile_curve(&histogram);
            prop_assert_eq!(Some(curve[0].1), histogram.min());
            prop_assert_eq!(curve[0].0, 0.0);
            prop_assert_eq!(Some(curve[curve.len() - 1].1), histogram.max());
            prop_assert_eq!(curve[curve.len() - 1].0, greatest_share(histogram.count()));
            prop_assert!(curve.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1));
        }
    }
}
