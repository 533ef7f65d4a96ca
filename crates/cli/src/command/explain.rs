//! `tactus explain`: why the wakeups of a run were late, or the threads of a recording waited.

pub(super) mod recording;

use std::io::Write;
use std::path::Path;

use clap::Args;
use serde::Serialize;
use tactus_explain::{Explanation, Options, Origin, ProbeTask, explain};
use tactus_model::cell::Cell;
use tactus_model::result::{Histogram, Measurement};
use tactus_model::run::{Run, RunId};
use tactus_model::time::Nanos;
use tactus_model::traced::{TracedData, TracedStretch};
use tactus_record::file::RecordingFile;
use tactus_report::{CellExplanation, TracingCost};
use tactus_stats::LatencyHistogram;
use tactus_stats::paired::PairedDifference;
use tactus_store::Store;

use super::{find_runs, open_store, table_options};
use crate::error::{CommandError, CommandResult, ErrorKind};
use crate::json_lines::write_line;

/// Say why wakeups were late: their causes, then the worst of them one by one.
///
/// Of a run it explains the probe's samples, from the events that were recorded while
/// each cell was measured a second time (--traced). Of a recording (`tactus record`) it
/// explains how long any thread that could run waited for a processor. Either can be
/// repeated anywhere the run or the recording is, without privilege.
#[derive(Args)]
pub(crate) struct ExplainArguments {
    /// A run by name, unique beginning of a name, or `last`; or the file of a recording
    #[arg(value_name = "RUN|FILE")]
    run: Option<String>,
    /// Of a run one cell only: its name, or its number counted from 0
    #[arg(long, value_name = "CELL", conflicts_with = "thread")]
    cell: Option<String>,
    /// Of a recording only threads of this name or number; may be given several times
    #[arg(long, value_name = "NAME|NUMBER")]
    thread: Vec<String>,
    /// The latency above which a wakeup counts as late
    #[arg(long, value_name = "LENGTH", default_value = "100us")]
    threshold: Nanos,
    /// How many of the slowest wakeups of a cell, or waits of a thread, are shown
    #[arg(long, value_name = "N", default_value = "3")]
    worst: usize,
    /// Write one JSON object a line, a cell or a name of threads each
    #[arg(long)]
    json: bool,
}

/// The explanation of a cell, as `--json` gives it.
#[derive(Serialize)]
struct CellLine<'a> {
    run: &'a RunId,
    cell: usize,
    label: &'a str,
    tracing_cost: Option<PairedDifference>,
    explanation: &'a Explanation,
}

pub(crate) fn run(arguments: &ExplainArguments) -> CommandResult {
    if let Some(path) = arguments.run.as_deref().map(Path::new).filter(|path| path.is_file()) {
        return recording::run(path, arguments);
    }
    if !arguments.thread.is_empty() {
        let message = "--thread is for the file of a recording; of a run choose by --cell";
        return Err(CommandError::usage(message));
    }
    let store = open_store()?;
    let names: Vec<String> = arguments.run.iter().cloned().collect();
    for id in find_runs(&store, &names)? {
        let run = store.load(&id)?;
        let labels = run.header.plan.labels();
        let mut told = Vec::new();
        let options = options(arguments.threshold, arguments.worst);
        for cell in chosen(&labels, arguments.cell.as_deref())? {
            let Some(explanation) = explained(&store, &run, cell, options)? else { continue };
            let (label, cost) = (labels[cell].clone(), tracing_cost(&run, cell));
            if arguments.json {
                let (label, tracing_cost) = (label.as_str(), cost);
                let explanation = &explanation;
                write_line(&CellLine { run: &id, cell, label, tracing_cost, explanation })?;
            }
            let tracing_cost = cost.map(whole_nanos);
            told.push(CellExplanation { label, explanation, tracing_cost });
        }
        if told.is_empty() {
            return Err(nothing_recorded(&run));
        }
        if !arguments.json {
            let text = tactus_report::explanation_text(&told, &table_options());
            let limits = tactus_report::guests_text([&run], &table_options());
            write!(std::io::stdout(), "{text}{limits}")?;
        }
    }
    Ok(())
}

/// The explanations that the page of a run shows: every cell that was recorded.
pub(super) fn of_run(store: &Store, run: &Run) -> CommandResult<Vec<CellExplanation>> {
    let options = options(Options::default().threshold, WORST_ON_A_PAGE);
    let mut told = Vec::new();
    for (cell, label) in run.header.plan.labels().into_iter().enumerate() {
        if let Some(explanation) = explained(store, run, cell, options)? {
            let tracing_cost = tracing_cost(run, cell).map(whole_nanos);
            told.push(CellExplanation { label, explanation, tracing_cost });
        }
    }
    Ok(told)
}

/// The worst wakeups of a cell that a page draws.
const WORST_ON_A_PAGE: usize = 3;

fn options(threshold: Nanos, worst: usize) -> Options {
    Options { threshold, slowest: worst, timelines: worst }
}

/// The numbers of the cells that were asked for.
pub(super) fn chosen(labels: &[String], wanted: Option<&str>) -> CommandResult<Vec<usize>> {
    let Some(wanted) = wanted else { return Ok((0..labels.len()).collect()) };
    let by_name = labels.iter().position(|label| label == wanted);
    let by_number = || wanted.parse().ok().filter(|number| *number < labels.len());
    match by_name.or_else(by_number) {
        Some(cell) => Ok(vec![cell]),
        None => {
            let cells: Vec<String> = labels
                .iter()
                .enumerate()
                .map(|(number, label)| format!("{number} {label}"))
                .collect();
            let message = format!("no cell is called `{wanted}`; there are: {}", cells.join(", "));
            Err(CommandError::usage(message))
        }
    }
}

/// Explains every traced stretch of a cell and puts the explanations together; none
/// where nothing was recorded.
fn explained(
    store: &Store,
    run: &Run,
    cell: usize,
    options: Options,
) -> CommandResult<Option<Explanation>> {
    let stretches = explained_stretches(store, run, cell, options)?;
    let explanations = stretches.into_iter().map(|(_, explanation)| explanation).collect();
    Ok(Explanation::pool(explanations, options.slowest))
}

/// Explains every traced stretch of a cell that was recorded.
pub(super) fn explained_stretches<'r>(
    store: &Store,
    run: &'r Run,
    cell: usize,
    options: Options,
) -> CommandResult<Vec<(&'r TracedStretch, Explanation)>> {
    let settings = &run.header.plan.cells[cell];
    if !settings.traced_events.explain_causes() {
        // Who ran instead was not recorded, so blame would fall on the wrong ones.
        return Ok(Vec::new());
    }
    let mut stretches = Vec::new();
    for measurement in run.of_cell(cell) {
        let Some(traced) = &measurement.traced else { continue };
        let Some(TracedData { samples, recording }) =
            store.recording(&run.header.id, measurement.turn)?
        else {
            continue;
        };
        let mut source = RecordingFile::from_bytes(recording).map_err(CommandError::internal)?;
        let tasks = probe_tasks(settings, traced, &samples)?;
        let stretch = explain(&mut source, tasks, options).map_err(CommandError::internal)?;
        stretches.push((traced, stretch));
    }
    Ok(stretches)
}

/// What the tasks of a traced stretch were, with their samples.
pub(super) fn probe_tasks(
    cell: &Cell,
    traced: &TracedStretch,
    samples: &[(u32, tactus_model::sample::SampleBlock)],
) -> CommandResult<Vec<ProbeTask>> {
    let probe = cell.probe.timer();
    let mut tasks: Vec<ProbeTask> = traced
        .tasks
        .iter()
        .map(|task| ProbeTask {
            task: task.task,
            thread: task.thread,
            origin: Origin::Due(probe.sleep),
            opened: traced.opened,
            samples: Vec::new(),
        })
        .collect();
    for (number, block) in samples {
        let mut block = block.decode().map_err(CommandError::internal)?;
        if let Some(frames) = cell.probe.frames() {
            // A player on ticks does not wait for its frame, but for the tick after it.
            for sample in &mut block {
                sample.due = frames.asked_for(sample.due, traced.window);
            }
        }
        if let Some(task) = tasks.iter_mut().find(|task| task.task == *number) {
            task.samples.extend(block);
        }
    }
    Ok(tasks)
}

/// By how much the medians of a cell's tasks were longer while events were recorded.
///
/// The pair is a task's two windows in one turn, next to each other in time.
fn tracing_cost(run: &Run, cell: usize) -> Option<PairedDifference> {
    let differences: Vec<f64> = run.of_cell(cell).flat_map(differences).collect();
    PairedDifference::of(&differences)
}

/// The same over all cells of a run; none where fewer than two pairs tell it.
pub(super) fn cost_of_cells(run: &Run) -> Option<TracingCost> {
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

/// Says that there is nothing to explain from, and why, as far as the run tells.
pub(super) fn nothing_recorded(run: &Run) -> CommandError {
    let refused = run
        .measurements
        .iter()
        .flat_map(|measurement| &measurement.shortfalls)
        .find(|shortfall| shortfall.asked.starts_with("traced"));
    let id = &run.header.id;
    let narrow = run.header.plan.cells.iter().any(|cell| !cell.traced_events.explain_causes());
    let reason = match refused {
        None if narrow => {
            format!("what was recorded in {id} tells no causes: traced-events was not `all`")
        }
        Some(shortfall) => format!("no events were recorded in {id}: {}", shortfall.reason),
        None => format!("no events were recorded in {id}"),
    };
    let mend = refused.and_then(|shortfall| shortfall.fix.clone());
    CommandError::new(ErrorKind::Unavailable, anyhow::anyhow!(reason))
        .with_hint(mend.unwrap_or_else(|| "tactus measure --traced 1s".to_owned()))
}
