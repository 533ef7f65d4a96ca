//! Scales from quantities to places in a drawing.

/// A logarithmic scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogScale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

/// A place on a scale that is marked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    /// The quantity there.
    pub value: f64,
    /// Whether it has a label or only a line.
    pub written: bool,
    /// Whether it is a power of ten.
    pub is_power: bool,
}

impl LogScale {
    /// Makes a scale from `low` at the place `from` to `high` at the place `to`.
    ///
    /// Both ends move outward to 1, 2 or 5 times a power of ten. Values below 1 count as 1: a
    /// nanosecond or a sample, the smallest value measured.
    pub fn covering(low: f64, high: f64, from: f64, to: f64) -> Self {
        let low = round_down(low.max(1.0));
        let high = round_up(high.max(low * 1.01));
        Self { low, high, from, to }
    }

    /// The place of a value; values beyond an end are placed at that end.
    pub fn at(&self, value: f64) -> f64 {
        let share =
            (value.clamp(self.low, self.high) / self.low).ln() / (self.high / self.low).ln();
        self.from + share * (self.to - self.from)
    }

    /// The lowest value.
    pub const fn low(&self) -> f64 {
        self.low
    }

    /// The highest value.
    pub const fn high(&self) -> f64 {
        self.high
    }

    /// Marks at 1, 2 and 5 times each power of ten, with as many labels as have room.
    pub fn marks(&self) -> Vec<Mark> {
        let decades = (self.high / self.low).log10();
        let room = (self.to - self.from).abs() / 16.0;
        let mut marks = Vec::new();
        let mut power = 10_f64.powf(self.low.log10().floor());
        while power <= self.high * 1.001 {
            for step in [1.0, 2.0, 5.0] {
                let value = power * step;
                if value < self.low * 0.999 || value > self.high * 1.001 {
                    continue;
                }
                let written = step == 1.0 || decades * 3.0 <= room;
                marks.push(Mark { value, written, is_power: step == 1.0 });
            }
            power *= 10.0;
        }
        if !marks.iter().any(|mark| mark.written) {
            for mark in &mut marks {
                mark.written = true;
            }
        }
        marks
    }
}

/// A linear scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinearScale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl LinearScale {
    /// Makes a scale from `low` at the place `from` to `high` at the place `to`.
    pub fn new(low: f64, high: f64, from: f64, to: f64) -> Self {
        Self { low, high: if high > low { high } else { low + 1.0 }, from, to }
    }

    /// The place of a value; values beyond an end are placed at that end.
    pub fn at(&self, value: f64) -> f64 {
        let share = (value.clamp(self.low, self.high) - self.low) / (self.high - self.low);
        self.from + share * (self.to - self.from)
    }

    /// The highest value.
    pub const fn high(&self) -> f64 {
        self.high
    }

    /// Round values across the scale, about `wanted` of them.
    pub fn marks(&self, wanted: f64) -> Vec<f64> {
        let step = round_up((self.high - self.low) / wanted.max(1.0));
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step * 1.000_001).floor() as i64;
        (first..=last).map(|number| number as f64 * step).collect()
    }
}

const STEPS: [f64; 4] = [1.0, 2.0, 5.0, 10.0];

fn round_down(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let step = STEPS.into_iter().rev().find(|step| power * step <= value * 1.000_001);
    power * step.unwrap_or(1.0)
}

fn round_up(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let step = STEPS.into_iter().find(|step| power * step >= value * 0.999_999);
    power * step.unwrap_or(10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_are_round_and_cover_the_range() {
        let scale = LogScale::covering(3_700.0, 2_100_000.0, 200.0, 0.0);
        assert_eq!((scale.low().round(), scale.high().round()), (2_000.0, 5_000_000.0));
        assert_eq!(scale.at(scale.low()), 200.0);
        assert_eq!(scale.at(scale.high()), 0.0);
        assert_eq!(scale.at(1e12), 0.0, "values beyond the scale stay in the drawing");
    }

    #[test]
    fn a_scale_of_a_single_value_has_a_range() {
        let scale = LogScale::covering(0.0, 0.0, 0.0, 100.0);
        assert!(scale.high() > scale.low());
        assert!(scale.at(1.0).is_finite());
        assert!(scale.marks().iter().any(|mark| mark.written));
        assert!(LinearScale::new(5.0, 5.0, 0.0, 1.0).at(5.0).is_finite());
    }

    #[test]
    fn every_decade_has_a_label() {
        let scale = LogScale::covering(1e3, 1e8, 0.0, 150.0);
        let written: Vec<f64> = scale
            .marks()
            .iter()
            .filter(|mark| mark.written)
            .map(|mark| mark.value.round())
            .collect();
        assert_eq!(written, [1e3, 1e4, 1e5, 1e6, 1e7, 1e8]);
    }

    #[test]
    fn linear_marks_are_round() {
        assert_eq!(
            LinearScale::new(0.0, 30.0, 0.0, 1.0).marks(6.0),
            [0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0]
        );
    }
}
