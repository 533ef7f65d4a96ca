//! `tactus list`: the runs in the store.

use std::io::Write;

use clap::Args;

use super::{open_store, table_options};
use crate::error::CommandResult;
use crate::json_lines::write_line;

/// List the runs in the store, the newest last.
#[derive(Args)]
pub(crate) struct ListArguments {
    /// Write one JSON object a line, a run each
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &ListArguments) -> CommandResult {
    let runs = open_store()?.list()?;
    if arguments.json {
        for run in &runs {
            write_line(run)?;
        }
    } else if runs.is_empty() {
        eprintln!("no run is in the store yet; `tactus measure` makes one");
    } else {
        write!(std::io::stdout(), "{}", tactus_report::runs_table(&runs, &table_options()))?;
    }
    Ok(())
}
