//! `tactus import`: runs from files into the store, our own and those of other tools.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use tactus_app::Places;
use tactus_app::import::{self, Imported};
use tactus_import::{Format, Options};
use tactus_model::time::Nanos;
use tactus_report::format::{self, printable};

use crate::error::{CommandError, CommandResult};
use crate::json_lines::write_line;
use crate::quietness::Quietness;
use crate::terminal::{say, stdout};

/// Import results into the store: exported runs, and results of other latency tools.
///
/// It reads files of `tactus export`, cyclictest (JSON of `--json=FILE` with `-h`, or the printed
/// histogram of `-h` or `-H`), `rtla timerlat hist`, jitterdebugger (JSON), oslat (JSON), and
/// HdrHistogram interval logs. The content determines the format. Facts that a file does not contain,
/// such as the load, the machine or missed due times, remain unknown.
///
/// Example: tactus import --as-rounds cyclictest-1.json cyclictest-2.json cyclictest-3.json
#[derive(Args)]
pub(crate) struct ImportArguments {
    /// Files with results
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Format of the files: tactus, cyclictest-json, cyclictest-histogram, timerlat-histogram, jitterdebugger-json, oslat-json, hdr-log [default: determined by the content]
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
    /// Import files of another tool as the rounds of one run, in this order; a comparison needs several rounds
    #[arg(long)]
    as_rounds: bool,
    /// Unit of figures in files that do not contain it, e.g. 1us [default: 1ns for interval logs, 1us otherwise]
    #[arg(long, value_name = "DURATION", value_parser = unit)]
    unit: Option<Nanos>,
    /// Print JSON, one object a line for each run
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    quietness: Quietness,
}

/// Parses a unit, which must not be zero.
fn unit(text: &str) -> Result<Nanos, String> {
    match text.parse::<Nanos>() {
        Ok(Nanos::ZERO) => {
            Err("the unit is zero: write a duration, e.g. 1ns, 1us or 1ms".to_owned())
        }
        Ok(unit) => Ok(unit),
        Err(error) => Err(error.to_string()),
    }
}

pub(crate) fn run(arguments: &ImportArguments, places: &Places) -> CommandResult {
    let options = Options { format: arguments.format, unit: arguments.unit };
    let mut store = places.open_store()?;
    if arguments.as_rounds {
        return print(&import::rounds(&mut store, &arguments.files, &options)?, arguments);
    }
    if let [path] = &arguments.files[..] {
        return print(&import::file(&mut store, path, &options)?, arguments);
    }
    // One file that is refused, perhaps because its run is in the store already, must not keep the
    // others out.
    let mut refused = 0;
    for path in &arguments.files {
        match import::file(&mut store, path, &options) {
            Ok(imported) => print(&imported, arguments)?,
            Err(error) => {
                refused += 1;
                say!("error: {error}");
                if let Some(hint) = error.hint() {
                    say!("hint: {hint}");
                }
            }
        }
    }
    match refused {
        0 => Ok(()),
        _ => {
            let files = format::counted(arguments.files.len() as u64, "file");
            Err(CommandError::usage(format!("{refused} of {files} not imported; see above")))
        }
    }
}

fn print(imported: &Imported, arguments: &ImportArguments) -> CommandResult {
    if arguments.json {
        return Ok(write_line(imported)?);
    }
    if let Some(origin) = &imported.origin {
        let rounds = format::counted(origin.files.len() as u64, "round");
        let quietness = arguments.quietness;
        quietness.note(format_args!("{}, {rounds}", printable(&origin.program())));
        let notes = origin.notes.iter();
        notes.for_each(|note| quietness.note(format_args!("  - {}", printable(note))));
    }
    Ok(writeln!(stdout(), "{}", imported.run)?)
}
