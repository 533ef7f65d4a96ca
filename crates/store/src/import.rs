//! Imports runs into the store: exported runs, and runs of other programs.

use std::io::Read;

use rusqlite::params;
use tactus_model::result::{Failure, Measurement};
use tactus_model::run::{Run, RunHeader, RunId};
use tactus_model::traced::TracedData;

use crate::document::{self, Samples, Sink};
use crate::engine::Database;
use crate::fault::Fault;
use crate::find::{self, RunRow};
use crate::{Store, StoreError, load, name, save};

/// The temporary name of a run during its import; it contains a space, which no run name has.
fn passing_name(id: &RunId) -> RunId {
    // Two imports at once collide only if they are of the same run; then the second one waits.
    RunId::new(format!("{id} being imported"))
}

impl Store {
    /// Imports an exported run, all of it or nothing, and returns its name in this store: its
    /// own, or with a suffix `-2`, `-3`, … if another run has that name.
    ///
    /// # Errors
    /// [`StoreError::NotAnExport`], [`StoreError::UnknownFormat`], [`StoreError::Unbalanced`],
    /// [`StoreError::AlreadyThere`] when the same run with the same content is in the store,
    /// [`StoreError::Import`] when `reader` fails, or the database cannot be written.
    pub fn import(&mut self, reader: impl Read) -> Result<RunId, StoreError> {
        self.write(|database| {
            let mut rows = Rows { database, run: None };
            document::read(reader, &mut rows)?;
            rows.end()
        })
    }

    /// Imports a run from elsewhere, for example from another tool's files, all of it or
    /// nothing. Returns its name in this store, formed from its plan and its start time.
    ///
    /// # Errors
    /// [`StoreError::AlreadyThere`] when the same run with the same content is in the
    /// store, [`StoreError::Unbalanced`], [`StoreError::NotPlanned`],
    /// [`StoreError::TurnTaken`], or the database cannot be written.
    pub fn add(&mut self, run: Run) -> Result<RunId, StoreError> {
        self.write(|database| {
            let mut rows = Rows { database, run: None };
            rows.run(run)?;
            rows.end()
        })
    }
}

/// Gives an imported run the first free name, unless the run with that name is the same run.
fn give_name(database: &dyn Database, imported: &RunRow, wanted: RunId) -> Result<RunId, Fault> {
    database.lock_names()?;
    for id in name::numbered(wanted) {
        match find::row_if_any(database, &id)? {
            Some(other) if adds_nothing(database, imported, &other)? => {
                return Err(StoreError::AlreadyThere(id).into());
            }
            Some(_) => {}
            None => {
                database.execute(
                    "UPDATE run SET id = ?2 WHERE number = ?1",
                    params![imported.number, id.as_str()],
                )?;
                return Ok(id);
            }
        }
    }
    unreachable!("the number of runs is finite, the number of names is not")
}

/// Whether `imported` contains nothing that `other` lacks; it may lack the samples, and always
/// lacks the identity of the machine.
fn adds_nothing(database: &dyn Database, imported: &RunRow, other: &RunRow) -> Result<bool, Fault> {
    let renamed = RunHeader { id: other.id.clone(), ..load::header(database, imported)? };
    let mut there = load::header(database, other)?;
    there.facts_before.machine_id = None;
    if renamed != there || load::failures(database, imported)? != load::failures(database, other)? {
        return Ok(false);
    }
    let ours = load::measurement_numbers(database, imported)?;
    let theirs = load::measurement_numbers(database, other)?;
    if ours.len() != theirs.len() {
        return Ok(false);
    }
    for (ours, theirs) in ours.into_iter().zip(theirs) {
        if load::measurement(database, ours)? != load::measurement(database, theirs)? {
            return Ok(false);
        }
        let samples = load::samples(database, ours)?;
        if !samples.is_empty() && samples != load::samples(database, theirs)? {
            return Ok(false);
        }
        let traced_data = load::traced_data(database, ours)?;
        if !traced_data.is_empty() && traced_data != load::traced_data(database, theirs)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A run that is written into the open transaction while it is read.
struct Rows<'c> {
    database: &'c dyn Database,
    /// Its row, and the name it has in the document.
    run: Option<(RunRow, RunId)>,
}

impl Rows<'_> {
    fn row(&self) -> Result<&RunRow, Fault> {
        let (row, _) = self.run.as_ref().ok_or_else(document::no_header)?;
        Ok(row)
    }

    /// Gives the run its name in this store.
    fn end(self) -> Result<RunId, Fault> {
        let (run, id) = self.run.ok_or_else(document::no_header)?;
        give_name(self.database, &run, id)
    }
}

impl Sink for Rows<'_> {
    fn header(&mut self, header: RunHeader) -> Result<(), Fault> {
        let id = header.id.clone();
        let passing = RunHeader { id: passing_name(&id), ..header };
        self.run = Some((save::insert_run(self.database, &passing)?, id));
        Ok(())
    }

    fn result(
        &mut self,
        measurement: Measurement,
        samples: Samples,
        traced_data: TracedData,
    ) -> Result<(), Fault> {
        save::insert_measurement(self.database, self.row()?, &measurement, &samples, &traced_data)
    }

    fn failure(&mut self, failure: Failure) -> Result<(), Fault> {
        save::insert_failure(self.database, self.row()?, &failure)
    }
}
