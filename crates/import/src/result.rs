//! The result of a parser: a file as cells with their tasks.

use tactus_model::cell::Cell;
use tactus_model::facts::MachineFacts;
use tactus_model::limits::TASKS;
use tactus_model::origin::{Overflow, Precision};
use tactus_model::result::{Accounting, Granted, Histogram, TaskResult, TaskUsage};
use tactus_model::time::{Instant, Nanos, Realtime};

use crate::error::ImportError;
use crate::tally::Tallied;

/// The content of one file.
#[derive(Debug)]
pub(crate) struct ForeignResult {
    /// The measuring program.
    pub(crate) tool: &'static str,
    pub(crate) version: Option<String>,
    pub(crate) command_line: Option<String>,
    /// When the measurement started, if the file contains it.
    pub(crate) started: Option<Instant<Realtime>>,
    /// The facts about the machine in the file; others are unknown.
    pub(crate) facts: MachineFacts,
    pub(crate) cells: Vec<ForeignCell>,
    /// Notes on data that the file lacks, one sentence each.
    pub(crate) notes: Vec<String>,
}

/// A cell of a file.
#[derive(Debug)]
pub(crate) struct ForeignCell {
    pub(crate) cell: Cell,
    /// The duration of the measurement; zero if it is unknown.
    pub(crate) window: Nanos,
    /// The duration of the tasks' blocks; zero if there is only one block.
    pub(crate) block_length: Nanos,
    pub(crate) unit: Nanos,
    pub(crate) tasks: Vec<ForeignTask>,
}

/// A task of a file.
#[derive(Debug)]
pub(crate) struct ForeignTask {
    pub(crate) cpu: Option<u32>,
    pub(crate) blocks: Vec<Histogram>,
    pub(crate) accounting: Accounting,
    pub(crate) overflow: Option<Overflow>,
}

/// Checks that a cell can have this many tasks.
///
/// # Errors
/// [`ImportError::Whole`] beyond [`TASKS`].
pub(crate) fn check_task_count(count: usize) -> Result<(), ImportError> {
    if count <= TASKS {
        return Ok(());
    }
    Err(ImportError::Whole(format!("it has {count} threads; the limit is {TASKS}")))
}

impl ForeignTask {
    /// A task with a single histogram for the whole measurement.
    pub(crate) fn whole(cpu: Option<u32>, tallied: Tallied) -> Self {
        Self {
            cpu,
            blocks: vec![tallied.histogram],
            accounting: tallied.accounting,
            overflow: tallied.overflow,
        }
    }

    fn result(self, number: u32, cell: &Cell) -> TaskResult {
        TaskResult {
            task: number,
            cpu: self.cpu,
            granted: Granted {
                scheduling: cell.policy.scheduling,
                cpus: self.cpu.into_iter().collect(),
                memory_locked: cell.policy.lock_memory,
                timer_slack: None,
            },
            accounting: self.accounting,
            blocks: self.blocks,
            missed_latencies: Histogram::default(),
            series: Vec::new(),
            scope: Vec::new(),
            worst: Vec::new(),
            usage: TaskUsage::default(),
            use_over_time: Vec::new(),
            batches: Vec::new(),
            timer_interrupts: None,
            clock: None,
            by_dirt: None,
            messages: None,
            playback: None,
        }
    }
}

impl ForeignCell {
    /// The precision of the file. None of the tools imported here counts the due times it
    /// skips.
    pub(crate) fn precision(&self) -> Precision {
        let alone = |overflow| Precision { unit: self.unit, overflow, missed_known: false };
        let tasks = self.tasks.iter().map(|task| alone(task.overflow));
        tasks.reduce(Precision::and).unwrap_or_else(|| alone(None))
    }

    /// The numbered results of its tasks.
    pub(crate) fn task_results(self) -> Vec<TaskResult> {
        let Self { cell, tasks, .. } = self;
        (0..).zip(tasks).map(|(number, task)| task.result(number, &cell)).collect()
    }
}
