//! Writing runs and recordings for other stores and programs.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tactus_model::address::Address;
use tactus_model::experiment::Turn;
use tactus_model::recording::EventSource;
use tactus_model::run::RunId;
use tactus_record::ndjson;
use tactus_record::perfetto::{self, ExportError};
use tactus_store::Store;
use tactus_sys::whole_file::Readers;

use crate::error::OrError;
use crate::runs::Runs;
use crate::{Error, ErrorKind, Result, files, recording};

/// What to write.
#[derive(Debug)]
pub enum Exported<'s> {
    /// A run.
    Run {
        /// The store it is in.
        store: &'s Store,
        /// Its name.
        run: RunId,
        /// Whether to include the single samples, which are most of the size.
        with_samples: bool,
    },
    /// The recording in a file.
    File(PathBuf),
    /// The recording of a turn.
    Turn(Vec<u8>),
}

/// A form of a recording or of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One event a line.
    JsonLines,
    /// For ui.perfetto.dev.
    Perfetto,
    /// A log of HdrHistogram, of a run.
    Hdr,
    /// The format of `tactus record` (docs/recording-format.md).
    Recording,
}

/// The recording of a cell of a run in a round, counted from 1.
///
/// # Errors
/// There is no such run or cell, or the turn was not recorded.
pub fn recording_of<'r>(runs: &'r Runs<'_>, address: &Address, round: u32) -> Result<Exported<'r>> {
    let subject = runs.find(address)?;
    let cell = subject.cell().unwrap_or_default();
    let turn = Turn { round: round.checked_sub(1).unwrap_or(u32::MAX), cell };
    if let Some(found) = subject.recording(turn)? {
        return Ok(Exported::Turn(found.recording));
    }
    let (run, number) = (subject.id(), cell + 1);
    let reason = format!("{run} contains no recording of cell {number} in round {round}");
    let hint = "record a window in every turn: tactus measure --traced 2s";
    Err(Error::new(ErrorKind::Unavailable, reason).with_hint(hint))
}

/// A run of the store, with or without its single samples.
///
/// # Errors
/// There is no such run.
pub fn run<'r>(runs: &'r Runs<'_>, name: &str, with_samples: bool) -> Result<Exported<'r>> {
    let store = runs.store()?;
    Ok(Exported::Run { store, run: store.find(name)?, with_samples })
}

impl Exported<'_> {
    /// Writes it to a file; `form` applies to recordings. The file of a recording has mode 0600.
    ///
    /// # Errors
    /// Those of [`Self::write`].
    pub fn write_to(self, form: Form, path: &Path) -> Result<()> {
        let readers = match self {
            Self::Run { .. } => Readers::Usual,
            Self::File(_) | Self::Turn(_) => Readers::Owner,
        };
        files::write_with(path, readers, |out| self.write(form, out))
    }

    /// Writes it; `form` applies to recordings.
    ///
    /// # Errors
    /// It cannot be read, or `out` cannot be written.
    pub fn write(self, form: Form, mut out: &mut dyn Write) -> Result<()> {
        match (self, form) {
            (Self::Run { store, run, .. }, Form::Hdr) => {
                let log = tactus_import::hdr_log(&store.load(&run)?).or_internal()?;
                Ok(out.write_all(log.as_bytes())?)
            }
            (Self::Run { store, run, with_samples }, _) => {
                Ok(store.export(&run, out, with_samples)?)
            }
            (Self::File(path), Form::Recording) => {
                io::copy(&mut File::open(path)?, &mut out)?;
                Ok(())
            }
            (Self::Turn(bytes), Form::Recording) => Ok(out.write_all(&bytes)?),
            (Self::File(path), _) => events(&mut recording::open(&path)?, form, out),
            (Self::Turn(bytes), _) => events(&mut recording::held(bytes)?, form, out),
        }
    }
}

/// Writes the recording in a file to another file.
pub(crate) fn convert(recording: &Path, form: Form, target: &Path) -> Result<()> {
    let mut source = recording::open(recording)?;
    files::write_with(target, Readers::Owner, |out| events(&mut source, form, out))
}

/// Writes the events of a recording.
fn events(source: &mut dyn EventSource, form: Form, out: &mut dyn Write) -> Result<()> {
    let written = match form {
        Form::Perfetto => perfetto::export(source, out),
        Form::JsonLines | Form::Recording | Form::Hdr => ndjson::export(source, out),
    };
    written.map_err(|error| match error {
        ExportError::Write(error) => error.into(),
        ExportError::Source(error) => Error::new(ErrorKind::Unavailable, error),
    })
}
