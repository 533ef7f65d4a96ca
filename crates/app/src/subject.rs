//! A run that conclusions are drawn from.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use tactus_import::{Format, Options};
use tactus_model::experiment::Turn;
use tactus_model::run::{Run, RunId};
use tactus_model::sample::SampleBlock;
use tactus_model::traced::{TracedData, TracedStretch};
use tactus_record::codec::MAGIC;
use tactus_store::{FileRun, Store};

use crate::error::OrError;
use crate::import::{self, Content};
use crate::{Error, ErrorKind, Result};

/// A run with its samples and recordings, in a store or read from a file.
#[derive(Debug)]
pub struct Subject<'s>(Place<'s>);

#[derive(Debug)]
enum Place<'s> {
    Store { store: &'s Store, run: Run },
    File(FileRun),
}

impl<'s> Subject<'s> {
    /// Loads a run from a store.
    ///
    /// # Errors
    /// There is no such run, or the store cannot be read.
    pub fn stored(store: &'s Store, run: &RunId) -> Result<Self> {
        Ok(Self(Place::Store { store, run: store.load(run)? }))
    }

    /// Reads a run from a file: an exported one, or another tool's result.
    ///
    /// # Errors
    /// The file cannot be read, or contains no run, for example a recording.
    pub fn of_file(path: &Path) -> Result<Self> {
        if beginning(path)?.starts_with(&MAGIC) {
            let path = path.display();
            return Err(Error::usage(format!("{path} is a recording, not a run"))
                .with_hint(format!("explain it with: tactus explain {path}")));
        }
        let what = || format!("cannot read a run from {}", path.display());
        let read = || -> Result<FileRun> {
            Ok(match import::read(path, &Options::default())? {
                Content::Exported(content) => FileRun::read(content)?,
                Content::Foreign(run) => FileRun::of(*run)?,
            })
        };
        Ok(Self(Place::File(read().or_error(ErrorKind::Usage, what)?)))
    }

    /// The run.
    pub const fn run(&self) -> &Run {
        match &self.0 {
            Place::Store { run, .. } | Place::File(FileRun { run, .. }) => run,
        }
    }

    /// Its name.
    pub const fn id(&self) -> &RunId {
        &self.run().header.id
    }

    pub(crate) const fn run_mut(&mut self) -> &mut Run {
        match &mut self.0 {
            Place::Store { run, .. } | Place::File(FileRun { run, .. }) => run,
        }
    }

    /// The run without samples and recordings.
    pub fn into_run(self) -> Run {
        match self.0 {
            Place::Store { run, .. } | Place::File(FileRun { run, .. }) => run,
        }
    }

    /// The samples of a turn with their tasks' numbers; empty if none were kept.
    ///
    /// # Errors
    /// The turn was not measured, or the store cannot be read.
    pub fn samples(&self, turn: Turn) -> Result<Vec<(u32, SampleBlock)>> {
        match &self.0 {
            Place::Store { store, run } => Ok(store.samples(&run.header.id, turn)?),
            Place::File(file) => Ok(file.samples(turn).to_vec()),
        }
    }

    /// The recording of a turn's traced window and the samples that it explains; `None` if no
    /// recording was kept.
    ///
    /// # Errors
    /// The turn was not measured, or the store cannot be read.
    pub fn recording(&self, turn: Turn) -> Result<Option<TracedData>> {
        match &self.0 {
            Place::Store { store, run } => Ok(store.recording(&run.header.id, turn)?),
            Place::File(file) => Ok(file.recording(turn).cloned()),
        }
    }

    /// The recorded traced stretches of a cell. They are read one after another, because each
    /// may be large.
    pub(crate) fn recorded(
        &self,
        cell: usize,
    ) -> impl Iterator<Item = Result<(&TracedStretch, TracedData)>> {
        self.run().of_cell(cell).filter_map(|measurement| {
            let traced = measurement.traced.as_ref()?;
            let traced_data = self.recording(measurement.turn).transpose()?;
            Some(traced_data.map(|traced_data| (traced, traced_data)))
        })
    }
}

/// Whether a file begins as an exported run does.
///
/// # Errors
/// The file cannot be read.
pub(crate) fn is_exported_run(path: &Path) -> Result<bool> {
    Ok(matches!(Format::recognise(&beginning(path)?), Ok(Format::Tactus)))
}

/// The beginning of a file, which determines its format.
fn beginning(path: &Path) -> Result<Vec<u8>> {
    let read = || -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(path)?.take(4096).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().or_error(ErrorKind::Usage, || format!("cannot read {}", path.display()))
}
