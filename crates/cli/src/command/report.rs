//! `tactus report`: runs as one self-contained page.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
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
    write_page(&store, &runs, &arguments.purposes, &path)?;
    println!("{}", path.display());
    Ok(())
}

/// Where the page of a run goes unless told otherwise: `reports/` beside the store.
pub(super) fn default_page(run: &RunId) -> CommandResult<PathBuf> {
    let store = Store::default_path()?;
    let folder = store.parent().unwrap_or(Path::new(".")).join("reports");
    Ok(folder.join(format!("{run}.html")))
}

/// Writes the page of `runs` to `path`, with how they stand to `purposes`, making its folder
/// when it is missing.
pub(super) fn write_page(
    store: &Store,
    runs: &[Run],
    purposes: &[Purpose],
    path: &Path,
) -> CommandResult {
    let concluded = runs
        .iter()
        .map(|run| {
            let explanations = explain::of_run(store, run)?;
            let (accounts, tails) = (quanta::of_run(store, run)?, tail::of_run(store, run)?);
            let purposes = verdicts(run, purposes);
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
