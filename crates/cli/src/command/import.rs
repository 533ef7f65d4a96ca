//! `tactus import`: runs from files into the store, ours and other tools'.

use std::path::PathBuf;

use clap::Args;
use tactus_app::Places;
use tactus_app::import::{self, Imported};
use tactus_import::{Format, Options};
use tactus_model::time::Nanos;
use tactus_report::format::{self, printable};

use crate::error::CommandResult;
use crate::json_lines::write_line;

/// Take results into the store: exported runs, and those of other latency tools.
///
/// Known are what `tactus export` writes; cyclictest's JSON (`--json=FILE` with `-h`) and
/// the histogram it prints (`-h`, `-H`); what `rtla timerlat hist` prints; the JSON of
/// jitterdebugger and of oslat; and interval logs of HdrHistogram. The format is
/// recognised by the content. What a file does not tell stays unknown: the load, the
/// machine, due times that its tool skipped.
#[derive(Args)]
pub(crate) struct ImportArguments {
    /// Files with results
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Take the files for this format: tactus, cyclictest-json, cyclictest-histogram, timerlat-histogram, jitterdebugger-json, oslat-json, hdr-log
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
    /// Take other tools' files, in the order given, as rounds of one run, so that they can be compared with confidence
    #[arg(long)]
    as_rounds: bool,
    /// The unit of figures whose unit the file does not tell, as 1us; without it, nanoseconds in interval logs and microseconds elsewhere
    #[arg(long, value_name = "LENGTH", value_parser = unit)]
    unit: Option<Nanos>,
    /// Write one JSON object a line, a run each
    #[arg(long)]
    json: bool,
}

/// Reads a unit, which must be some length.
fn unit(text: &str) -> Result<Nanos, String> {
    match text.parse::<Nanos>() {
        Ok(Nanos::ZERO) => {
            Err("a unit of no length tells nothing; write 1ns, 1us or 1ms".to_owned())
        }
        Ok(unit) => Ok(unit),
        Err(error) => Err(error.to_string()),
    }
}

pub(crate) fn run(arguments: &ImportArguments, places: &Places) -> CommandResult {
    let options = Options { format: arguments.format, unit: arguments.unit };
    let mut store = places.open_store()?;
    if arguments.as_rounds {
        return tell(&import::rounds(&mut store, &arguments.files, &options)?, arguments.json);
    }
    for path in &arguments.files {
        tell(&import::file(&mut store, path, &options)?, arguments.json)?;
    }
    Ok(())
}

fn tell(imported: &Imported, json: bool) -> CommandResult {
    if json {
        return Ok(write_line(imported)?);
    }
    if let Some(origin) = &imported.origin {
        let rounds = format::counted(origin.files.len() as u64, "round");
        eprintln!("{}, {rounds}", printable(&origin.program()));
        origin.notes.iter().for_each(|note| eprintln!("  - {}", printable(note)));
    }
    println!("{}", imported.run);
    Ok(())
}
