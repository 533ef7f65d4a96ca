//! Reads runs and their results.

use std::collections::BTreeSet;

use rusqlite::params;
use serde::de::DeserializeOwned;
use tactus_model::experiment::Turn;
use tactus_model::facts::MachineFacts;
use tactus_model::result::{Failure, Measurement, TaskResult};
use tactus_model::run::{Run, RunHeader, RunId};
use tactus_model::sample::SampleBlock;
use tactus_model::time::Instant;
use tactus_model::traced::TracedData;

use crate::engine::{Database, Row};
use crate::fault::Fault;
use crate::find::{self, RunRow};
use crate::{Store, StoreError, columns};

impl Store {
    /// Reads a run with its results, without the samples.
    ///
    /// # Errors
    /// [`StoreError::UnknownRun`], [`StoreError::Damaged`], or the database cannot be read.
    pub fn load(&self, run: &RunId) -> Result<Run, StoreError> {
        self.read(|database| {
            let row = find::row(database, run)?;
            let measurements = measurement_numbers(database, &row)?
                .into_iter()
                .map(|number| measurement(database, number))
                .collect::<Result<_, _>>()?;
            Ok(Run {
                header: header(database, &row)?,
                measurements,
                failures: failures(database, &row)?,
            })
        })
    }

    /// Reads a run without its results.
    ///
    /// # Errors
    /// As [`Store::load`].
    pub fn header(&self, run: &RunId) -> Result<RunHeader, StoreError> {
        self.read(|database| header(database, &find::row(database, run)?))
    }

    /// Reads the samples of one turn with their task numbers, in the order in which they were
    /// saved; empty if none were stored.
    ///
    /// # Errors
    /// [`StoreError::NotMeasured`], or as [`Store::load`].
    pub fn samples(&self, run: &RunId, turn: Turn) -> Result<Vec<(u32, SampleBlock)>, StoreError> {
        self.read(|database| samples(database, number_of(database, run, turn)?))
    }

    /// Reads the recording of one turn's traced window with the samples it explains; `None` if
    /// no recording was stored.
    ///
    /// # Errors
    /// As [`Store::samples`].
    pub fn recording(&self, run: &RunId, turn: Turn) -> Result<Option<TracedData>, StoreError> {
        self.read(|database| {
            let data = traced_data(database, number_of(database, run, turn)?)?;
            Ok(Some(data).filter(|data| !data.recording.is_empty()))
        })
    }

    /// The turns with a result.
    ///
    /// Failed turns are not included, so that continuing the run tries them again.
    ///
    /// # Errors
    /// As [`Store::load`].
    pub fn finished_turns(&self, run: &RunId) -> Result<BTreeSet<Turn>, StoreError> {
        self.read(|database| {
            let row = find::row(database, run)?;
            let query = "SELECT round, cell FROM measurement WHERE run = ?1";
            let turns = database.rows(query, params![row.number])?;
            turns.iter().map(|row| Ok(Turn { round: row.get(0)?, cell: row.get(1)? })).collect()
        })
    }
}

/// The key of a turn's measurement.
fn number_of(database: &dyn Database, run: &RunId, turn: Turn) -> Result<i64, Fault> {
    let row = find::row(database, run)?;
    let number = database.row_if_any(
        "SELECT number FROM measurement WHERE run = ?1 AND round = ?2 AND cell = ?3",
        params![row.number, turn.round, turn.cell],
    )?;
    number.ok_or_else(|| StoreError::NotMeasured { run: run.clone(), turn })?.get(0)
}

/// Reads the header of a run.
pub(crate) fn header(database: &dyn Database, run: &RunRow) -> Result<RunHeader, Fault> {
    let row = database.row(
        "SELECT created_ns, version, plan, facts_before, facts_after, origin, machine, command
         FROM run WHERE number = ?1",
        params![run.number],
    )?;
    let facts_after: Option<String> = row.get(4)?;
    let origin: Option<String> = row.get(5)?;
    let facts_before: MachineFacts = parsed(row.get::<String>(3)?.as_bytes())?;
    Ok(RunHeader {
        id: run.id.clone(),
        created: Instant::from_nanos(row.get(0)?),
        version: row.get(1)?,
        status: run.status,
        plan: parsed(row.get::<String>(2)?.as_bytes())?,
        facts_before: MachineFacts { machine_id: row.get(6)?, ..facts_before },
        facts_after: facts_after.map(|facts| parsed(facts.as_bytes())).transpose()?,
        origin: origin.map(|origin| parsed(origin.as_bytes())).transpose()?,
        command: row.get(7)?,
    })
}

/// The keys of a run's measurements, in the order in which they were saved.
pub(crate) fn measurement_numbers(
    database: &dyn Database,
    run: &RunRow,
) -> Result<Vec<i64>, Fault> {
    let query = "SELECT number FROM measurement WHERE run = ?1 ORDER BY number";
    database.rows(query, params![run.number])?.iter().map(|row| row.get(0)).collect()
}

/// Reads one measurement with its tasks, without its samples.
pub(crate) fn measurement(database: &dyn Database, number: i64) -> Result<Measurement, Fault> {
    let query = "SELECT content FROM measurement WHERE number = ?1";
    let content: String = database.row(query, params![number])?.get(0)?;
    let mut measurement: Measurement = parsed(content.as_bytes())?;
    let query = "SELECT histograms, content FROM task WHERE measurement = ?1 ORDER BY number";
    let tasks = database.rows(query, params![number])?;
    measurement.tasks = tasks.iter().map(task).collect::<Result<_, Fault>>()?;
    Ok(measurement)
}

fn task(row: &Row) -> Result<TaskResult, Fault> {
    let mut task: TaskResult = parsed(&columns::decompress(row.bytes(1)?)?)?;
    task.blocks = columns::decode(row.bytes(0)?)?;
    task.missed_latencies = task
        .blocks
        .pop()
        .ok_or_else(|| Fault::Damaged("a task has no histogram of missed latencies".to_owned()))?;
    Ok(task)
}

/// Reads the samples of one measurement, in the order in which they were saved.
pub(crate) fn samples(
    database: &dyn Database,
    measurement: i64,
) -> Result<Vec<(u32, SampleBlock)>, Fault> {
    blocks(
        database,
        "SELECT task, count, bytes FROM sample_block WHERE measurement = ?1 ORDER BY number",
        measurement,
    )
}

/// Reads the recording of one measurement and its samples, in the order in which they were saved.
pub(crate) fn traced_data(database: &dyn Database, measurement: i64) -> Result<TracedData, Fault> {
    let samples = blocks(
        database,
        "SELECT task, count, bytes FROM traced_sample_block WHERE measurement = ?1
         ORDER BY number",
        measurement,
    )?;
    let query = "SELECT bytes FROM recording WHERE measurement = ?1";
    let recording = database.row_if_any(query, params![measurement])?;
    let recording = recording.map(|row| row.get(0)).transpose()?.unwrap_or_default();
    Ok(TracedData { samples, recording })
}

fn blocks(
    database: &dyn Database,
    query: &'static str,
    measurement: i64,
) -> Result<Vec<(u32, SampleBlock)>, Fault> {
    let block =
        |row: &Row| Ok((row.get(0)?, SampleBlock { count: row.get(1)?, bytes: row.get(2)? }));
    database.rows(query, params![measurement])?.iter().map(block).collect()
}

/// Reads the failures of a run, in the order in which they were saved.
pub(crate) fn failures(database: &dyn Database, run: &RunRow) -> Result<Vec<Failure>, Fault> {
    let query = "SELECT round, cell, reason, hint, by_host FROM failure WHERE run = ?1
        ORDER BY number";
    let failure = |row: &Row| {
        let turn = Turn { round: row.get(0)?, cell: row.get(1)? };
        let by_host = row.get::<i64>(4)? != 0;
        Ok(Failure { turn, reason: row.get(2)?, hint: row.get(3)?, by_host })
    };
    database.rows(query, params![run.number])?.iter().map(failure).collect()
}

pub(crate) fn parsed<T: DeserializeOwned>(json: &[u8]) -> Result<T, Fault> {
    serde_json::from_slice(json)
        .map_err(|error| Fault::Damaged(format!("a stored value cannot be read: {error}")))
}
