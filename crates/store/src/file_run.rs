//! A run from a file, read without a database.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;

use tactus_model::experiment::Turn;
use tactus_model::result::{Failure, Measurement};
use tactus_model::run::{Run, RunHeader};
use tactus_model::sample::SampleBlock;
use tactus_model::traced::TracedData;

use crate::document::{self, Samples, Sink};
use crate::fault::Fault;
use crate::{StoreError, balance};

/// A run outside every store, with the samples and recordings of its turns.
///
/// It has the same content and name as a run that [`crate::Store::import`] or
/// [`crate::Store::add`] stores in an empty store, and passes the same checks.
#[derive(Clone, Debug, PartialEq)]
pub struct FileRun {
    /// The run.
    pub run: Run,
    /// The samples and recordings of its turns, except empty ones.
    kept: BTreeMap<Turn, (Samples, TracedData)>,
}

impl FileRun {
    /// Reads an exported run.
    ///
    /// # Errors
    /// [`StoreError::NotAnExport`], [`StoreError::UnknownFormat`], [`StoreError::Unbalanced`], or
    /// [`StoreError::Import`] when `reader` fails.
    pub fn read(reader: impl Read) -> Result<Self, StoreError> {
        let mut held = Held::default();
        document::read(reader, &mut held).map_err(outside)?;
        held.end()
    }

    /// Creates a run from the files of another tool, which have neither samples nor recordings,
    /// and names it after its plan and its start.
    ///
    /// # Errors
    /// [`StoreError::Unbalanced`], [`StoreError::NotPlanned`], [`StoreError::TurnTaken`],
    /// [`StoreError::Unkeepable`].
    pub fn of(run: Run) -> Result<Self, StoreError> {
        let mut held = Held::default();
        held.run(run).map_err(outside)?;
        held.end()
    }

    /// The samples of a turn with the numbers of their tasks; empty if none were kept.
    pub fn samples(&self, turn: Turn) -> &[(u32, SampleBlock)] {
        self.kept.get(&turn).map_or(&[], |(samples, _)| samples)
    }

    /// The recording of a turn's traced window and the samples that it explains; `None` if no
    /// recording was kept.
    pub fn recording(&self, turn: Turn) -> Option<&TracedData> {
        let (_, traced_data) = self.kept.get(&turn)?;
        Some(traced_data).filter(|traced_data| !traced_data.recording.is_empty())
    }
}

/// Converts an error; without a database, no error depends on a file.
fn outside(fault: Fault) -> StoreError {
    fault.in_file(Path::new(""))
}

/// A run that is held in memory while it is read.
#[derive(Default)]
struct Held {
    header: Option<RunHeader>,
    measurements: Vec<Measurement>,
    failures: Vec<Failure>,
    kept: BTreeMap<Turn, (Samples, TracedData)>,
    taken: BTreeSet<Turn>,
}

impl Held {
    fn end(self) -> Result<FileRun, StoreError> {
        let Self { header, measurements, failures, kept, taken: _ } = self;
        let header = header.ok_or_else(document::no_header)?;
        Ok(FileRun { run: Run { header, measurements, failures }, kept })
    }

    /// Records a turn, which must be planned and new.
    fn take(&mut self, turn: Turn) -> Result<(), StoreError> {
        let header = self.header.as_ref().ok_or_else(document::no_header)?;
        let run = header.id.clone();
        if turn.round >= header.plan.rounds || turn.cell >= header.plan.cells.len() {
            return Err(StoreError::NotPlanned { run, turn });
        }
        if self.taken.insert(turn) { Ok(()) } else { Err(StoreError::TurnTaken { run, turn }) }
    }
}

impl Sink for Held {
    fn header(&mut self, header: RunHeader) -> Result<(), Fault> {
        balance::created_ns(&header)?;
        let facts = [Some(&header.facts_before), header.facts_after.as_ref()];
        facts.into_iter().flatten().try_for_each(balance::check_facts)?;
        self.header = Some(header);
        Ok(())
    }

    fn result(
        &mut self,
        measurement: Measurement,
        samples: Samples,
        traced_data: TracedData,
    ) -> Result<(), Fault> {
        balance::check_turn(&measurement, &samples, &traced_data)?;
        let turn = measurement.turn;
        self.take(turn)?;
        self.measurements.push(measurement);
        if !(samples.is_empty() && traced_data.is_empty()) {
            self.kept.insert(turn, (samples, traced_data));
        }
        Ok(())
    }

    fn failure(&mut self, failure: Failure) -> Result<(), Fault> {
        self.take(failure.turn)?;
        self.failures.push(failure);
        Ok(())
    }
}
