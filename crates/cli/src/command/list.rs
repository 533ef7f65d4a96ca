//! `tactus list`: the runs in the store.

use std::io::Write;

use clap::Args;
use serde::Serialize;
use tactus_judge::verdict::{Validity, verdict};
use tactus_model::format;
use tactus_model::run::RunSummary;

use super::{open_store, table_options};
use crate::error::CommandResult;
use crate::json_lines::write_line;

/// List the runs in the store with their verdicts, the newest first.
///
/// A verdict is computed from all that a run found, each time, so only the newest runs are
/// looked at unless more are asked for.
#[derive(Args)]
pub(crate) struct ListArguments {
    /// How many runs to list, the newest
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, conflicts_with = "all")]
    newest: usize,
    /// List every run, which takes about a second for a hundred
    #[arg(long)]
    all: bool,
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
    let mut runs = store.list()?;
    let older = if arguments.all { 0 } else { runs.len().saturating_sub(arguments.newest) };
    runs.truncate(runs.len() - older);
    if runs.is_empty() && older == 0 && !arguments.json {
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
    if older > 0 {
        let older = format::counted(older as u64, "older run");
        eprintln!("{older} not listed; tactus list --all lists them too");
    }
    Ok(())
}
