//! Why the wakeups of a run were late.

use std::path::Path;

use serde::Serialize;
use tactus_explain::{Explanation, Options, Origin, ProbeTask, Receiver, explain};
use tactus_judge::doctor::against_recording;
use tactus_model::cell::Cell;
use tactus_model::midi::{MidiProbe, Via};
use tactus_model::result::{Histogram, Measurement, Shortfall};
use tactus_model::run::Run;
use tactus_model::sample::{Sample, SampleBlock};
use tactus_model::time::Nanos;
use tactus_model::traced::{HandedOver, TracedStretch};
use tactus_record::file::RecordingFile;
use tactus_report::{CellExplanation, TracingCost};
use tactus_stats::LatencyHistogram;
use tactus_stats::paired::PairedDifference;

use crate::error::OrError;
use crate::{Error, ErrorKind, Result, Subject, plan, recording};

/// The explanation of a cell.
#[derive(Debug, Serialize)]
pub struct ExplainedCell {
    /// Its index in the plan.
    #[serde(rename = "number", serialize_with = "tactus_model::address::counted_from_one")]
    pub cell: usize,
    /// Its name within the run.
    pub label: String,
    /// The increase of its tasks' medians while events were recorded, in nanoseconds; `None`
    /// with fewer than two pairs of stretches.
    pub tracing_cost: Option<PairedDifference>,
    /// Why its samples were late.
    pub explanation: Explanation,
}

impl From<ExplainedCell> for CellExplanation {
    fn from(explained: ExplainedCell) -> Self {
        let ExplainedCell { cell: _, label, tracing_cost, explanation } = explained;
        Self { label, explanation, tracing_cost: tracing_cost.map(whole_nanos) }
    }
}

/// Explains the chosen cells of a run that were recorded: the samples later than
/// `threshold`, and each of the `worst` samples.
///
/// # Errors
/// Nothing was recorded, or it cannot be read.
pub fn of_cells(
    subject: &Subject<'_>,
    threshold: Nanos,
    worst: usize,
) -> Result<Vec<ExplainedCell>> {
    let options = Options { threshold, slowest: worst, timelines: worst };
    let found = explained(subject, options)?;
    if found.is_empty() { Err(nothing_recorded(subject.run())) } else { Ok(found) }
}

/// Explains the late wakeup for which a recording was saved; `None` if it was saved for another
/// reason.
///
/// # Errors
/// The file at `path` is damaged.
pub fn of_saved(recording: &mut RecordingFile, path: &Path) -> Result<Option<Explanation>> {
    let explained = recording::damaged(tactus_explain::explain_saved(recording), path);
    recording.rewind();
    explained
}

/// The explanations on the page of a run: every recorded cell.
///
/// # Errors
/// A recording cannot be read.
pub fn of_run(subject: &Subject<'_>) -> Result<Vec<CellExplanation>> {
    /// The number of worst wakeups of a cell on a page.
    const WORST: usize = 3;
    let options = Options { slowest: WORST, timelines: WORST, ..Options::default() };
    Ok(explained(subject, options)?.into_iter().map(CellExplanation::from).collect())
}

/// What delayed the late samples of the worst policy and of the best, a line each; or in one line why
/// nothing was recorded and how to record it. Empty for an imported run, without results, and for
/// probes that never sleep, which are not recorded.
pub fn causes(run: &Run, explanations: &[CellExplanation]) -> Vec<String> {
    let nothing_is_due = run.header.plan.cells.iter().all(|cell| cell.probe.never_sleeps());
    if run.header.origin.is_some() || run.measurements.is_empty() || nothing_is_due {
        return Vec::new();
    }
    if explanations.is_empty() {
        let Nothing { reason, refused } = nothing(run);
        // The verdict has the fix of a refusal.
        let how = if refused.is_some() { String::new() } else { how_to_record(run) };
        return vec![format!("Causes are unknown: {reason}. {how}").trim_end().to_owned()];
    }
    tactus_report::causes(run, explanations)
}

/// Explains the recorded cells, each pooled from its stretches.
fn explained(subject: &Subject<'_>, options: Options) -> Result<Vec<ExplainedCell>> {
    let labels = subject.run().header.plan.labels();
    let mut found = Vec::new();
    for cell in subject.cells() {
        let stretches = stretches(subject, cell, options)?.into_iter();
        let explanations = stretches.map(|(_, explanation)| explanation).collect();
        if let Some(explanation) = Explanation::pool(explanations, options.slowest) {
            let (label, tracing_cost) = (labels[cell].clone(), tracing_cost(subject.run(), cell));
            found.push(ExplainedCell { cell, label, tracing_cost, explanation });
        }
    }
    Ok(found)
}

/// Explains every recorded traced stretch of a cell.
pub(crate) fn stretches<'r>(
    subject: &'r Subject<'_>,
    cell: usize,
    options: Options,
) -> Result<Vec<(&'r TracedStretch, Explanation)>> {
    let settings = &subject.run().header.plan.cells[cell];
    if !settings.traced_events.explain_causes() {
        // The tasks that ran instead were not recorded, so blame would be wrong.
        return Ok(Vec::new());
    }
    let explained = subject.recorded(cell).map(|found| {
        let (traced, data) = found?;
        let tasks = probe_tasks(settings, traced, &data.samples)?;
        let mut source = recording::held(data.recording)?;
        Ok((traced, explain(&mut source, tasks, options).or_internal()?))
    });
    explained.collect()
}

/// The probe tasks of a traced stretch with their samples.
pub(crate) fn probe_tasks(
    cell: &Cell,
    traced: &TracedStretch,
    samples: &[(u32, SampleBlock)],
) -> Result<Vec<ProbeTask>> {
    let origin = match cell.probe.midi() {
        Some(MidiProbe { via: Via::Server, .. }) => Origin::Received,
        _ => Origin::Due(cell.probe.timer().sleep),
    };
    let mut tasks: Vec<ProbeTask> = traced
        .tasks
        .iter()
        .map(|task| ProbeTask {
            task: task.task,
            thread: task.thread,
            origin,
            opened: traced.opened,
            samples: Vec::new(),
            receiver: None,
        })
        .collect();
    for (number, block) in samples {
        let mut block = block.decode().or_internal()?;
        if let Some(frames) = cell.probe.frames() {
            // A player on ticks waits for the tick after its frame, not for the frame.
            for sample in &mut block {
                sample.due = frames.asked_for(sample.due, traced.window);
            }
        }
        if let Some(task) = tasks.iter_mut().find(|task| task.task == *number) {
            task.samples.extend(block);
        }
    }
    for (task, found) in tasks.iter_mut().zip(&traced.tasks) {
        let handed_over = found.handed_over.as_ref();
        task.receiver = handed_over.map(|found| receiver(&task.samples, found)).transpose()?;
        if task.receiver.is_none() && cell.probe.midi().is_some() && origin != Origin::Received {
            // The output thread alone shows nothing of the line.
            task.samples.clear();
        }
    }
    Ok(tasks)
}

/// Who took these samples, and when each was handed over.
fn receiver(samples: &[Sample], found: &HandedOver) -> Result<Receiver> {
    let mut handed = found.block.decode().or_internal()?.into_iter().peekable();
    let handed_over = samples.iter().map(|sample| {
        // Both are in the order of due times.
        while handed.next_if(|known| known.due < sample.due).is_some() {}
        let known = handed.next_if(|known| known.due == sample.due);
        // If it is not known when the thread was done, the receiver's waits show what happened.
        known.map_or(sample.due, |known| known.came)
    });
    Ok(Receiver { thread: found.receiver, handed_over: handed_over.collect() })
}

/// The increase of the medians of a cell's tasks while events were recorded.
///
/// A pair is a task's two windows in one turn, adjacent in time.
fn tracing_cost(run: &Run, cell: usize) -> Option<PairedDifference> {
    let differences: Vec<f64> = run.of_cell(cell).flat_map(differences).collect();
    PairedDifference::of(&differences)
}

/// The increase of the medians of all tasks of a run while events were recorded; `None` with
/// fewer than two pairs of stretches.
pub fn tracing_cost_of_run(run: &Run) -> Option<TracingCost> {
    let differences: Vec<f64> = run.measurements.iter().flat_map(differences).collect();
    PairedDifference::of(&differences).map(whole_nanos)
}

fn differences(measurement: &Measurement) -> Vec<f64> {
    let traced = measurement.traced.iter().flat_map(|traced| &traced.tasks);
    traced
        .filter_map(|task| {
            let untraced = measurement.tasks.iter().find(|other| other.task == task.task)?;
            let with = median(std::slice::from_ref(&task.latencies))?;
            Some(with - median(&untraced.blocks)?)
        })
        .collect()
}

fn median(histograms: &[Histogram]) -> Option<f64> {
    let mut all = LatencyHistogram::new();
    histograms.iter().for_each(|histogram| all.merge_record(histogram));
    all.quantile(0.5).map(|median| median.as_nanos() as f64)
}

fn whole_nanos(cost: PairedDifference) -> TracingCost {
    TracingCost {
        difference_ns: cost.mean.round() as i64,
        low_ns: cost.low.round() as i64,
        high_ns: cost.high.round() as i64,
        pairs: cost.pairs,
    }
}

/// Why a run has no recorded events that show causes.
struct Nothing<'r> {
    reason: String,
    refused: Option<&'r Shortfall>,
}

/// The command that records events in the same experiment, in a sentence; or why the user who
/// measured cannot record here.
fn how_to_record(run: &Run) -> String {
    let is_guest = |cell: &Cell| cell.target.guest().is_some();
    let refused = against_recording(&run.header.facts_before);
    if let Some(refused) = refused.filter(|_| !run.header.plan.cells.iter().all(is_guest)) {
        let fact = refused.fact;
        return format!("This user cannot record events: {fact}; `tactus doctor` shows the fix");
    }
    match plan::command_with(&run.header.plan, "traced", TRACED) {
        Some(command) => format!("To record events: {command}"),
        None => format!("To record events, add --traced {TRACED} to the command of this run"),
    }
}

/// A duration of traced windows in which every cell has hundreds of wakeups.
const TRACED: &str = "250ms";

/// The error for a run without recorded events, with the reason that the run contains.
pub(crate) fn nothing_recorded(run: &Run) -> Error {
    let Nothing { reason, refused } = nothing(run);
    let fix = refused.and_then(|shortfall| shortfall.fix.clone());
    Error::new(ErrorKind::Unavailable, reason).with_hint(fix.unwrap_or_else(|| how_to_record(run)))
}

fn nothing(run: &Run) -> Nothing<'_> {
    let refused = run
        .measurements
        .iter()
        .flat_map(|measurement| &measurement.shortfalls)
        .find(|shortfall| shortfall.asked.starts_with("traced"));
    let id = &run.header.id;
    let narrow = run.header.plan.cells.iter().any(|cell| !cell.traced_events.explain_causes());
    let reason = match refused {
        None if narrow => {
            format!("the recording of {id} does not contain causes: `traced-events` was not `all`")
        }
        Some(shortfall) => format!("{id} contains no recorded events: {}", shortfall.reason),
        None => format!("{id} contains no recorded events"),
    };
    Nothing { reason, refused }
}
