//! `tactus export`: a run as JSON; a recording for other programs.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use tactus_app::export::{self, Exported};
use tactus_app::runs::Runs;
use tactus_app::{Places, recording};

use crate::error::{CommandError, CommandResult};
use crate::terminal::{say, warn_of_missing_end};

/// Export a run as JSON, or a recording of kernel events for other programs.
///
/// The JSON of a run is complete (docs/run-format.md): `tactus import` reads it into another store,
/// and most commands read the file directly. A recording is a file of `tactus record`, or the
/// recording of one turn of a run (--cell, --round).
///
/// Examples: tactus export -o baseline.json;
/// tactus export last --cell 0 --as perfetto -o trace.pftrace;
/// tactus export last --as hdr -o latency.hlog
#[derive(Args)]
pub(crate) struct ExportArguments {
    /// Run: its name, a unique prefix of the name, or `last`; or the file of a recording
    #[arg(value_name = "RUN|FILE", default_value = "last")]
    source: String,
    /// File to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Leave out a run's single samples, which are most of its size
    #[arg(long)]
    without_samples: bool,
    /// Export the recording of this cell of a run: its label, or its number, counted from 0 [default: export the run]
    #[arg(long, value_name = "CELL", conflicts_with = "without_samples")]
    cell: Option<String>,
    /// With --cell: round of the recording, counted from 1
    #[arg(long, value_name = "N", requires = "cell", default_value = "1",
        value_parser = clap::value_parser!(u32).range(1..))]
    round: u32,
    /// Format: for a run, hdr [default: JSON]; for a recording, one of the others [default: json-lines]
    #[arg(long = "as", value_name = "FORM")]
    form: Option<Form>,
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
    match run {
        Some(run) => say!(
            "wrote {run} to {}; it contains facts of the machine, command lines, and addresses of the kernel if events were recorded",
            path.display()
        ),
        None => {
            say!("wrote {}; it contains thread names and addresses of the kernel", path.display())
        }
    }
    Ok(())
}

impl ExportArguments {
    /// The run or recording to export.
    fn chosen<'r>(&self, runs: &'r Runs<'_>) -> CommandResult<Exported<'r>> {
        let path = Path::new(&self.source);
        if self.form == Some(Form::Hdr) && (path.is_file() || self.cell.is_some()) {
            let message = "`--as hdr` applies to runs in the store, not to recordings";
            return Err(CommandError::usage(message));
        }
        if path.is_file() {
            if self.cell.is_some() || self.without_samples {
                let message = "`--cell` and `--without-samples` apply to runs, not to recordings";
                return Err(CommandError::usage(message));
            }
            return Ok(Exported::File(path.to_owned()));
        }
        if let Some(cell) = &self.cell {
            return Ok(export::recording_of(runs, &self.source, cell, self.round)?);
        }
        let run = export::run(runs, &self.source, !self.without_samples)?;
        if self.form.is_some_and(|form| form != Form::Hdr) {
            let message =
                "this format is for recordings; name the file of a recording, or add `--cell`";
            return Err(CommandError::usage(message));
        }
        Ok(run)
    }
}
