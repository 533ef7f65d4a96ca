//! `tactus list`: the runs in the store.

use std::io::Write;

use clap::{Args, ValueEnum};
use tactus_app::Places;
use tactus_app::catalogue::{self, Entry};
use tactus_app::runs::{self, Listing};
use tactus_model::format;

use crate::error::CommandResult;
use crate::json_lines::write_line;
use crate::terminal::{say, stdout, table_options};
use crate::values::whole;

/// List the runs in the store with their verdicts, or what can be named: experiments, loads, policies, settings.
///
/// Runs are listed the last added first.
/// The first one, measured or imported, is `last` in other commands (but see --continue of
/// `tactus measure`).
///
/// A verdict is computed from the whole run each time, so only the last runs are listed by
/// default.
///
/// Examples: tactus list --newest 5; tactus list loads
#[derive(Args)]
pub(crate) struct ListArguments {
    /// What to list
    #[arg(value_name = "WHAT", default_value = "runs")]
    what: What,
    /// Number of runs to list
    #[arg(short = 'n', long, value_name = "N", default_value = "20", conflicts_with = "all",
        value_parser = whole(1..=1_000_000_usize))]
    newest: usize,
    /// List all runs; takes about a second for 100 runs
    #[arg(long)]
    all: bool,
    /// Print JSON, one object a line
    #[arg(long)]
    json: bool,
}

/// What is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// The runs in the store
    Runs,
    /// The shipped experiments, for `tactus measure`
    Experiments,
    /// The values of --load
    Loads,
    /// The values of --policy and --load-policy
    Policies,
    /// The settings of a cell: options, and keys of experiment files
    Settings,
}

pub(crate) fn run(arguments: &ListArguments, places: &Places) -> CommandResult {
    let entries = match arguments.what {
        What::Runs => return runs(arguments, places),
        What::Experiments => catalogue::experiments()?,
        What::Loads => catalogue::loads(),
        What::Policies => catalogue::policies(),
        What::Settings => catalogue::settings()?,
    };
    if arguments.json {
        return Ok(entries.iter().try_for_each(write_line)?);
    }
    let width = entries.iter().map(|entry| entry.name.chars().count()).max().unwrap_or(0);
    let mut out = stdout();
    for entry in &entries {
        writeln!(out, "{:width$}  {}", entry.name, line(entry))?;
    }
    Ok(())
}

/// What an entry is, with its figures.
fn line(entry: &Entry) -> String {
    let Entry { about, default, cells, estimate, .. } = entry;
    let default = default.as_ref().map(|values| format!(" [default: {}]", values.join(", ")));
    let size = cells.zip(*estimate).map(|(cells, estimate)| {
        let cells = format::counted(cells as u64, "cell");
        format!(" [{cells}, about {}]", tactus_report::format::span(estimate))
    });
    format!("{about}{}{}", default.unwrap_or_default(), size.unwrap_or_default())
}

fn runs(arguments: &ListArguments, places: &Places) -> CommandResult {
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
