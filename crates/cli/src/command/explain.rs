//! `tactus explain`: why the wakeups of a run were late, or where the time of the threads of a
//! recording went.

use std::io::Write;
use std::path::Path;

use clap::Args;
use serde::Serialize;
use tactus_app::explain::{self, ExplainedCell};
use tactus_app::runs::{Runs, Source};
use tactus_app::waits::{self, Question};
use tactus_app::{Places, Subject, jobs, recording};
use tactus_explain::Explanation;
use tactus_model::address::Address;
use tactus_model::run::RunId;
use tactus_model::time::Nanos;
use tactus_report::CellExplanation;

use crate::chosen_cell::chosen;
use crate::error::{CommandError, CommandResult};
use crate::json_lines::write_line;
use crate::terminal::{stdout, table_options, warn_of_missing_end};
use crate::values::{positive, whole};

/// Explain why wakeups were late: their causes, then the worst wakeups in detail.
///
/// For a run, it explains the probe's late samples from the events of each cell's traced window
/// (--traced of `tactus measure`). For a recording (`tactus record`), it divides the time of each
/// thread: on a CPU, waiting for one, blocked and on what, asleep by choice. Long waits have their
/// causes; the longest blocked stretches, the threads that had to act first. For a recording that
/// `tactus agent` saved, the late wakeup for which it was saved comes first. It needs no privilege and works on any machine.
///
/// Examples: tactus explain last --threshold 50us; tactus explain late.tactusrec --thread pipewire
#[derive(Args)]
pub(crate) struct ExplainArguments {
    /// Run: its name, a unique prefix of the name, `last`, or the file of an exported run or of a recording; or one cell of a run, as RUN#CELL
    #[arg(value_name = "RUN|FILE", default_value = "last")]
    run: Address,
    /// Explain only this cell of a run, like RUN#CELL: its number from 1, its label, or a part of its label [default: all cells]
    #[arg(long, value_name = "CELL", conflicts_with = "thread")]
    cell: Option<String>,
    /// Explain only threads of a recording with this name or thread ID; may be repeated [default: the most delayed threads]
    #[arg(long, value_name = "NAME|NUMBER")]
    thread: Vec<String>,
    /// Latency above which a wakeup is late
    #[arg(long, value_name = "DURATION", default_value = "100us")]
    threshold: Nanos,
    /// Explain only the jobs of periodic threads of a recording, from due to done; with --thread, late jobs are explained in any case
    ///
    /// A job is one period's work. It is due when the thread's timer is due or its waker regularly
    /// wakes it, and done when the thread sleeps until its next due time.
    #[arg(long, conflicts_with_all = ["cell", "threshold"])]
    jobs: bool,
    /// Period of the threads, for jobs [default: found from each thread's due times]
    #[arg(long, value_name = "DURATION", value_parser = positive)]
    period: Option<Nanos>,
    /// Time from due to done above which a job is late [default: the period]
    #[arg(long, value_name = "DURATION", value_parser = positive)]
    deadline: Option<Nanos>,
    /// Number of the slowest wakeups of a cell, or longest waits of a thread, to show in detail
    #[arg(long, value_name = "N", default_value = "3", value_parser = whole(0..=10_000_usize))]
    worst: usize,
    /// Print JSON, one object a line for each cell or thread name
    #[arg(long)]
    json: bool,
}

impl ExplainArguments {
    fn about_jobs(&self) -> jobs::Question {
        let Self { period, deadline, worst, .. } = *self;
        jobs::Question { threads: self.thread.clone(), period, deadline, worst }
    }
}

/// The explanation of a cell, for `--json`.
#[derive(Serialize)]
struct CellLine<'a> {
    run: &'a RunId,
    #[serde(flatten)]
    explained: &'a ExplainedCell,
}

/// The explanation of the wakeup for which a recording was saved, for `--json`.
#[derive(Serialize)]
struct SavedLine {
    saved_for: Explanation,
}

pub(crate) fn run(arguments: &ExplainArguments, places: &Places) -> CommandResult {
    match Runs::new(places).source(&chosen(&arguments.run, arguments.cell.as_deref())?)? {
        Source::Recording(path) if arguments.jobs => explain_jobs(&path, arguments),
        Source::Recording(path) => explain_recording(&path, arguments),
        Source::Run(subject) => explain_run(&subject, arguments),
    }
}

fn explain_run(subject: &Subject<'_>, arguments: &ExplainArguments) -> CommandResult {
    if !arguments.thread.is_empty() {
        let message = "`--thread` applies to recordings; select a cell of a run as RUN#CELL";
        return Err(CommandError::usage(message));
    }
    if arguments.jobs || arguments.period.is_some() || arguments.deadline.is_some() {
        let message = "`--jobs`, `--period` and `--deadline` apply to recordings";
        return Err(CommandError::usage(message));
    }
    let ExplainArguments { threshold, worst, .. } = *arguments;
    let cells = explain::of_cells(subject, threshold, worst)?;
    if arguments.json {
        let run = subject.id();
        let mut lines = cells.iter().map(|explained| CellLine { run, explained });
        return Ok(lines.try_for_each(|line| write_line(&line))?);
    }
    let cells: Vec<CellExplanation> = cells.into_iter().map(CellExplanation::from).collect();
    let text = tactus_report::explanation_text(&cells, &table_options());
    let limits = tactus_report::guests_text([subject.run()], &table_options());
    Ok(write!(stdout(), "{text}{limits}")?)
}

/// How many thread names are explained without `--thread`: the most delayed ones.
const NAMES: usize = 3;

fn explain_recording(path: &Path, arguments: &ExplainArguments) -> CommandResult {
    let ExplainArguments { threshold, worst, .. } = *arguments;
    let question = Question { threshold, threads: arguments.thread.clone(), worst };
    let mut recording = recording::open(path)?;
    warn_of_missing_end(&recording);
    if arguments.thread.is_empty()
        && let Some(explanation) = explain::of_saved(&mut recording, path)?
    {
        if arguments.json {
            write_line(&SavedLine { saved_for: explanation })?;
        } else {
            let text = tactus_report::saved_wakeup_text(&explanation, &table_options());
            write!(stdout(), "{text}")?;
        }
    }
    let found = waits::of_recording(&mut recording, path, &question)?;
    let mut explained = match arguments.thread.is_empty() {
        true => waits::delayed(&found),
        false => found.names.iter().collect(),
    };
    if arguments.json {
        return Ok(explained.iter().try_for_each(write_line)?);
    }
    if arguments.thread.is_empty() {
        explained.truncate(NAMES);
    }
    let text = tactus_report::waits_text(&found, &explained, threshold, worst, &table_options());
    let jobs = late_jobs(path, arguments)?;
    Ok(write!(stdout(), "{text}{jobs}")?)
}

/// The text about late jobs of the threads that were asked for; empty if there are none.
fn late_jobs(path: &Path, arguments: &ExplainArguments) -> CommandResult<String> {
    if arguments.thread.is_empty() {
        return Ok(String::new());
    }
    let found = jobs::periodic(&mut recording::open(path)?, path, &arguments.about_jobs())?;
    let late = jobs::late(&found);
    if late.is_empty() {
        return Ok(String::new());
    }
    Ok(format!("\n{}", tactus_report::jobs_text(&found, &late, false, &table_options())))
}

fn explain_jobs(path: &Path, arguments: &ExplainArguments) -> CommandResult {
    let mut recording = recording::open(path)?;
    warn_of_missing_end(&recording);
    let found = jobs::of_recording(&mut recording, path, &arguments.about_jobs())?;
    if arguments.json {
        return Ok(found.threads.iter().try_for_each(write_line)?);
    }
    let mut explained = jobs::late(&found);
    if arguments.thread.is_empty() {
        explained.truncate(NAMES);
    } else {
        explained = found.threads.iter().collect();
    }
    let aperiodic = !arguments.thread.is_empty() || found.threads.is_empty();
    let text = tactus_report::jobs_text(&found, &explained, aperiodic, &table_options());
    Ok(write!(stdout(), "{text}")?)
}
