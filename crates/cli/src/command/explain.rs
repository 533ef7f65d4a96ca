//! `tactus explain`: why the wakeups of a run were late, or the threads of a recording waited.

use std::io::Write;
use std::path::Path;

use clap::Args;
use serde::Serialize;
use tactus_app::explain::{self, ExplainedCell};
use tactus_app::runs::{Runs, Source};
use tactus_app::waits::{self, Question};
use tactus_app::{Places, Subject};
use tactus_model::run::RunId;
use tactus_model::time::Nanos;
use tactus_report::CellExplanation;

use crate::error::{CommandError, CommandResult};
use crate::json_lines::write_line;
use crate::terminal::table_options;

/// Say why wakeups were late: their causes, then the worst of them one by one.
///
/// Of a run it explains the probe's samples, from the events that were recorded while
/// each cell was measured a second time (--traced). Of a recording (`tactus record`) it
/// explains how long any thread that could run waited for a CPU. Either can be
/// repeated anywhere the run or the recording is, without privilege.
#[derive(Args)]
pub(crate) struct ExplainArguments {
    /// A run by name, unique beginning of a name, or `last`; or the file of an exported run or of a recording
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
    #[serde(flatten)]
    explained: &'a ExplainedCell,
}

pub(crate) fn run(arguments: &ExplainArguments, places: &Places) -> CommandResult {
    match Runs::new(places).source(arguments.run.as_deref())? {
        Source::Recording(path) => explain_recording(&path, arguments),
        Source::Run(subject) => explain_run(&subject, arguments),
    }
}

fn explain_run(subject: &Subject<'_>, arguments: &ExplainArguments) -> CommandResult {
    if !arguments.thread.is_empty() {
        let message = "--thread is for the file of a recording; of a run choose by --cell";
        return Err(CommandError::usage(message));
    }
    let ExplainArguments { threshold, worst, .. } = *arguments;
    let cells = explain::of_cells(subject, arguments.cell.as_deref(), threshold, worst)?;
    if arguments.json {
        let run = subject.id();
        let mut lines = cells.iter().map(|explained| CellLine { run, explained });
        return Ok(lines.try_for_each(|line| write_line(&line))?);
    }
    let cells: Vec<CellExplanation> = cells.into_iter().map(CellExplanation::from).collect();
    let text = tactus_report::explanation_text(&cells, &table_options());
    let limits = tactus_report::guests_text([subject.run()], &table_options());
    Ok(write!(std::io::stdout(), "{text}{limits}")?)
}

/// The names whose threads are explained when none was asked for: those that
/// waited longest.
const NAMES: usize = 3;

fn explain_recording(path: &Path, arguments: &ExplainArguments) -> CommandResult {
    if arguments.cell.is_some() {
        let message = "--cell is for a run; of a recording choose by --thread";
        return Err(CommandError::usage(message));
    }
    let ExplainArguments { threshold, worst, .. } = *arguments;
    let question = Question { threshold, threads: arguments.thread.clone(), worst };
    let found = waits::of_recording(path, &question)?;
    let mut explained = waits::late(&found);
    if arguments.json {
        return Ok(explained.iter().try_for_each(write_line)?);
    }
    if arguments.thread.is_empty() {
        explained.truncate(NAMES);
    }
    let text = tactus_report::waits_text(&found, &explained, threshold, &table_options());
    Ok(write!(std::io::stdout(), "{text}")?)
}
