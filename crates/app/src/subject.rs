//! A run that conclusions are drawn from.

use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;

use tactus_import::{Format, Options};
use tactus_model::address::find_cell;
use tactus_model::experiment::Turn;
use tactus_model::run::{Run, RunId};
use tactus_model::sample::SampleBlock;
use tactus_model::traced::{TracedData, TracedStretch};
use tactus_store::{FileRun, Store};

use crate::error::OrError;
use crate::import::{self, Content};
use crate::{Error, ErrorKind, Result, files};

/// A run with its samples and recordings, in a store or read from a file.
#[derive(Debug)]
pub struct Subject<'s> {
    place: Place<'s>,
    /// The index of the chosen cell; `None` for all cells.
    cell: Option<usize>,
    /// The run and the index of its only cell, if the others were left out.
    only: Option<(RunId, usize)>,
}

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
        Ok(Self::of(Place::Store { store, run: store.load(run)? }))
    }

    const fn of(place: Place<'s>) -> Self {
        Self { place, cell: None, only: None }
    }

    /// Reads a run from a file: an exported one, or another tool's result.
    ///
    /// # Errors
    /// The file cannot be read, or contains no run, for example a recording.
    pub fn of_file(path: &Path) -> Result<Self> {
        let what = || format!("cannot read a run from {}", path.display());
        let read = || -> Result<FileRun> {
            Ok(match import::read(path, &Options::default())? {
                Content::Exported(content) => FileRun::read(content)?,
                Content::Foreign(run) => FileRun::of(*run)?,
            })
        };
        Ok(Self::of(Place::File(read().or_error(ErrorKind::Usage, what)?)))
    }

    /// Chooses a cell of the run by its label, a part of its label, or its number from 1.
    ///
    /// # Errors
    /// No cell or several cells fit.
    pub(crate) fn choose(mut self, cell: &str) -> Result<Self> {
        self.cell = Some(find_cell(self.run(), cell).map_err(Error::usage)?);
        Ok(self)
    }

    /// The index of the chosen cell; `None` for all cells.
    pub const fn cell(&self) -> Option<usize> {
        self.cell
    }

    /// The indices of the chosen cells.
    pub(crate) fn cells(&self) -> Range<usize> {
        let all = 0..self.run().header.plan.cells.len();
        self.cell.map_or(all, |cell| cell..cell + 1)
    }

    /// The chosen cell as a run of its own, named `RUN#CELL`; without a chosen cell, the run
    /// itself.
    #[must_use]
    pub fn alone(mut self) -> Self {
        let Some(cell) = self.cell.take() else { return self };
        let run = self.run_mut();
        let whole = run.header.id.clone();
        run.header.id = RunId::new(format!("{whole}#{}", cell + 1));
        run.header.plan.cells = vec![run.header.plan.cells.swap_remove(cell)];
        run.measurements.retain(|measurement| measurement.turn.cell == cell);
        run.failures.retain(|failure| failure.turn.cell == cell);
        run.measurements.iter_mut().for_each(|measurement| measurement.turn.cell = 0);
        run.failures.iter_mut().for_each(|failure| failure.turn.cell = 0);
        self.only = Some((whole, cell));
        self
    }

    /// The name and the turn under which the data of a turn are kept.
    fn kept(&self, turn: Turn) -> (&RunId, Turn) {
        match &self.only {
            Some((run, cell)) => (run, Turn { cell: *cell, ..turn }),
            None => (self.id(), turn),
        }
    }

    /// The run.
    pub const fn run(&self) -> &Run {
        match &self.place {
            Place::Store { run, .. } | Place::File(FileRun { run, .. }) => run,
        }
    }

    /// Its name.
    pub const fn id(&self) -> &RunId {
        &self.run().header.id
    }

    pub(crate) const fn run_mut(&mut self) -> &mut Run {
        match &mut self.place {
            Place::Store { run, .. } | Place::File(FileRun { run, .. }) => run,
        }
    }

    /// The run without samples and recordings.
    pub fn into_run(self) -> Run {
        match self.place {
            Place::Store { run, .. } | Place::File(FileRun { run, .. }) => run,
        }
    }

    /// The samples of a turn with their tasks' numbers; empty if none were kept.
    ///
    /// # Errors
    /// The turn was not measured, or the store cannot be read.
    pub fn samples(&self, turn: Turn) -> Result<Vec<(u32, SampleBlock)>> {
        let (run, turn) = self.kept(turn);
        match &self.place {
            Place::Store { store, .. } => Ok(store.samples(run, turn)?),
            Place::File(file) => Ok(file.samples(turn).to_vec()),
        }
    }

    /// The recording of a turn's traced window and the samples that it explains; `None` if no
    /// recording was kept.
    ///
    /// # Errors
    /// The turn was not measured, or the store cannot be read.
    pub fn recording(&self, turn: Turn) -> Result<Option<TracedData>> {
        let (run, turn) = self.kept(turn);
        match &self.place {
            Place::Store { store, .. } => Ok(store.recording(run, turn)?),
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
        files::open(path)?.take(4096).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().or_error(ErrorKind::Usage, || format!("cannot read {}", path.display()))
}
