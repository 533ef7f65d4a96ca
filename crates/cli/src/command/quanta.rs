//! `tactus quanta`: where the processor time of a recording or a run went.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, ValueEnum};
use serde::Serialize;
use tactus_explain::account::{AccountOptions, Accounts, TickRate, account};
use tactus_model::run::{Run, RunId};
use tactus_record::file::RecordingFile;
use tactus_report::{
    AccountsBy, NamedAccounts, accounts_page, accounts_text, guests_notes, guests_text,
};
use tactus_store::Store;

use super::{explain, find_runs, open_store, table_options};
use crate::error::{CommandError, CommandResult, ErrorKind};
use crate::json_lines::write_line;

/// Say where processor time went: by whom, in which quanta, and what ticks billed.
///
/// An effective quantum lasts from a thread's being switched in to its being switched
/// out, for whatever reason. Reads a recording (`tactus record -- COMMAND`) or what was
/// recorded in a run (--traced), and needs no privilege. Beside the time that was used
/// stands what a clock tick bills, which charges the whole of itself to whoever runs when
/// it comes: the kernel's own tick as it was recorded, and ticks of any rate laid over
/// the same recording, at every phase.
#[derive(Args)]
pub(crate) struct QuantaArguments {
    /// The file of a recording; or a run by name, unique beginning of a name, or `last`
    #[arg(value_name = "FILE|RUN")]
    source: Option<String>,
    /// Of a run one cell only: its name, or its number counted from 0
    #[arg(long, value_name = "CELL")]
    cell: Option<String>,
    /// By what the rows are
    #[arg(long, value_enum, default_value_t = By::Program)]
    by: By,
    /// Rates of simulated ticks, in Hz
    #[arg(long, value_name = "HZ,…", value_delimiter = ',', default_value = "100,1000")]
    tick: Vec<TickRate>,
    /// How many rows a table has; what the others used is told in one
    #[arg(long, value_name = "N", default_value = "12")]
    top: usize,
    /// Write one JSON object a line, a recording or a cell each
    #[arg(long, conflicts_with = "page")]
    json: bool,
    /// Also write a page with drawings: the distribution of quanta, billed against used
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

/// By what rows are.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    /// Processes of one name together
    Program,
    /// Each thread
    Thread,
}

/// The accounts of a recording or a cell, as `--json` gives them.
#[derive(Serialize)]
struct AccountsLine<'a> {
    recording: Option<&'a Path>,
    run: Option<&'a RunId>,
    label: &'a str,
    accounts: &'a Accounts,
}

pub(crate) fn run(arguments: &QuantaArguments) -> CommandResult {
    let options = AccountOptions { rates: arguments.tick.clone() };
    let file = arguments.source.as_deref().map(Path::new).filter(|path| path.is_file());
    let mut limits = (String::new(), Vec::new());
    let (title, run, told) = match file {
        Some(path) => {
            if arguments.cell.is_some() {
                return Err(CommandError::usage("--cell is for a run; a recording has no cells"));
            }
            (name_of(path), None, vec![of_file(path, &options)?])
        }
        None => {
            let (run, told) = of_source(arguments, &options)?;
            limits = (guests_text([&run], &table_options()), guests_notes([&run]));
            let id = run.header.id;
            (id.to_string(), Some(id), told)
        }
    };
    if arguments.json {
        for NamedAccounts { label, accounts } in &told {
            write_line(&AccountsLine { recording: file, run: run.as_ref(), label, accounts })?;
        }
        return Ok(());
    }
    let by = match arguments.by {
        By::Program => AccountsBy::Program,
        By::Thread => AccountsBy::Thread,
    };
    let text = accounts_text(&told, by, arguments.top, &table_options());
    write!(std::io::stdout(), "{text}{}", limits.0)?;
    if let Some(path) = &arguments.page {
        let page = accounts_page(&title, &told, limits.1)?;
        fs::write(path, page)
            .with_context(|| format!("{} cannot be written", path.display()))
            .map_err(|error| CommandError::new(ErrorKind::Unavailable, error))?;
        eprintln!("{}", path.display());
    }
    Ok(())
}

fn of_file(path: &Path, options: &AccountOptions) -> CommandResult<NamedAccounts> {
    let told = |error: anyhow::Error| CommandError::new(ErrorKind::Unavailable, error);
    let mut source = RecordingFile::open(path)
        .with_context(|| format!("{} is no recording that can be read", path.display()))
        .map_err(|error| {
            CommandError::new(ErrorKind::Usage, error)
                .with_hint("tactus record writes one; `tactus list` shows the runs there are")
        })?;
    let accounts = account(&mut source, options)
        .with_context(|| format!("{} is damaged", path.display()))
        .map_err(told)?;
    Ok(NamedAccounts { label: name_of(path), accounts })
}

/// The name of a file without its folders.
fn name_of(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// The accounts of the run that is named, or of the last.
fn of_source(
    arguments: &QuantaArguments,
    options: &AccountOptions,
) -> CommandResult<(Run, Vec<NamedAccounts>)> {
    let store = open_store()?;
    let names: Vec<String> = arguments.source.iter().cloned().collect();
    let id = find_runs(&store, &names)?.remove(0);
    let run = store.load(&id)?;
    let cells = explain::chosen(&run.header.plan.labels(), arguments.cell.as_deref())?;
    let told = of_cells(&store, &run, &cells, options)?;
    if told.is_empty() {
        return Err(explain::nothing_recorded(&run));
    }
    Ok((run, told))
}

/// The accounts that the page of a run shows: those of every cell that was recorded, with
/// ticks of these rates beside the kernel's own.
pub(super) fn of_run(
    store: &Store,
    run: &Run,
    rates: &[TickRate],
) -> CommandResult<Vec<NamedAccounts>> {
    let cells: Vec<usize> = (0..run.header.plan.cells.len()).collect();
    of_cells(store, run, &cells, &AccountOptions { rates: rates.to_vec() })
}

/// The accounts of cells, the recorded stretches of each put together.
fn of_cells(
    store: &Store,
    run: &Run,
    cells: &[usize],
    options: &AccountOptions,
) -> CommandResult<Vec<NamedAccounts>> {
    let labels = run.header.plan.labels();
    let mut told = Vec::new();
    for &cell in cells {
        if !run.header.plan.cells[cell].traced_events.show_who_ran() {
            // Who ran when the measured tasks did not was not recorded.
            continue;
        }
        let mut stretches = Vec::new();
        for measurement in run.of_cell(cell) {
            let kept = measurement.traced.is_some();
            let turn = measurement.turn;
            let evidence = if kept { store.recording(&run.header.id, turn)? } else { None };
            let Some(evidence) = evidence else { continue };
            let mut source =
                RecordingFile::from_bytes(evidence.recording).map_err(CommandError::internal)?;
            stretches.push(account(&mut source, options).map_err(CommandError::internal)?);
        }
        if let Some(accounts) = Accounts::pool(stretches) {
            told.push(NamedAccounts { label: labels[cell].clone(), accounts });
        }
    }
    Ok(told)
}
