//! Writes runs and their results.

use rusqlite::params;
use serde::Serialize;
use tactus_model::experiment::{Plan, Turn};
use tactus_model::facts::MachineFacts;
use tactus_model::result::{Failure, Histogram, Measurement, TaskResult};
use tactus_model::run::{RunHeader, RunId, RunStatus};
use tactus_model::sample::SampleBlock;
use tactus_model::time::{Instant, Nanos, Realtime};
use tactus_model::traced::TracedData;

use crate::engine::Database;
use crate::fault::Fault;
use crate::find::{self, RunRow};
use crate::{Store, StoreError, balance, columns, load, name};

impl Store {
    /// Creates a run and names it after its plan and its start time `created`, in UTC; on a node of
    /// a cluster, after the group of runs and the node.
    ///
    /// `version` is the program's version, and `command` the command line that begins the run. The run is [`RunStatus::Unfinished`] until
    /// [`Store::finish_run`].
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn create_run(
        &mut self,
        plan: &Plan,
        facts_before: &MachineFacts,
        version: &str,
        created: Instant<Realtime>,
        command: Option<&str>,
    ) -> Result<RunId, StoreError> {
        self.write(|database| {
            let mut header = RunHeader {
                id: RunId::new(""),
                created,
                version: version.to_owned(),
                status: RunStatus::Unfinished,
                plan: plan.clone(),
                facts_before: facts_before.clone(),
                facts_after: None,
                origin: None,
                command: command.map(str::to_owned),
            };
            database.lock_names()?;
            let names: Box<dyn Iterator<Item = RunId>> = match &facts_before.node {
                Some(node) => Box::new(name::names_on(node)),
                None => Box::new(name::names_for(&plan.name, created)),
            };
            for id in names {
                if find::row_if_any(database, &id)?.is_none() {
                    header.id = id;
                    break;
                }
            }
            insert_run(database, &header)?;
            Ok(header.id)
        })
    }

    /// Stores the result of one turn, with its samples by task, each task's in order.
    ///
    /// Samples may be omitted, but only all samples of a task. An earlier failure of the same
    /// turn is removed. When this returns, the result is on disk.
    ///
    /// # Errors
    /// [`StoreError::Unbalanced`] if not every sample is accounted for,
    /// [`StoreError::Complete`], [`StoreError::TurnTaken`], [`StoreError::NotPlanned`], or the
    /// database cannot be written. In all these cases nothing is stored.
    pub fn save_measurement(
        &mut self,
        run: &RunId,
        measurement: &Measurement,
        samples: &[(u32, SampleBlock)],
    ) -> Result<(), StoreError> {
        self.save_traced(run, measurement, samples, &TracedData::default())
    }

    /// Stores the result of one turn like [`Store::save_measurement`], with the data that
    /// explains the samples of its traced window.
    ///
    /// # Errors
    /// As [`Store::save_measurement`].
    pub fn save_traced(
        &mut self,
        run: &RunId,
        measurement: &Measurement,
        samples: &[(u32, SampleBlock)],
        traced_data: &TracedData,
    ) -> Result<(), StoreError> {
        self.write(|database| {
            let row = open_run(database, run)?;
            check_planned(&row, measurement.turn)?;
            forget_failure(database, &row, measurement.turn)?;
            insert_measurement(database, &row, measurement, samples, traced_data)
        })
    }

    /// Stores the failure of a turn; the last failure of a turn counts.
    ///
    /// # Errors
    /// As [`Store::save_measurement`].
    pub fn save_failure(&mut self, run: &RunId, failure: &Failure) -> Result<(), StoreError> {
        self.write(|database| {
            let row = open_run(database, run)?;
            check_planned(&row, failure.turn)?;
            forget_failure(database, &row, failure.turn)?;
            insert_failure(database, &row, failure)
        })
    }

    /// Adds one round to the plan, whose turns can then be stored, and returns the new plan.
    ///
    /// # Errors
    /// [`StoreError::Complete`] if the run is already complete, [`StoreError::UnknownRun`], or
    /// the database cannot be written.
    pub fn add_round(&mut self, run: &RunId) -> Result<Plan, StoreError> {
        self.write(|database| {
            let row = open_run(database, run)?;
            let mut plan = load::header(database, &row)?.plan;
            plan.rounds += 1;
            database.execute(
                "UPDATE run SET rounds = ?2, plan = ?3 WHERE number = ?1",
                params![row.number, plan.rounds, json("a plan", &plan)?],
            )?;
            Ok(plan)
        })
    }

    /// Stores the final status of the run and the facts of the machine afterwards.
    ///
    /// # Errors
    /// [`StoreError::Complete`] if the run is already complete, [`StoreError::UnknownRun`], or
    /// the database cannot be written.
    pub fn finish_run(
        &mut self,
        run: &RunId,
        status: RunStatus,
        facts_after: &MachineFacts,
    ) -> Result<(), StoreError> {
        self.write(|database| {
            let row = open_run(database, run)?;
            database.execute(
                "UPDATE run SET status = ?2, facts_after = ?3 WHERE number = ?1",
                params![row.number, status.word(), facts_json(facts_after)?],
            )
        })
    }

    /// Deletes a run with everything that belongs to it, and returns its space to the file
    /// system. This works on a full disk too.
    ///
    /// # Errors
    /// [`StoreError::UnknownRun`], or the database cannot be written.
    pub fn delete(&mut self, run: &RunId) -> Result<(), StoreError> {
        self.write_deletion(|database| {
            database.lock_run(run)?;
            let row = find::row(database, run)?;
            database.execute("DELETE FROM run WHERE number = ?1", params![row.number])
        })
    }
}

/// Finds a run that can still be written.
fn open_run(database: &dyn Database, run: &RunId) -> Result<RunRow, Fault> {
    database.lock_run(run)?;
    let row = find::row(database, run)?;
    if row.status == RunStatus::Complete {
        return Err(StoreError::Complete(run.clone()).into());
    }
    Ok(row)
}

/// Writes a run without results. Its name must be unused.
pub(crate) fn insert_run(database: &dyn Database, header: &RunHeader) -> Result<RunRow, Fault> {
    let plan = &header.plan;
    let facts_after = header.facts_after.as_ref().map(facts_json).transpose()?;
    let origin = header.origin.as_ref().map(|origin| json("an origin", origin)).transpose()?;
    let cells = plan.cells.len() as u64;
    let created_ns = balance::created_ns(header)?;
    let row = database.row(
        "INSERT INTO run
            (id, name, created_ns, version, status, rounds, cells, plan, facts_before, facts_after,
             origin, machine, command)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
         RETURNING number",
        params![
            header.id.as_str(),
            plan.name,
            created_ns,
            header.version,
            header.status.word(),
            plan.rounds,
            cells,
            json("a plan", plan)?,
            facts_json(&header.facts_before)?,
            facts_after,
            origin,
            header.facts_before.machine_id,
            header.command,
        ],
    )?;
    Ok(RunRow {
        number: row.get(0)?,
        id: header.id.clone(),
        status: header.status,
        rounds: plan.rounds,
        cells,
    })
}

/// Writes a measurement of a turn without one, after checking that it balances.
pub(crate) fn insert_measurement(
    database: &dyn Database,
    run: &RunRow,
    measurement: &Measurement,
    samples: &[(u32, SampleBlock)],
    traced_data: &TracedData,
) -> Result<(), Fault> {
    let turn = measurement.turn;
    balance::check_turn(measurement, samples, traced_data)?;
    check_free(database, run, turn)?;
    let row = database.row(
        "INSERT INTO measurement (run, round, cell, content) VALUES (?1, ?2, ?3, ?4)
         RETURNING number",
        params![
            run.number,
            turn.round,
            turn.cell,
            json("a measurement", &without_tasks(measurement))?,
        ],
    )?;
    let number = row.get(0)?;
    for task in &measurement.tasks {
        insert_task(database, number, task)?;
    }
    for (task, block) in samples {
        database.execute(
            "INSERT INTO sample_block (measurement, task, count, bytes) VALUES (?1, ?2, ?3, ?4)",
            params![number, task, block.count, block.bytes],
        )?;
    }
    insert_traced_data(database, number, traced_data)
}

fn insert_traced_data(
    database: &dyn Database,
    measurement: i64,
    traced_data: &TracedData,
) -> Result<(), Fault> {
    for (task, block) in &traced_data.samples {
        database.execute(
            "INSERT INTO traced_sample_block (measurement, task, count, bytes)
             VALUES (?1, ?2, ?3, ?4)",
            params![measurement, task, block.count, block.bytes],
        )?;
    }
    if !traced_data.recording.is_empty() {
        database.execute(
            "INSERT INTO recording (measurement, bytes) VALUES (?1, ?2)",
            params![measurement, traced_data.recording],
        )?;
    }
    Ok(())
}

fn insert_task(database: &dyn Database, measurement: i64, task: &TaskResult) -> Result<(), Fault> {
    let accounting = &task.accounting;
    let max = task.blocks.iter().map(|block| block.max).max().unwrap_or(Nanos::ZERO);
    let histograms = columns::encode(task.blocks.iter().chain([&task.missed_latencies]));
    let content = json("a task's result", &without_histograms(task))?;
    database.execute(
        "INSERT INTO task
            (measurement, task, intended, observed, missed, dropped, max_ns, histograms, content)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        params![
            measurement,
            task.task,
            accounting.intended,
            accounting.observed,
            accounting.missed,
            accounting.dropped,
            // Used for lists only, where 292 years suffice; the histograms contain the exact
            // value.
            i64::try_from(max.as_nanos()).unwrap_or(i64::MAX),
            histograms,
            columns::compress(content.as_bytes()),
        ],
    )
}

/// Writes the failure of a turn that has neither a measurement nor a failure.
pub(crate) fn insert_failure(
    database: &dyn Database,
    run: &RunRow,
    failure: &Failure,
) -> Result<(), Fault> {
    let turn = failure.turn;
    check_free(database, run, turn)?;
    database.execute(
        "INSERT INTO failure (run, round, cell, reason, hint, by_host)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            run.number,
            turn.round,
            turn.cell,
            failure.reason,
            failure.hint,
            i64::from(failure.by_host)
        ],
    )
}

fn forget_failure(database: &dyn Database, run: &RunRow, turn: Turn) -> Result<(), Fault> {
    database.execute(
        "DELETE FROM failure WHERE run = ?1 AND round = ?2 AND cell = ?3",
        params![run.number, turn.round, turn.cell],
    )
}

fn check_planned(run: &RunRow, turn: Turn) -> Result<(), StoreError> {
    if turn.round < run.rounds && (turn.cell as u64) < run.cells {
        Ok(())
    } else {
        Err(StoreError::NotPlanned { run: run.id.clone(), turn })
    }
}

/// Checks that the run planned the turn and has no result for it yet.
fn check_free(database: &dyn Database, run: &RunRow, turn: Turn) -> Result<(), Fault> {
    check_planned(run, turn)?;
    let taken = database.row_if_any(
        "SELECT number FROM measurement WHERE run = ?1 AND round = ?2 AND cell = ?3
         UNION ALL SELECT number FROM failure WHERE run = ?1 AND round = ?2 AND cell = ?3",
        params![run.number, turn.round, turn.cell],
    )?;
    match taken {
        None => Ok(()),
        Some(_) => Err(StoreError::TurnTaken { run: run.id.clone(), turn }.into()),
    }
}

/// The measurement without its tasks, which are stored in rows of their own.
fn without_tasks(measurement: &Measurement) -> Measurement {
    Measurement {
        turn: measurement.turn,
        started: measurement.started,
        window: measurement.window,
        block_length: measurement.block_length,
        tasks: Vec::new(),
        load: measurement.load.clone(),
        rates: measurement.rates.clone(),
        cost: measurement.cost,
        shortfalls: measurement.shortfalls.clone(),
        traced: measurement.traced.clone(),
        precision: measurement.precision,
        guest: measurement.guest.clone(),
    }
}

/// The task's result without its histograms, which are stored in a column of their own.
fn without_histograms(task: &TaskResult) -> TaskResult {
    TaskResult {
        task: task.task,
        cpu: task.cpu,
        granted: task.granted.clone(),
        accounting: task.accounting,
        blocks: Vec::new(),
        missed_latencies: Histogram::default(),
        series: task.series.clone(),
        scope: task.scope.clone(),
        worst: task.worst.clone(),
        usage: task.usage,
        use_over_time: task.use_over_time.clone(),
        batches: task.batches.clone(),
        timer_interrupts: task.timer_interrupts,
        clock: task.clock.clone(),
        by_dirt: task.by_dirt.clone(),
        messages: task.messages.clone(),
        playback: task.playback.clone(),
    }
}

fn facts_json(facts: &MachineFacts) -> Result<String, Fault> {
    balance::check_facts(facts)?;
    json("the facts of the machine", facts)
}

fn json(what: &'static str, value: &impl Serialize) -> Result<String, Fault> {
    serde_json::to_string(value)
        .map_err(|error| StoreError::Unkeepable { what, reason: error.to_string() }.into())
}
