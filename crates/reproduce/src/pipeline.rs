//! The frames of a pipeline, predicted and measured.
//!
//! A part with `pipeline = true` has these cells, with the measure `frame-time`.

use tactus_model::time::Nanos;
use tactus_pipeline::{Comparison, Estimate, Prediction};

use crate::interval::Interval;
use crate::measured::Measured;
use crate::quantity::{Measure, Statistic};

/// The predicted frames.
pub const PREDICTED: &str = "predicted";
/// The frames of the real pipeline.
pub const MEASURED: &str = "measured";
/// The sum of the medians of a frame's parts, as if they followed one another: the model of 1993.
pub const SUM: &str = "sum of medians";

impl Measured {
    /// Takes the results of a pipeline with this budget. Without a `comparison`, it did not run, for
    /// the reason `missing`.
    pub fn of_pipeline(
        budget: Nanos,
        prediction: &Prediction,
        comparison: Option<&Comparison>,
        missing: Option<&str>,
    ) -> Self {
        let mut found = Self::default();
        found.predicted(PREDICTED, prediction);
        let late = Statistic::Beyond(budget);
        found.frames(PREDICTED, late, prediction.miss.share);
        let sum: Nanos = prediction.parts.parts.iter().map(|part| part.median).sum();
        found.frames(SUM, Statistic::Samples, prediction.samples as f64);
        found.frames(SUM, Statistic::Median, nanos(sum));
        if let Some(comparison) = comparison {
            found.frames(MEASURED, Statistic::Samples, comparison.frames as f64);
            found.frames(MEASURED, late, comparison.miss.share);
            for compared in &comparison.quantiles {
                found.quantile(MEASURED, compared.quantile, compared.measured);
            }
        } else {
            let reason = missing.unwrap_or("the stored run has no frames of the real pipeline");
            found.withheld.insert(MEASURED.to_owned(), reason.to_owned());
        }
        found
    }

    /// Adds a prediction as a cell, or the reason for its absence.
    pub fn add_prediction(&mut self, cell: &str, prediction: Result<&Prediction, String>) {
        match prediction {
            Ok(prediction) => self.predicted(cell, prediction),
            Err(reason) => {
                self.withheld.insert(cell.to_owned(), reason);
            }
        }
    }

    fn predicted(&mut self, cell: &str, prediction: &Prediction) {
        self.frames(cell, Statistic::Samples, prediction.samples as f64);
        for quantile in [0.5, 0.9, 0.99] {
            if let Some(predicted) = prediction.quantile(quantile) {
                self.quantile(cell, quantile, predicted);
            }
        }
    }

    fn frames(&mut self, cell: &str, statistic: Statistic, figure: f64) {
        self.number(Measure::FrameTime, cell, statistic, figure);
    }

    fn quantile(&mut self, cell: &str, quantile: f64, found: Estimate) {
        let interval = Interval { low: nanos(found.low), high: nanos(found.high) };
        let figure = (at(quantile), nanos(found.value));
        self.estimate(Measure::FrameTime, cell, figure, interval);
    }
}

fn nanos(length: Nanos) -> f64 {
    length.as_nanos() as f64
}

/// The statistic of a quantile.
fn at(quantile: f64) -> Statistic {
    match quantile {
        0.5 => Statistic::Median,
        // Of 0.99 times 100, the nearest number with a decimal.
        _ => Statistic::Percentile((quantile * 1000.0).round() / 10.0),
    }
}

#[cfg(test)]
mod tests {
    use tactus_pipeline::{Behind, Chance, Compared, Conditions, PartFigures, Parts};

    use super::*;
    use crate::quantity::Transfers;

    const BUDGET: Nanos = Nanos::from_millis(50);

    fn chance(share: f64) -> Chance {
        Chance { share, low: share, high: share, unseen: None }
    }

    fn estimate(millis: u64) -> Estimate {
        let value = Nanos::from_millis(millis);
        Estimate { value, low: value, high: value }
    }

    /// A prediction of two parts of 2 ms, with as many samples of each.
    fn prediction(samples: usize) -> Prediction {
        let part = |name: &str| PartFigures {
            name: name.to_owned(),
            median: Nanos::from_millis(2),
            p99: Some(Nanos::from_millis(9)),
            ..PartFigures::default()
        };
        Prediction {
            frames: 1000,
            seed: 1,
            samples,
            rounds: 6,
            quantiles: [5, 8, 20, 30].map(estimate).to_vec(),
            miss: chance(0.01),
            parts: Parts { parts: vec![part("read"), part("display")], ..Parts::default() },
            improvements: Vec::new(),
            processes: Vec::new(),
            curve: Vec::new(),
        }
    }

    fn comparison() -> Comparison {
        let compared = |quantile, predicted, measured| Compared {
            quantile,
            predicted: estimate(predicted),
            measured: estimate(measured),
            error: 0.0,
        };
        Comparison {
            frames: 300,
            behind: Behind::default(),
            quantiles: vec![compared(0.5, 5, 6), compared(0.99, 20, 25)],
            miss: chance(0.02),
            parts: Parts::default(),
            median_causes: Vec::new(),
            p99_causes: Vec::new(),
            conditions: Conditions::default(),
            curve: Vec::new(),
        }
    }

    fn figure(found: &Measured, cell: &str, statistic: Statistic) -> Option<f64> {
        found.figure(Measure::FrameTime, Transfers::Included, cell, statistic)
    }

    #[test]
    fn predicted_and_measured_frames_are_cells() {
        let found = Measured::of_pipeline(BUDGET, &prediction(600), Some(&comparison()), None);
        let p99 = Statistic::Percentile(99.0);
        for (cell, statistic, expected) in [
            (PREDICTED, Statistic::Samples, 600.0),
            (PREDICTED, Statistic::Median, 5e6),
            (PREDICTED, p99, 20e6),
            (PREDICTED, Statistic::Beyond(BUDGET), 0.01),
            (MEASURED, Statistic::Samples, 300.0),
            (MEASURED, Statistic::Median, 6e6),
            (MEASURED, p99, 25e6),
            (MEASURED, Statistic::Beyond(BUDGET), 0.02),
            (SUM, Statistic::Median, 4e6),
        ] {
            assert_eq!(figure(&found, cell, statistic), Some(expected), "{cell} {statistic}");
        }
        assert_eq!(found.withheld(MEASURED), None);
    }

    #[test]
    fn a_pipeline_that_did_not_run_has_a_reason_and_no_frames() {
        let found = Measured::of_pipeline(BUDGET, &prediction(600), None, Some("no CPU"));
        assert_eq!(figure(&found, MEASURED, Statistic::Median), None);
        assert_eq!(found.withheld(MEASURED), Some("no CPU"));
    }

    #[test]
    fn a_quantile_that_the_samples_do_not_support_is_missing() {
        let found = Measured::of_pipeline(BUDGET, &prediction(100), None, None);
        assert_eq!(figure(&found, PREDICTED, Statistic::Percentile(99.0)), None);
        assert_eq!(figure(&found, PREDICTED, Statistic::Percentile(90.0)), Some(8e6));
    }
}
