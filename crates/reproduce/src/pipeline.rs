//! The frames of a pipeline, predicted and measured.
//!
//! A part with `pipeline = true` has these cells, with the measure `frame-time`.

use tactus_model::time::Nanos;
use tactus_pipeline::{Comparison, Prediction};

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
        let mut put = |cell: &str, figures: &[(Statistic, f64)]| {
            for (statistic, figure) in figures {
                found.number(Measure::FrameTime, cell, *statistic, *figure);
            }
        };
        let samples = |count: usize| (Statistic::Samples, count as f64);
        let late = Statistic::Beyond(budget);
        put(PREDICTED, &[samples(prediction.samples), (late, prediction.miss.share)]);
        let sum: Nanos = prediction.parts.iter().map(|part| part.median).sum();
        put(SUM, &[samples(prediction.samples), (Statistic::Median, nanos(sum))]);
        for quantile in [0.5, 0.9, 0.99] {
            if let Some(predicted) = prediction.quantile(quantile) {
                put(PREDICTED, &[(at(quantile), nanos(predicted.value))]);
            }
        }
        if let Some(comparison) = comparison {
            put(MEASURED, &[samples(comparison.frames), (late, comparison.miss.share)]);
            for compared in &comparison.quantiles {
                put(MEASURED, &[(at(compared.quantile), nanos(compared.measured.value))]);
            }
        } else {
            let reason = missing.unwrap_or("the stored run has no frames of the real pipeline");
            found.withheld.insert(MEASURED.to_owned(), reason.to_owned());
        }
        found
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
