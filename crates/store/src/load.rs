//! Reads runs and their results.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::de::DeserializeOwned;
use tactus_model::experiment::Turn;
use tactus_model::facts::MachineFacts;
use tactus_model::result::{Failure, Measurement, TaskResult};
use tactus_model::run::{Run, RunHeader, RunId};
use tactus_model::sample::SampleBlock;
use tactus_model::time::Instant;
use tactus_model::traced::TracedData;

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
            let mut query =
                database.prepare("SELECT round, cell FROM measurement WHERE run = ?1")?;
            let turns = query.query_map([row.number], |row| {
                Ok(Turn { round: row.get(0)?, cell: row.get(1)? })
            })?;
            Ok(turns.collect::<rusqlite::Result<_>>()?)
        })
    }
}

/// The key of a turn's measurement.
fn number_of(database: &Connection, run: &RunId, turn: Turn) -> Result<i64, Fault> {
    let row = find::row(database, run)?;
    let number = database
        .query_row(
            "SELECT number FROM measurement WHERE run = ?1 AND round = ?2 AND cell = ?3",
            params![row.number, turn.round, turn.cell],
            |row| row.get(0),
        )
        .optional()?;
    Ok(number.ok_or_else(|| StoreError::NotMeasured { run: run.clone(), turn })?)
}

/// Reads the header of a run.
pub(crate) fn header(database: &Connection, run: &RunRow) -> Result<RunHeader, Fault> {
    let mut query = database.prepare_cached(
        "SELECT created_ns, version, plan, facts_before, facts_after, origin, machine, command
         FROM run WHERE number = ?1",
    )?;
    let mut rows = query.query_and_then([run.number], |row: &Row<'_>| {
        let facts_after: Option<String> = row.get(4)?;
        let origin: Option<String> = row.get(5)?;
        let facts_before: MachineFacts = parsed(row.get::<_, String>(3)?.as_bytes())?;
        Ok(RunHeader {
            id: run.id.clone(),
            created: Instant::from_nanos(row.get(0)?),
            version: row.get(1)?,
            status: run.status,
            plan: parsed(row.get::<_, String>(2)?.as_bytes())?,
            facts_before: MachineFacts { machine_id: row.get(6)?, ..facts_before },
            facts_after: facts_after.map(|facts| parsed(facts.as_bytes())).transpose()?,
            origin: origin.map(|origin| parsed(origin.as_bytes())).transpose()?,
            command: row.get(7)?,
        })
    })?;
    rows.next().ok_or(rusqlite::Error::QueryReturnedNoRows)?
}

/// The keys of a run's measurements, in the order in which they were saved.
pub(crate) fn measurement_numbers(database: &Connection, run: &RunRow) -> Result<Vec<i64>, Fault> {
    let mut query =
        database.prepare_cached("SELECT number FROM measurement WHERE run = ?1 ORDER BY number")?;
    let numbers = query.query_map([run.number], |row| row.get(0))?;
    Ok(numbers.collect::<rusqlite::Result<_>>()?)
}

/// Reads one measurement with its tasks, without its samples.
pub(crate) fn measurement(database: &Connection, number: i64) -> Result<Measurement, Fault> {
    let content: String = database
        .prepare_cached("SELECT content FROM measurement WHERE number = ?1")?
        .query_row([number], |row| row.get(0))?;
    let mut measurement: Measurement = parsed(content.as_bytes())?;
    let mut query = database.prepare_cached(
        "SELECT histograms, content FROM task WHERE measurement = ?1 ORDER BY number",
    )?;
    measurement.tasks = query.query_and_then([number], task)?.collect::<Result<_, Fault>>()?;
    Ok(measurement)
}

fn task(row: &Row<'_>) -> Result<TaskResult, Fault> {
    let bytes = |column| row.get_ref(column).and_then(|value| Ok(value.as_blob()?));
    let mut task: TaskResult = parsed(&columns::decompress(bytes(1)?)?)?;
    task.blocks = columns::decode(bytes(0)?)?;
    task.missed_latencies = task
        .blocks
        .pop()
        .ok_or_else(|| Fault::Damaged("a task has no histogram of missed latencies".to_owned()))?;
    Ok(task)
}

/// Reads the samples of one measurement, in the order in which they were saved.
pub(crate) fn samples(
    database: &Connection,
    measurement: i64,
) -> Result<Vec<(u32, SampleBlock)>, Fault> {
    blocks(
        database,
        "SELECT task, count, bytes FROM sample_block WHERE measurement = ?1 ORDER BY number",
        measurement,
    )
}

/// Reads the recording of one measurement and its samples, in the order in which they were saved.
pub(crate) fn traced_data(database: &Connection, measurement: i64) -> Result<TracedData, Fault> {
    let samples = blocks(
        database,
        "SELECT task, count, bytes FROM traced_sample_block WHERE measurement = ?1
         ORDER BY number",
        measurement,
    )?;
    let recording: Option<Vec<u8>> = database
        .prepare_cached("SELECT bytes FROM recording WHERE measurement = ?1")?
        .query_row([measurement], |row| row.get(0))
        .optional()?;
    Ok(TracedData { samples, recording: recording.unwrap_or_default() })
}

fn blocks(
    database: &Connection,
    query: &str,
    measurement: i64,
) -> Result<Vec<(u32, SampleBlock)>, Fault> {
    let mut query = database.prepare_cached(query)?;
    let blocks = query.query_map([measurement], |row| {
        Ok((row.get(0)?, SampleBlock { count: row.get(1)?, bytes: row.get(2)? }))
    })?;
    Ok(blocks.collect::<rusqlite::Result<_>>()?)
}

/// Reads the failures of a run, in the order in which they were saved.
pub(crate) fn failures(database: &Connection, run: &RunRow) -> Result<Vec<Failure>, Fault> {
    let mut query = database.prepare_cached(
        "SELECT round, cell, reason, hint FROM failure WHERE run = ?1 ORDER BY number",
    )?;
    let failures = query.query_map([run.number], |row| {
        let turn = Turn { round: row.get(0)?, cell: row.get(1)? };
        Ok(Failure { turn, reason: row.get(2)?, hint: row.get(3)? })
    })?;
    Ok(failures.collect::<rusqlite::Result<_>>()?)
}

pub(crate) fn parsed<T: DeserializeOwned>(json: &[u8]) -> Result<T, Fault> {
    serde_json::from_slice(json)
        .map_err(|error| Fault::Damaged(format!("a stored value cannot be read: {error}")))
}
