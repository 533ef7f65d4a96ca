//! `tactus report`: runs as one self-contained page.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use tactus_explain::account::TickRate;
use tactus_judge::purpose::Purpose;
use tactus_model::run::{Run, RunId};
use tactus_report::Conclusions;
use tactus_store::Store;

use super::show::verdicts;
use super::{explain, find_runs, open_store, quanta, tail};
use crate::error::{CommandError, CommandResult, ErrorKind};

/// Write runs as one self-contained HTML page.
#[derive(Args)]
pub(crate) struct ReportArguments {
    /// Runs by name, unique beginning of a name, or `last`
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

pub(crate) fn run(arguments: &ReportArguments) -> CommandResult {
    let store = open_store()?;
    let ids = find_runs(&store, &arguments.runs)?;
    let runs = ids.iter().map(|id| store.load(id)).collect::<Result<Vec<Run>, _>>()?;
    let path = match (&arguments.output, ids.first()) {
        (Some(path), _) => path.clone(),
        (None, Some(first)) => default_page(first)?,
        (None, None) => return Err(CommandError::usage("no run is named")),
    };
    let told = PageOptions { purposes: &arguments.purposes, ticks: &arguments.tick };
    write_page(&store, &runs, &told, &path)?;
    println!("{}", path.display());
    Ok(())
}

/// Where the page of a run goes unless told otherwise: `reports/` beside the store.
pub(super) fn default_page(run: &RunId) -> CommandResult<PathBuf> {
    let store = Store::default_path()?;
    let folder = store.parent().unwrap_or(Path::new(".")).join("reports");
    Ok(folder.join(format!("{run}.html")))
}

/// What the page of a run tells beyond the run itself.
pub(super) struct PageOptions<'a> {
    /// What the machine is for: how the run stands to that.
    pub(super) purposes: &'a [Purpose],
    /// What ticks of these rates would have billed, beside the kernel's own.
    pub(super) ticks: &'a [TickRate],
}

/// Writes the page of `runs` to `path`, making its folder when it is missing.
pub(super) fn write_page(
    store: &Store,
    runs: &[Run],
    told: &PageOptions<'_>,
    path: &Path,
) -> CommandResult {
    let concluded = runs
        .iter()
        .map(|run| {
            let explanations = explain::of_run(store, run)?;
            let accounts = quanta::of_run(store, run, told.ticks)?;
            let (tails, purposes) = (tail::of_run(store, run)?, verdicts(run, told.purposes));
            Ok(Conclusions { explanations, accounts, tails, purposes })
        })
        .collect::<CommandResult<Vec<_>>>()?;
    write_file(path, &tactus_report::page_of(runs, &concluded)?)
}

/// Writes a page, making its folder when it is missing.
pub(super) fn write_file(path: &Path, page: &str) -> CommandResult {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::write(path, page))
        .with_context(|| format!("{} cannot be written", path.display()))
        .map_err(|error| CommandError::new(ErrorKind::Unavailable, error))
}
