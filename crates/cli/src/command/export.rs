//! `tactus export`: a run as JSON; a recording for other programs.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use tactus_app::export::{self, Exported};
use tactus_app::runs::Runs;
use tactus_app::{Places, recording};
use tactus_model::address::Address;
use tactus_model::experiment::Plan;

use crate::chosen_cell::chosen;
use crate::error::{CommandError, CommandResult};
use crate::quietness::Quietness;
use crate::terminal::warn_of_missing_end;
use crate::values::whole;

/// Export a run as JSON, or a recording of kernel events for other programs.
///
/// The JSON of a run is complete (docs/run-format.md): `tactus import` reads it into another store,
/// and most commands read the file directly. A recording is a file of `tactus record`, or the
/// recording of one turn of a run (RUN#CELL, --round).
///
/// Examples: tactus export -o baseline.json;
/// tactus export last#1 --as perfetto -o trace.pftrace;
/// tactus export last --as hdr -o latency.hlog
#[derive(Args)]
pub(crate) struct ExportArguments {
    /// Run: its name, a unique prefix of the name, or `last`; or RUN#CELL, for the recording of a cell; or the file of a recording
    #[arg(value_name = "RUN|FILE", default_value = "last")]
    source: Address,
    /// File to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Leave out a run's single samples, which are most of its size
    #[arg(long)]
    without_samples: bool,
    /// Export the recording of this cell of a run, like RUN#CELL: its number from 1, its label, or a part of its label [default: export the run]
    #[arg(long, value_name = "CELL", conflicts_with = "without_samples")]
    cell: Option<String>,
    /// With RUN#CELL: round of the recording, counted from 1 [default: 1]
    #[arg(long, value_name = "N", value_parser = whole(1..=Plan::MAX_ROUNDS))]
    round: Option<u32>,
    /// Format: for a run, hdr [default: JSON]; for a recording, one of the others [default: json-lines]
    #[arg(long = "as", value_name = "FORM")]
    form: Option<Form>,
    #[command(flatten)]
    quietness: Quietness,
}

/// A form of a recording or of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// One JSON object a line for each event
    JsonLines,
    /// Trace for ui.perfetto.dev
    Perfetto,
    /// File of `tactus record` (docs/recording-format.md)
    Recording,
    /// Latencies of a run as an interval log of HdrHistogram
    Hdr,
}

impl From<Form> for export::Form {
    fn from(form: Form) -> Self {
        match form {
            Form::JsonLines => Self::JsonLines,
            Form::Perfetto => Self::Perfetto,
            Form::Recording => Self::Recording,
            Form::Hdr => Self::Hdr,
        }
    }
}

pub(crate) fn run(arguments: &ExportArguments, places: &Places) -> CommandResult {
    let runs = Runs::new(places);
    let exported = arguments.chosen(&runs)?;
    let run = match &exported {
        Exported::Run { run, .. } => Some(run.clone()),
        Exported::File(_) | Exported::Turn(_) => None,
    };
    let form = arguments.form.unwrap_or(Form::JsonLines).into();
    if let Exported::File(path) = &exported {
        warn_of_missing_end(&recording::open(path)?);
    }
    let Some(path) = &arguments.output else {
        let mut out = io::BufWriter::new(io::stdout().lock());
        exported.write(form, &mut out)?;
        return Ok(out.flush()?);
    };
    exported.write_to(form, path)?;
    let path = path.display();
    match run {
        Some(run) => arguments.quietness.note(format_args!(
            "wrote {run} to {path}; it contains facts of the machine, command lines, and addresses of the kernel if events were recorded"
        )),
        None => arguments.quietness.note(format_args!(
            "wrote {path}; it contains thread names and addresses of the kernel"
        )),
    }
    Ok(())
}

impl ExportArguments {
    /// The run or recording to export.
    fn chosen<'r>(&self, runs: &'r Runs<'_>) -> CommandResult<Exported<'r>> {
        let source = chosen(&self.source, self.cell.as_deref())?;
        let path = Path::new(source.as_str());
        if self.form == Some(Form::Hdr) && (path.is_file() || source.cell().is_some()) {
            let message = "`--as hdr` applies to runs in the store, not to recordings";
            return Err(CommandError::usage(message));
        }
        if path.is_file() {
            if self.without_samples || self.round.is_some() {
                let message = "`--without-samples` and `--round` apply to runs, not to recordings";
                return Err(CommandError::usage(message));
            }
            return Ok(Exported::File(path.to_owned()));
        }
        if source.cell().is_some() {
            if self.without_samples {
                let message = "`--without-samples` applies to whole runs; leave out the cell";
                return Err(CommandError::usage(message));
            }
            return Ok(export::recording_of(runs, &source, self.round.unwrap_or(1))?);
        }
        let run = export::run(runs, source.run(), !self.without_samples)?;
        if self.form.is_some_and(|form| form != Form::Hdr) || self.round.is_some() {
            let message = "this format and `--round` are for recordings; name the file of a recording, \
                           or a cell as RUN#CELL";
            return Err(CommandError::usage(message));
        }
        Ok(run)
    }
}
