//! `tactus export`: a run as complete JSON; a recording for other programs.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, ValueEnum};
use tactus_model::experiment::Turn;
use tactus_model::run::RunId;
use tactus_record::file::RecordingFile;
use tactus_record::ndjson;
use tactus_record::perfetto::{self, ExportError};
use tactus_store::Store;

use super::explain::chosen;
use super::open_store;
use crate::error::{CommandError, CommandResult, ErrorKind};

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

pub(crate) fn run(arguments: &ExportArguments) -> CommandResult {
    let target = arguments.output.as_deref();
    let form = arguments.form.unwrap_or(Form::JsonLines);
    let path = Path::new(&arguments.source);
    if path.is_file() {
        if arguments.cell.is_some() || arguments.without_samples {
            let message = "--cell and --without-samples are for a run; a recording has neither";
            return Err(CommandError::usage(message));
        }
        return write_to(target, |out| match form {
            Form::Recording => {
                io::copy(&mut File::open(path)?, out)?;
                Ok(())
            }
            _ => write_events(RecordingFile::open(path).map_err(unreadable(path))?, form, out),
        });
    }
    let store = open_store()?;
    let run = store.find(&arguments.source)?;
    if let Some(cell) = &arguments.cell {
        let recording = recording_of(&store, &run, cell, arguments.round)?;
        return write_to(target, |out| match form {
            Form::Recording => Ok(out.write_all(&recording)?),
            _ => {
                let source = RecordingFile::from_bytes(recording);
                write_events(source.map_err(CommandError::internal)?, form, out)
            }
        });
    }
    if arguments.form.is_some() {
        let message = "--as is for a recording: name its file, or --cell of a run";
        return Err(CommandError::usage(message));
    }
    write_to(target, |out| Ok(store.export(&run, out, !arguments.without_samples)?))?;
    if let Some(path) = target {
        eprintln!("{run} written to {}", path.display());
    }
    Ok(())
}

fn unreadable<E: std::error::Error + Send + Sync + 'static>(
    path: &Path,
) -> impl FnOnce(E) -> CommandError {
    move |error| {
        let error = anyhow::Error::new(error)
            .context(format!("{} is no recording that can be read", path.display()));
        CommandError::new(ErrorKind::Usage, error)
    }
}

/// What was recorded under a cell of a run in a round, which is counted from 1.
fn recording_of(store: &Store, run: &RunId, cell: &str, round: u32) -> CommandResult<Vec<u8>> {
    let plan = store.header(run)?.plan;
    let cells = chosen(&plan.labels(), Some(cell))?;
    for cell in cells {
        if let Some(evidence) = store.recording(run, Turn { round: round - 1, cell })? {
            return Ok(evidence.recording);
        }
    }
    let error = anyhow::anyhow!("nothing was recorded under {cell} in round {round} of {run}");
    let hint = "tactus measure --traced 2s records a window in every turn";
    Err(CommandError::new(ErrorKind::Unavailable, error).with_hint(hint))
}

/// Writes the events of a recording in a form for other programs.
fn write_events(mut source: RecordingFile, form: Form, out: &mut dyn Write) -> CommandResult {
    let written = match form {
        Form::Perfetto => perfetto::export(&mut source, out),
        Form::JsonLines | Form::Recording => ndjson::export(&mut source, out),
    };
    written.map_err(|error| match error {
        ExportError::Write(error) => error.into(),
        ExportError::Source(error) => CommandError::new(ErrorKind::Unavailable, error),
    })
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
    let file = File::create(path)
        .with_context(|| format!("{} cannot be written", path.display()))
        .map_err(|error| CommandError::new(ErrorKind::Unavailable, error))?;
    let mut out = BufWriter::new(file);
    write(&mut out)?;
    Ok(out.flush()?)
}
