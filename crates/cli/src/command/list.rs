//! `tactus list`: the runs in the store.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Serialize;
use tactus_app::Places;
use tactus_app::catalogue::{self, Entry};
use tactus_app::runs::{self, Listing};
use tactus_model::format;
use tactus_model::recording::{EventSource, LateWakeup};
use tactus_record::file::RecordingFile;

use crate::error::CommandResult;
use crate::json_lines::write_line;
use crate::terminal::{say, stdout, table_options};
use crate::values::whole;

/// List the runs in the store with their verdicts, saved recordings, or what can be named: experiments, loads, policies, settings.
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
    /// Number of runs or recordings to list
    #[arg(short = 'n', long, value_name = "N", default_value = "20", conflicts_with = "all",
        value_parser = whole(1..=1_000_000_usize))]
    newest: usize,
    /// List all of them; takes about a second for 100 runs
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
    /// The recordings that `tactus agent` saved beside the store
    Recordings,
    /// The settings of a cell: options, and keys of experiment files
    Settings,
}

pub(crate) fn run(arguments: &ListArguments, places: &Places) -> CommandResult {
    let entries = match arguments.what {
        What::Runs => return runs(arguments, places),
        What::Recordings => return recordings(arguments, places),
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

/// A saved recording, for `--json`.
#[derive(Serialize)]
struct RecordingLine {
    file: PathBuf,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    late: Option<LateWakeup>,
}

/// The recordings that agents saved, the last first.
fn recordings(arguments: &ListArguments, places: &Places) -> CommandResult {
    let directory = places.recordings()?;
    let mut kept = tactus_agent::shelf::kept(&directory);
    kept.reverse();
    let older = kept.len().saturating_sub(arguments.newest);
    if !arguments.all {
        kept.truncate(arguments.newest);
    }
    if kept.is_empty() && !arguments.json {
        say!("there are no recordings in {}; `tactus agent` saves them", directory.display());
    }
    for kept in kept {
        let file = directory.join(&kept.name);
        // A file that an agent removes meanwhile, or that is damaged, has no wakeup.
        let late = RecordingFile::open(&file).ok().and_then(|file| file.about().saved_for);
        if arguments.json {
            write_line(&RecordingLine { file, bytes: kept.bytes, late })?;
            continue;
        }
        let late = late.map_or_else(String::new, |late| {
            format!("  {} late", tactus_report::format::latency(late.latency()))
        });
        writeln!(stdout(), "{}  {} KiB{late}", file.display(), kept.bytes.div_ceil(1024))?;
    }
    if older > 0 && !arguments.all {
        let older = format::counted(older as u64, "older recording");
        say!("{older} not listed; `tactus list recordings --all` lists all");
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
