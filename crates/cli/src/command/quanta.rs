//! `tactus quanta`: where the CPU time of a recording or a run went.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde::Serialize;
use tactus_app::runs::{Runs, Source};
use tactus_app::{Places, Subject, accounts, files, recording};
use tactus_explain::account::{Accounts, TickRate};
use tactus_model::address::Address;
use tactus_model::run::RunId;
use tactus_report::{
    AccountsBy, NamedAccounts, accounts_page, accounts_text, guests_notes, guests_text,
};

use crate::chosen_cell::chosen;
use crate::error::CommandResult;
use crate::json_lines::write_line;
use crate::terminal::{say, stdout, table_options, warn_of_missing_end};
use crate::values::whole;

/// Show where CPU time went: by program or thread, in which quanta, and what ticks billed.
///
/// It reads a recording (`tactus record`) or the recorded events of a run (--traced), and needs no
/// privilege. An effective quantum lasts from the switch to a thread until the switch away from it, for
/// any reason. Tick-based accounting charges a whole tick to the task that runs when the tick
/// occurs. The tables contain the CPU time used, the time billed by the kernel's recorded tick, and the
/// time that simulated ticks of other rates would have billed, at every phase.
///
/// Example: tactus record -o make.tactusrec -- make && tactus quanta make.tactusrec --by thread
#[derive(Args)]
pub(crate) struct QuantaArguments {
    /// File of a recording or of an exported run; or a run: its name, a unique prefix of the name, or `last`; or one cell of a run, as RUN#CELL
    #[arg(value_name = "FILE|RUN", default_value = "last")]
    source: Address,
    /// Show only this cell of a run, like RUN#CELL: its number from 1, its label, or a part of its label [default: all cells]
    #[arg(long, value_name = "CELL")]
    cell: Option<String>,
    /// What each row of a table stands for
    #[arg(long, value_enum, default_value_t = By::Program)]
    by: By,
    /// Rates of simulated ticks, in Hz, 1 to 100000
    #[arg(long, value_name = "HZ,…", value_delimiter = ',', default_value = "100,1000")]
    tick: Vec<TickRate>,
    /// Number of rows in a table; one more row contains the sum of the others
    #[arg(long, value_name = "N", default_value = "12", value_parser = whole(1..=10_000_usize))]
    top: usize,
    /// Print JSON, one object a line for each recording or cell
    #[arg(long, conflicts_with = "page")]
    json: bool,
    /// Also write an HTML page with graphs: the distribution of quanta, billed against used time
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

/// What each row of a table stands for.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    /// All processes with the same name
    Program,
    /// Each thread
    Thread,
}

/// The accounts of a recording or a cell, for `--json`.
#[derive(Serialize)]
struct AccountsLine<'a> {
    recording: Option<&'a Path>,
    run: Option<&'a RunId>,
    label: &'a str,
    accounts: &'a Accounts,
}

pub(crate) fn run(arguments: &QuantaArguments, places: &Places) -> CommandResult {
    match Runs::new(places).source(&chosen(&arguments.source, arguments.cell.as_deref())?)? {
        Source::Recording(path) => of_recording(&path, arguments),
        Source::Run(subject) => of_run(&subject, arguments),
    }
}

fn of_recording(path: &Path, arguments: &QuantaArguments) -> CommandResult {
    let mut recording = recording::open(path)?;
    warn_of_missing_end(&recording);
    let found = [accounts::of_recording(&mut recording, path, &arguments.tick)?];
    if arguments.json {
        return write_lines(&found, Some(path), None);
    }
    write!(stdout(), "{}", text(&found, arguments))?;
    write_page(arguments, &found[0].label, &found, Vec::new())
}

fn of_run(subject: &Subject<'_>, arguments: &QuantaArguments) -> CommandResult {
    let found = accounts::of_cells(subject, &arguments.tick)?;
    if arguments.json {
        return write_lines(&found, None, Some(subject.id()));
    }
    let limits = guests_text([subject.run()], &table_options());
    write!(stdout(), "{}{limits}", text(&found, arguments))?;
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
        say!("wrote {}", path.display());
    }
    Ok(())
}
