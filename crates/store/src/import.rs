//! Takes runs into the store: exported ones, and those that were made elsewhere.

use std::io::Read;

use rusqlite::{Connection, params};
use tactus_model::result::{Failure, Measurement};
use tactus_model::run::{Run, RunHeader, RunId};
use tactus_model::traced::Evidence;

use crate::document::{self, Samples, Sink};
use crate::fault::Fault;
use crate::find::{self, RunRow};
use crate::{Store, StoreError, load, name, save};

/// What a run is called until all of it was read; no run's name has a space.
const PASSING_NAME: &str = "being imported";

impl Store {
    /// Takes in an exported run, all of it or nothing, and gives the name it has here:
    /// its own, or with `-2`, `-3`, … when another run has that.
    ///
    /// # Errors
    /// [`StoreError::NotAnExport`], [`StoreError::UnknownFormat`], [`StoreError::Unbalanced`],
    /// [`StoreError::AlreadyThere`] when the same run with the same content is in the store,
    /// [`StoreError::Import`] when `reader` fails, or the database cannot be written.
    pub fn import(&mut self, reader: impl Read) -> Result<RunId, StoreError> {
        self.write(|database| {
            let mut rows = Rows { database, run: None };
            document::read(reader, &mut rows)?;
            let (run, id) = rows.run.ok_or_else(document::no_header)?;
            give_name(database, &run, id)
        })
    }
}

impl Store {
    /// Takes in a run that was made elsewhere, as from another tool's files, all of it
    /// or nothing, and gives the name it has here, after its plan and when it began.
    ///
    /// # Errors
    /// [`StoreError::AlreadyThere`] when the same run with the same content is in the
    /// store, [`StoreError::Unbalanced`], [`StoreError::NotPlanned`],
    /// [`StoreError::TurnTaken`], or the database cannot be written.
    pub fn add(&mut self, run: &Run) -> Result<RunId, StoreError> {
        self.write(|database| {
            let passing = RunHeader { id: RunId::new(PASSING_NAME), ..run.header.clone() };
            let row = save::insert_run(database, &passing)?;
            for measurement in &run.measurements {
                save::insert_measurement(database, &row, measurement, &[], &Evidence::default())?;
            }
            for failure in &run.failures {
                save::insert_failure(database, &row, failure)?;
            }
            give_name(database, &row, name::after(&run.header.plan.name, run.header.created))
        })
    }
}

/// Gives an imported run the first free name, unless the run of such a name is the same run.
fn give_name(database: &Connection, imported: &RunRow, wanted: RunId) -> Result<RunId, Fault> {
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
    unreachable!("the store has a limited number of runs, and the names have none")
}

/// Whether `imported` holds nothing but what `other` holds; it may lack the samples.
fn adds_nothing(database: &Connection, imported: &RunRow, other: &RunRow) -> Result<bool, Fault> {
    let renamed = RunHeader { id: other.id.clone(), ..load::header(database, imported)? };
    if renamed != load::header(database, other)?
        || load::failures(database, imported)? != load::failures(database, other)?
    {
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
        let evidence = load::evidence(database, ours)?;
        if !evidence.is_empty() && evidence != load::evidence(database, theirs)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A run that is written into the open transaction while it is read.
struct Rows<'c> {
    database: &'c Connection,
    /// Its row, and the name it has in the document.
    run: Option<(RunRow, RunId)>,
}

impl Rows<'_> {
    fn row(&self) -> Result<&RunRow, Fault> {
        let (row, _) = self.run.as_ref().ok_or_else(document::no_header)?;
        Ok(row)
    }
}

impl Sink for Rows<'_> {
    fn header(&mut self, header: RunHeader) -> Result<(), Fault> {
        let id = header.id.clone();
        let passing = RunHeader { id: RunId::new(PASSING_NAME), ..header };
        self.run = Some((save::insert_run(self.database, &passing)?, id));
        Ok(())
    }

    fn result(
        &mut self,
        measurement: Measurement,
        samples: Samples,
        evidence: Evidence,
    ) -> Result<(), Fault> {
        save::insert_measurement(self.database, self.row()?, &measurement, &samples, &evidence)
    }

    fn failure(&mut self, failure: Failure) -> Result<(), Fault> {
        save::insert_failure(self.database, self.row()?, &failure)
    }
}
