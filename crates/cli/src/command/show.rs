//! `tactus show`: one run in full, as text.

use std::io::Write;

use clap::Args;
use serde::Serialize;
use tactus_judge::purpose::{Purpose, PurposeVerdict};
use tactus_judge::verdict::{Verdict, verdict};
use tactus_model::run::{Run, RunHeader};
use tactus_report::CellTail;
use tactus_stats::CellSummary;
use tactus_stats::frames::PlayerSummary;

use super::{find_runs, open_store, table_options, tail};
use crate::error::CommandResult;
use crate::json_lines::write_line;

/// Show runs in full: verdict, cells, what was not granted, the machine.
#[derive(Args)]
pub(crate) struct ShowArguments {
    /// Runs by name, unique beginning of a name, or `last`
    #[arg(value_name = "RUN")]
    runs: Vec<String>,
    /// What the machine is for: audio:48000/64, control:1kHz:50us, video:60, midi, or a period and
    /// the lateness that does no harm, as 2ms:100us; repeatable
    #[arg(long = "for", value_name = "PURPOSE")]
    purposes: Vec<Purpose>,
    /// Write one JSON object a line, a run each, with the summary of every cell
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct RunOverview<'a> {
    #[serde(flatten)]
    header: &'a RunHeader,
    /// The digest of what all guests said in exact time.
    #[serde(skip_serializing_if = "Option::is_none")]
    exact_sha256: Option<String>,
    verdict: Verdict,
    cells: Vec<CellOverview>,
    longer_times: Vec<CellTail>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    purposes: Vec<PurposeVerdict>,
}

/// A cell's name and summary, as `--json` gives them.
#[derive(Serialize)]
pub(super) struct CellOverview {
    cell: usize,
    label: String,
    #[serde(flatten)]
    summary: CellSummary,
    /// What its players came to, where it has some.
    #[serde(skip_serializing_if = "Option::is_none")]
    frames: Option<PlayerSummary>,
}

/// Sums up every cell of `run` that yielded a result.
pub(super) fn cell_overviews(run: &Run) -> Vec<CellOverview> {
    let labels = run.header.plan.labels();
    labels
        .into_iter()
        .zip(&run.header.plan.cells)
        .enumerate()
        .filter_map(|(cell, (label, settings))| {
            let measurements: Vec<_> = run.of_cell(cell).collect();
            let summary = CellSummary::pool(&measurements);
            let frames = PlayerSummary::of(settings, summary.accounting);
            (!measurements.is_empty()).then_some(CellOverview { cell, label, summary, frames })
        })
        .collect()
}

pub(crate) fn run(arguments: &ShowArguments) -> CommandResult {
    let store = open_store()?;
    for id in find_runs(&store, &arguments.runs)? {
        let run = store.load(&id)?;
        if arguments.json {
            let (verdict, cells) = (verdict(&run), cell_overviews(&run));
            let longer_times = tail::of_run(&store, &run)?;
            let purposes = verdicts(&run, &arguments.purposes);
            write_line(&RunOverview {
                header: &run.header,
                exact_sha256: tactus_report::exact_digest(&run),
                verdict,
                cells,
                longer_times,
                purposes,
            })?;
        } else {
            let mut out = std::io::stdout().lock();
            let options = table_options();
            write!(out, "{}", tactus_report::run_details(&run, &options))?;
            let longer_times = tactus_report::tail_text(&tail::of_run(&store, &run)?, &options);
            write!(out, "\nLonger times than were measured\n\n{longer_times}")?;
            let purposes = verdicts(&run, &arguments.purposes);
            write!(out, "{}", tactus_report::purposes_text(&purposes, &options))?;
        }
    }
    Ok(())
}

/// How every cell of `run` stands to each purpose.
pub(super) fn verdicts(run: &Run, purposes: &[Purpose]) -> Vec<PurposeVerdict> {
    purposes.iter().flat_map(|purpose| PurposeVerdict::of_run(run, *purpose)).collect()
}
