//! `tactus export`: a run as complete JSON; a recording for other programs.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use tactus_app::export::{self, Exported};
use tactus_app::runs::Runs;
use tactus_app::{Places, files};

use crate::error::{CommandError, CommandResult};

/// Write a run as complete JSON (documented in docs/run-format.md), or a recording of
/// kernel events for other programs: the file of one, or what a run recorded in a turn.
#[derive(Args)]
pub(crate) struct ExportArguments {
    /// The run by name, unique beginning of a name, or `last`; or the file of a recording
    #[arg(value_name = "RUN|FILE", default_value = "last")]
    source: String,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Of a run leave out the single samples, which are most of the size
    #[arg(long)]
    without_samples: bool,
    /// Of a run only what was recorded under this cell, by label or number
    #[arg(long, value_name = "CELL", conflicts_with = "without_samples")]
    cell: Option<String>,
    /// In which round, counted from 1
    #[arg(long, value_name = "N", requires = "cell", default_value = "1",
        value_parser = clap::value_parser!(u32).range(1..))]
    round: u32,
    /// In which form a recording is written; without it as JSON lines
    #[arg(long = "as", value_name = "FORM")]
    form: Option<Form>,
}

/// A form of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// One event a line
    JsonLines,
    /// For ui.perfetto.dev
    Perfetto,
    /// As `tactus record` keeps it (docs/recording-format.md)
    Recording,
}

impl From<Form> for export::Form {
    fn from(form: Form) -> Self {
        match form {
            Form::JsonLines => Self::JsonLines,
            Form::Perfetto => Self::Perfetto,
            Form::Recording => Self::Recording,
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
    let target = arguments.output.as_deref();
    let form = arguments.form.unwrap_or(Form::JsonLines).into();
    write_to(target, |out| Ok(exported.write(form, out)?))?;
    if let (Some(path), Some(run)) = (target, run) {
        eprintln!("{run} written to {}", path.display());
    }
    Ok(())
}

impl ExportArguments {
    /// What is exported.
    fn chosen<'r>(&self, runs: &'r Runs<'_>) -> CommandResult<Exported<'r>> {
        let path = Path::new(&self.source);
        if path.is_file() {
            if self.cell.is_some() || self.without_samples {
                let message = "--cell and --without-samples are for a run; a recording has neither";
                return Err(CommandError::usage(message));
            }
            return Ok(Exported::File(path.to_owned()));
        }
        if let Some(cell) = &self.cell {
            return Ok(export::recording_of(runs, &self.source, cell, self.round)?);
        }
        let run = export::run(runs, &self.source, !self.without_samples)?;
        if self.form.is_some() {
            let message = "--as is for a recording: name its file, or --cell of a run";
            return Err(CommandError::usage(message));
        }
        Ok(run)
    }
}

/// Has `write` write to the file at `target`, or to standard output.
fn write_to(
    target: Option<&Path>,
    write: impl FnOnce(&mut dyn Write) -> CommandResult,
) -> CommandResult {
    let Some(path) = target else {
        let mut out = BufWriter::new(io::stdout().lock());
        write(&mut out)?;
        return Ok(out.flush()?);
    };
    let mut out = files::create(path)?;
    write(&mut out)?;
    Ok(out.flush()?)
}
