//! `tactus list`: the runs in the store.

use std::io::Write;

use clap::Args;
use tactus_app::Places;
use tactus_app::runs::{self, Listing};
use tactus_model::format;

use crate::error::CommandResult;
use crate::json_lines::write_line;
use crate::terminal::{say, stdout, table_options};

/// List the runs in the store with their verdicts, the last added first.
///
/// The first one, measured or imported, is `last` in other commands (but see --continue of
/// `tactus measure`).
///
/// A verdict is computed from the whole run each time, so only the last runs are listed by
/// default.
///
/// Example: tactus list --newest 5
#[derive(Args)]
pub(crate) struct ListArguments {
    /// Number of runs to list
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, conflicts_with = "all")]
    newest: usize,
    /// List all runs; takes about a second for 100 runs
    #[arg(long)]
    all: bool,
    /// Print JSON, one object a line for each run
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &ListArguments, places: &Places) -> CommandResult {
    let newest = (!arguments.all).then_some(arguments.newest);
    let Listing { runs, older } = runs::list(&places.open_store_to_read()?, newest)?;
    if runs.is_empty() && older == 0 && !arguments.json {
        say!("there are no runs yet; `tactus measure` creates one");
        return Ok(());
    }
    if arguments.json {
        runs.iter().try_for_each(write_line)?;
    } else {
        let (summaries, verdicts): (Vec<_>, Vec<_>) =
            runs.into_iter().map(|run| (run.summary, run.verdict)).unzip();
        let table = tactus_report::runs_table(&summaries, &verdicts, &table_options());
        write!(stdout(), "{table}")?;
    }
    if older > 0 {
        let older = format::counted(older as u64, "older run");
        say!("{older} not listed; `tactus list --all` lists all runs");
    }
    Ok(())
}
