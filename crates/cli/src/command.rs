//! The subcommands, one file each.

mod compare;
mod completions;
mod delete;
mod doctor;
mod explain;
mod export;
mod gate;
mod import;
mod internal;
mod lab;
mod list;
mod measure;
mod quanta;
mod record;
mod report;
mod reproduce;
mod show;
mod tail;
mod watch;

use clap::Subcommand;
use std::io::IsTerminal;
use tactus_model::run::RunId;
use tactus_model::time::Realtime;
use tactus_report::TableOptions;
use tactus_store::Store;

use crate::error::CommandResult;

/// What to do.
#[derive(Subcommand)]
pub(crate) enum Command {
    Doctor(doctor::DoctorArguments),
    Measure(measure::MeasureArguments),
    Lab(lab::LabArguments),
    Watch(watch::WatchArguments),
    Record(record::RecordArguments),
    List(list::ListArguments),
    Show(show::ShowArguments),
    Explain(explain::ExplainArguments),
    Quanta(quanta::QuantaArguments),
    Report(report::ReportArguments),
    Reproduce(reproduce::ReproduceArguments),
    Compare(compare::CompareArguments),
    Gate(gate::GateArguments),
    Export(export::ExportArguments),
    Import(import::ImportArguments),
    Delete(delete::DeleteArguments),
    Completions(completions::CompletionsArguments),
    #[command(hide = true)]
    Internal(internal::InternalArguments),
}

impl Command {
    pub(crate) fn run(self) -> CommandResult {
        match self {
            Self::Doctor(arguments) => doctor::run(&arguments),
            Self::Measure(arguments) => measure::run(&arguments),
            Self::Lab(arguments) => lab::run(arguments),
            Self::Watch(arguments) => watch::run(&arguments),
            Self::Record(arguments) => record::run(&arguments),
            Self::List(arguments) => list::run(&arguments),
            Self::Show(arguments) => show::run(&arguments),
            Self::Explain(arguments) => explain::run(&arguments),
            Self::Quanta(arguments) => quanta::run(&arguments),
            Self::Report(arguments) => report::run(&arguments),
            Self::Reproduce(arguments) => reproduce::run(&arguments),
            Self::Compare(arguments) => compare::run(&arguments),
            Self::Gate(arguments) => gate::run(&arguments),
            Self::Export(arguments) => export::run(&arguments),
            Self::Import(arguments) => import::run(&arguments),
            Self::Delete(arguments) => delete::run(&arguments),
            Self::Completions(arguments) => completions::run(&arguments),
            Self::Internal(arguments) => internal::run(&arguments),
        }
    }
}

/// Opens the store where the environment says it is.
fn open_store() -> CommandResult<Store> {
    Ok(Store::open(&Store::default_path()?)?)
}

/// Finds each run that was named, or the last one when none was.
fn find_runs(store: &Store, names: &[String]) -> CommandResult<Vec<RunId>> {
    let last = ["last".to_owned()];
    let names = if names.is_empty() { &last[..] } else { names };
    names.iter().map(|name| Ok(store.find(name)?)).collect()
}

/// A seed to print and to type again: short, and another each time.
fn new_seed() -> u64 {
    tactus_sys::clock::now::<Realtime>().as_nanos() / 1000 % 1_000_000
}

/// Tables as wide as the terminal they go to.
fn table_options() -> TableOptions {
    let terminal = std::io::stdout().is_terminal().then(terminal_width).flatten();
    terminal.map_or_else(TableOptions::default, TableOptions::of_width)
}

fn terminal_width() -> Option<usize> {
    console::Term::stdout().size_checked().map(|(_, columns)| usize::from(columns))
}
