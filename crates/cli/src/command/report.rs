//! `tactus report`: runs as one self-contained page.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use tactus_app::page::{self, PageOptions};
use tactus_app::runs::Runs;
use tactus_app::{Places, files};
use tactus_explain::account::TickRate;
use tactus_judge::purpose::Purpose;
use tactus_model::address::Address;

use crate::error::{CommandError, CommandResult};
use crate::terminal::stdout;

/// Write one self-contained HTML page about one or several runs.
///
/// The page contains the verdicts, percentile graphs, explanations and CPU accounts of the runs,
/// and needs no network. Its path is printed.
///
/// Example: tactus report before after -o page.html
#[derive(Args)]
pub(crate) struct ReportArguments {
    /// Runs: names, unique prefixes of names, `last`, or files of exported runs; or single cells, as RUN#CELL [default: last]
    #[arg(value_name = "RUN")]
    runs: Vec<Address>,
    /// File of the page [default: a file in reports/ beside the store]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// What the machine is for: audio:RATE/FRAMES, control:RATE:LATENESS, video:RATE, midi, or PERIOD:LATENESS; the page shows how often its deadlines are missed; may be repeated
    #[arg(long = "for", value_name = "PURPOSE")]
    purposes: Vec<Purpose>,
    /// Rates of simulated ticks, in Hz, shown beside the kernel's tick in the CPU accounts of
    /// recorded cells [default: none]
    #[arg(long, value_name = "HZ,…", value_delimiter = ',')]
    tick: Vec<TickRate>,
}

pub(crate) fn run(arguments: &ReportArguments, places: &Places) -> CommandResult {
    let runs = Runs::new(places);
    let subjects = runs.find_all(&arguments.runs)?;
    let output = arguments.output.as_deref();
    output.map_or(Ok(()), files::check)?;
    let Some(first) = subjects.first().map(|first| first.id().clone()) else {
        return Err(CommandError::usage("no run is given"));
    };
    let options = PageOptions { purposes: &arguments.purposes, ticks: &arguments.tick };
    let page = page::of_runs(subjects, &options)?;
    let written = files::write_page(output, || places.page(&first), &page);
    // By default the page is beside the store, which may be another user's.
    let hint = output.is_none().then(|| "name a file with `-o FILE`".to_owned());
    let path = written.map_err(|error| error.with_hint_if_any(hint))?;
    Ok(writeln!(stdout(), "{}", path.display())?)
}
