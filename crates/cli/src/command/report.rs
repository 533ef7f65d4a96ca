//! `tactus report`: runs as one self-contained page.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use tactus_app::page::{self, PageOptions};
use tactus_app::runs::Runs;
use tactus_app::{Places, files};
use tactus_explain::account::TickRate;
use tactus_judge::purpose::Purpose;

use crate::error::{CommandError, CommandResult};

/// Write runs as one self-contained HTML page.
#[derive(Args)]
pub(crate) struct ReportArguments {
    /// Runs by name, unique beginning of a name, `last`, or the file of an exported run
    #[arg(value_name = "RUN")]
    runs: Vec<String>,
    /// Write to this file instead of one beside the store
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// What the machine is for, as in `tactus show --for`; repeatable
    #[arg(long = "for", value_name = "PURPOSE")]
    purposes: Vec<Purpose>,
    /// Rates of simulated ticks, in Hz, to be shown beside the kernel's own in the accounts
    /// of recorded cells
    #[arg(long, value_name = "HZ,…", value_delimiter = ',')]
    tick: Vec<TickRate>,
}

pub(crate) fn run(arguments: &ReportArguments, places: &Places) -> CommandResult {
    let runs = Runs::new(places);
    let subjects = runs.find_all(&arguments.runs)?;
    let path = match (&arguments.output, subjects.first()) {
        (Some(path), _) => path.clone(),
        (None, Some(first)) => places.page(first.id())?,
        (None, None) => return Err(CommandError::usage("no run is named")),
    };
    let options = PageOptions { purposes: &arguments.purposes, ticks: &arguments.tick };
    files::write_page(&path, &page::of_runs(subjects, &options)?)?;
    Ok(writeln!(std::io::stdout(), "{}", path.display())?)
}
