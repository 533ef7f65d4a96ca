//! `tactus list`: the runs in the store.

use std::io::Write;

use clap::Args;
use serde::Serialize;
use tactus_judge::verdict::{Validity, verdict};
use tactus_model::run::RunSummary;

use super::{open_store, table_options};
use crate::error::CommandResult;
use crate::json_lines::write_line;

/// List the runs in the store with their verdicts, the newest last.
#[derive(Args)]
pub(crate) struct ListArguments {
    /// Write one JSON object a line, a run each
    #[arg(long)]
    json: bool,
}

/// A run as `--json` gives it.
#[derive(Serialize)]
struct ListedRun<'a> {
    #[serde(flatten)]
    summary: &'a RunSummary,
    validity: Validity,
}

pub(crate) fn run(arguments: &ListArguments) -> CommandResult {
    let store = open_store()?;
    let runs = store.list()?;
    if runs.is_empty() && !arguments.json {
        eprintln!("no run is in the store yet; `tactus measure` makes one");
        return Ok(());
    }
    let verdicts = runs
        .iter()
        .map(|run| Ok(verdict(&store.load(&run.id)?)))
        .collect::<CommandResult<Vec<_>>>()?;
    if arguments.json {
        for (summary, verdict) in runs.iter().zip(&verdicts) {
            write_line(&ListedRun { summary, validity: verdict.validity })?;
        }
    } else {
        let table = tactus_report::runs_table(&runs, &verdicts, &table_options());
        write!(std::io::stdout(), "{table}")?;
    }
    Ok(())
}
