//! `tactus show`: all of a run, as text.

use std::io::Write;

use clap::Args;
use tactus_app::overview::{self, RunOverview};
use tactus_app::runs::Runs;
use tactus_app::{Places, Subject, explain, tail};
use tactus_judge::purpose::Purpose;
use tactus_model::address::Address;

use crate::error::CommandResult;
use crate::json_lines::write_line;
use crate::table_form_options::TableFormOptions;
use crate::terminal::{stdout, table_options};

/// Show a run: verdict, cells, shortfalls, the machine, estimates for longer times.
///
/// With --csv or --markdown, the cells of all runs are one table.
///
/// Examples: tactus show last --for audio:48000/64; tactus show before after --csv
#[derive(Args)]
pub(crate) struct ShowArguments {
    /// Runs: names, unique prefixes of names, `last`, or files of exported runs; or single cells, as RUN#CELL [default: last]
    #[arg(value_name = "RUN")]
    runs: Vec<Address>,
    /// What the machine is for: audio:RATE/FRAMES, control:RATE:LATENESS, video:RATE, midi, or
    /// PERIOD:LATENESS, e.g. audio:48000/64, control:1kHz:50us, 2ms:100us; prints
    /// how often its deadlines are missed; may be repeated
    #[arg(long = "for", value_name = "PURPOSE")]
    purposes: Vec<Purpose>,
    /// Print JSON, one object a line for each run, with the summary of every cell
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    table: TableFormOptions,
}

pub(crate) fn run(arguments: &ShowArguments, places: &Places) -> CommandResult {
    let runs = Runs::new(places);
    let subjects = runs.find_all(&arguments.runs)?;
    if let Some(form) = arguments.table.form() {
        let runs: Vec<_> = subjects.iter().map(Subject::run).collect();
        return Ok(write!(stdout(), "{}", tactus_report::cells_file(&runs, form))?);
    }
    for subject in subjects {
        if arguments.json {
            write_line(&RunOverview::of(&subject, &arguments.purposes)?)?;
        } else {
            print(&subject, &arguments.purposes)?;
        }
    }
    Ok(())
}

fn print(subject: &Subject<'_>, purposes: &[Purpose]) -> CommandResult {
    let mut out = stdout();
    let options = table_options();
    let causes = explain::causes(subject.run(), &explain::of_run(subject)?);
    write!(out, "{}", tactus_report::run_details(subject.run(), &causes, &options))?;
    let longer_times = tactus_report::tail_text(&tail::of_run(subject)?, &options);
    write!(out, "\nBeyond the measured time\n\n{longer_times}")?;
    let purposes = overview::purposes(subject.run(), purposes);
    Ok(write!(out, "{}", tactus_report::purposes_text(&purposes, &options))?)
}
