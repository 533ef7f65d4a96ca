//! `tactus quanta`: where the CPU time of a recording or a run went.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde::Serialize;
use tactus_app::runs::{Runs, Source};
use tactus_app::{Places, Subject, accounts, files};
use tactus_explain::account::{Accounts, TickRate};
use tactus_model::run::RunId;
use tactus_report::{
    AccountsBy, NamedAccounts, accounts_page, accounts_text, guests_notes, guests_text,
};

use crate::error::{CommandError, CommandResult};
use crate::json_lines::write_line;
use crate::terminal::table_options;

/// Say where CPU time went: by whom, in which quanta, and what ticks billed.
///
/// An effective quantum lasts from a thread's being switched in to its being switched
/// out, for whatever reason. Reads a recording (`tactus record -- COMMAND`) or what was
/// recorded in a run (--traced), and needs no privilege. Beside the time that was used
/// stands what a clock tick bills, which charges the whole of itself to whoever runs when
/// it comes: the kernel's own tick as it was recorded, and ticks of any rate laid over
/// the same recording, at every phase.
#[derive(Args)]
pub(crate) struct QuantaArguments {
    /// The file of a recording or of an exported run; or a run by name, unique beginning of a name, or `last`
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

pub(crate) fn run(arguments: &QuantaArguments, places: &Places) -> CommandResult {
    match Runs::new(places).source(arguments.source.as_deref())? {
        Source::Recording(path) => of_recording(&path, arguments),
        Source::Run(subject) => of_run(&subject, arguments),
    }
}

fn of_recording(path: &Path, arguments: &QuantaArguments) -> CommandResult {
    if arguments.cell.is_some() {
        return Err(CommandError::usage("--cell is for a run; a recording has no cells"));
    }
    let found = [accounts::of_recording(path, &arguments.tick)?];
    if arguments.json {
        return write_lines(&found, Some(path), None);
    }
    write!(std::io::stdout(), "{}", text(&found, arguments))?;
    write_page(arguments, &found[0].label, &found, Vec::new())
}

fn of_run(subject: &Subject<'_>, arguments: &QuantaArguments) -> CommandResult {
    let found = accounts::of_cells(subject, arguments.cell.as_deref(), &arguments.tick)?;
    if arguments.json {
        return write_lines(&found, None, Some(subject.id()));
    }
    let limits = guests_text([subject.run()], &table_options());
    write!(std::io::stdout(), "{}{limits}", text(&found, arguments))?;
    write_page(arguments, subject.id().as_str(), &found, guests_notes([subject.run()]))
}

fn write_lines(
    found: &[NamedAccounts],
    recording: Option<&Path>,
    run: Option<&RunId>,
) -> CommandResult {
    for NamedAccounts { label, accounts } in found {
        write_line(&AccountsLine { recording, run, label, accounts })?;
    }
    Ok(())
}

fn text(found: &[NamedAccounts], arguments: &QuantaArguments) -> String {
    let by = match arguments.by {
        By::Program => AccountsBy::Program,
        By::Thread => AccountsBy::Thread,
    };
    accounts_text(found, by, arguments.top, &table_options())
}

fn write_page(
    arguments: &QuantaArguments,
    title: &str,
    found: &[NamedAccounts],
    limits: Vec<String>,
) -> CommandResult {
    if let Some(path) = &arguments.page {
        files::write(path, accounts_page(title, found, limits)?)?;
        eprintln!("{}", path.display());
    }
    Ok(())
}
