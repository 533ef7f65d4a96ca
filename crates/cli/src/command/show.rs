//! `tactus show`: one run in full, as text.

use std::io::Write;

use clap::Args;
use tactus_app::overview::{self, RunOverview};
use tactus_app::runs::Runs;
use tactus_app::{Places, Subject, tail};
use tactus_judge::purpose::Purpose;

use crate::error::CommandResult;
use crate::json_lines::write_line;
use crate::terminal::table_options;

/// Show runs in full: verdict, cells, what was not granted, the machine.
#[derive(Args)]
pub(crate) struct ShowArguments {
    /// Runs by name, unique beginning of a name, `last`, or the file of an exported run
    #[arg(value_name = "RUN")]
    runs: Vec<String>,
    /// What the machine is for: audio:48000/64, control:1kHz:50us, video:60, midi, or a period and
    /// the lateness that does no harm, as 2ms:100us; repeatable
    #[arg(long = "for", value_name = "PURPOSE")]
    purposes: Vec<Purpose>,
    /// Write one JSON object a line, a run each, with the summary of every cell
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &ShowArguments, places: &Places) -> CommandResult {
    let runs = Runs::new(places);
    for subject in runs.find_all(&arguments.runs)? {
        if arguments.json {
            write_line(&RunOverview::of(&subject, &arguments.purposes)?)?;
        } else {
            print(&subject, &arguments.purposes)?;
        }
    }
    Ok(())
}

fn print(subject: &Subject<'_>, purposes: &[Purpose]) -> CommandResult {
    let mut out = std::io::stdout().lock();
    let options = table_options();
    write!(out, "{}", tactus_report::run_details(subject.run(), &options))?;
    let longer_times = tactus_report::tail_text(&tail::of_run(subject)?, &options);
    write!(out, "\nLonger times than were measured\n\n{longer_times}")?;
    let purposes = overview::purposes(subject.run(), purposes);
    Ok(write!(out, "{}", tactus_report::purposes_text(&purposes, &options))?)
}
