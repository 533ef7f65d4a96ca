//! Why a cell could not be measured.

use tactus_model::cell::Inconsistent;
use tactus_model::result::Accounting;
use tactus_model::time::Nanos;

/// Why a cell could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// Its settings do not go together.
    #[error(transparent)]
    Inconsistent(#[from] Inconsistent),
    /// The CPUs it may use could not be read.
    #[error(transparent)]
    System(#[from] tactus_sys::SysError),
    /// A task could not be started.
    #[error("task {task} could not be started: {error}")]
    Start {
        /// Its number.
        task: u32,
        /// What the system answered.
        error: std::io::Error,
    },
    /// A task gave up.
    #[error("task {task} failed: {reason}")]
    Failed {
        /// Its number.
        task: u32,
        /// What it said.
        reason: String,
        /// What to do about it, where that is known.
        hint: Option<String>,
    },
    /// A task ended without a word.
    #[error("task {0} ended before it had a result")]
    Vanished(u32),
    /// Some tasks did not answer in time.
    #[error("{silent} of {tasks} tasks did not answer within {waited}")]
    Hung {
        /// How many did not answer.
        silent: usize,
        /// How many there are.
        tasks: usize,
        /// How long they were waited for.
        waited: Nanos,
    },
    /// A task answered something that makes no sense at that point.
    #[error("task {0} answered out of turn; this is a defect of Tactus")]
    OutOfTurn(u32),
    /// The wakeups of a task do not add up.
    #[error(
        "task {task}: {} intended are not {} observed + {} missed + {} dropped; this is a defect of Tactus",
        .accounting.intended, .accounting.observed, .accounting.missed, .accounting.dropped
    )]
    Unbalanced {
        /// Its number.
        task: u32,
        /// What it counted.
        accounting: Accounting,
    },
}

impl ProbeError {
    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Failed { hint, .. } => hint.as_deref(),
            Self::Hung { .. } => Some(
                "the tasks may be starved by others of a higher priority; try policy fifo, or less load",
            ),
            _ => None,
        }
    }
}
