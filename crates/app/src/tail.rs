//! Estimates for times longer than measured, from the samples of a run.

use std::collections::BTreeMap;

use tactus_explain::Options;
use tactus_model::result::Measurement;
use tactus_model::time::Nanos;
use tactus_report::{CauseTail, CellTail};
use tactus_stats::LatencyHistogram;
use tactus_stats::extreme::{FEWEST_PEAKS, GREATEST_SHARE, LateWakeup, TailEstimation, TailWindow};
use tactus_stats::unseen::UnseenBound;

use crate::error::OrError;
use crate::{Result, Subject, explain};

/// The number of late wakeups that an estimate for one cause needs.
const ENOUGH: usize = 3 * FEWEST_PEAKS;

/// The estimates of every cell of a run that has a result.
///
/// # Errors
/// Its samples or recordings cannot be read.
pub fn of_run(subject: &Subject<'_>) -> Result<Vec<CellTail>> {
    let run = subject.run();
    let labels = run.header.plan.labels();
    let measured = |cell: &usize| run.of_cell(*cell).next().is_some();
    (0..labels.len())
        .filter(measured)
        .map(|cell| of_cell(subject, cell, labels[cell].clone()))
        .collect()
}

fn of_cell(subject: &Subject<'_>, cell: usize, label: String) -> Result<CellTail> {
    let measurements: Vec<&Measurement> = subject.run().of_cell(cell).collect();
    let mut latencies = LatencyHistogram::new();
    for task in measurements.iter().flat_map(|measurement| &measurement.tasks) {
        task.blocks.iter().for_each(|block| latencies.merge_record(block));
    }
    let floor = latencies.quantile(1.0 - GREATEST_SHARE).unwrap_or_default();
    let windows = measurements
        .iter()
        .map(|measurement| window(subject, measurement, floor))
        .collect::<Result<Vec<_>>>()?;
    let (by_cause, not_by_cause) = match by_cause(subject, cell)? {
        Ok(causes) => (causes, None),
        // Other programs record no events for Tactus.
        Err(_) if subject.run().header.origin.is_some() => (Vec::new(), None),
        Err(reason) => (Vec::new(), Some(reason)),
    };
    let all_causes = TailEstimation::of(&windows);
    let unseen = UnseenBound::after(latencies.count());
    Ok(CellTail { cell, label, all_causes, by_cause, not_by_cause, unseen })
}

/// The late wakeups of a measurement, from all its samples if they were kept, else from the
/// slowest.
fn window(subject: &Subject<'_>, measurement: &Measurement, floor: Nanos) -> Result<TailWindow> {
    let mut kept = 0;
    let mut late = Vec::new();
    for (_, block) in subject.samples(measurement.turn)? {
        let samples = block.decode().or_internal()?;
        kept += samples.len() as u64;
        late.extend(
            samples
                .into_iter()
                .map(|sample| LateWakeup { due: sample.due, latency: sample.latency() })
                .filter(|sample| sample.latency > floor),
        );
    }
    let observed = measurement.accounting().observed;
    if kept == observed {
        return Ok(TailWindow::of_samples(measurement.window, observed, late, floor));
    }
    let tasks = measurement.tasks.iter();
    Ok(TailWindow::of_outliers(
        measurement.window,
        tasks.map(|task| (task.accounting.observed, task.worst.as_slice())),
    ))
}

/// The tail of each cause with enough late wakeups, from the traced windows; if no cause has
/// enough, the reason.
fn by_cause(subject: &Subject<'_>, cell: usize) -> Result<Result<Vec<CauseTail>, String>> {
    let traced = subject.run().of_cell(cell).filter_map(|measurement| measurement.traced.as_ref());
    let mut latencies = LatencyHistogram::new();
    for task in traced.flat_map(|traced| &traced.tasks) {
        latencies.merge_record(&task.latencies);
    }
    if latencies.is_empty() {
        return Ok(Err("No estimate by cause, because no kernel events were recorded".to_owned()));
    }
    let too_few = || {
        format!(
            "No estimate by cause, because no cause has the {ENOUGH} recorded late wakeups that it \
             needs; record longer (`--traced`)"
        )
    };
    let examined = (latencies.count() as f64 * GREATEST_SHARE) as usize;
    if examined < ENOUGH {
        return Ok(Err(too_few()));
    }
    let floor = latencies.quantile(1.0 - GREATEST_SHARE).unwrap_or_default();
    let options = Options { threshold: floor, slowest: examined, timelines: 0 };
    let stretches = explain::stretches(subject, cell, options)?;
    let mut causes: BTreeMap<String, Vec<Vec<LateWakeup>>> = BTreeMap::new();
    for (nth, (_, explanation)) in stretches.iter().enumerate() {
        for explained in &explanation.worst {
            let Some(first) = explained.parts.first() else { continue };
            let latency = explained.sample.latency();
            if latency <= floor {
                continue;
            }
            let cause = first.cause.by_name().to_string();
            let of_cause = causes.entry(cause).or_insert_with(|| vec![Vec::new(); stretches.len()]);
            of_cause[nth].push(LateWakeup { due: explained.sample.due, latency });
        }
    }
    let most = causes.values().map(|late| late.iter().map(Vec::len).sum()).max().unwrap_or(0);
    if most < ENOUGH {
        return Ok(Err(too_few()));
    }
    let tails = causes.into_iter().filter_map(|(cause, late)| {
        let wakeups = late.iter().map(Vec::len).sum();
        let windows: Vec<TailWindow> = stretches
            .iter()
            .zip(late)
            .map(|((traced, explanation), late)| {
                TailWindow::of_samples(traced.window, explanation.samples, late, floor)
            })
            .collect();
        (wakeups >= ENOUGH).then(|| CauseTail {
            cause,
            wakeups,
            estimation: TailEstimation::of(&windows),
        })
    });
    Ok(Ok(tails.collect()))
}
