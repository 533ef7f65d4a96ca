//! Why a cell could not be measured.

use tactus_model::cell::Inconsistent;
use tactus_model::format;
use tactus_model::result::Accounting;
use tactus_model::time::Nanos;

/// Why a cell could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// Its settings contradict each other.
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
        /// The error of the system.
        error: std::io::Error,
    },
    /// A task gave up.
    #[error("task {task} failed: {reason}")]
    Failed {
        /// Its number.
        task: u32,
        /// The reason that it sent.
        reason: String,
        /// How to fix it, where known.
        hint: Option<String>,
    },
    /// A task ended before it sent a result or an error.
    #[error("task {0} ended before it had a result")]
    Vanished(u32),
    /// Some tasks did not respond in time.
    #[error("{silent} of {tasks} tasks did not respond within {}", format::span(*waited))]
    Hung {
        /// The number of tasks that did not respond.
        silent: usize,
        /// The number of tasks.
        tasks: usize,
        /// How long the cell waited.
        waited: Nanos,
    },
    /// A task sent a message that is not valid at that point.
    #[error("task {0} sent a message out of turn; this is a bug in Tactus")]
    OutOfTurn(u32),
    /// The wakeups of a task do not add up.
    #[error(
        "task {task}: {} intended are not {} observed + {} missed + {} dropped; this is a bug in Tactus",
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
    /// How to fix it, where known.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Failed { hint, .. } => hint.as_deref(),
            Self::Hung { .. } => Some(
                "tasks of a higher priority may starve them; try `--policy fifo:90`, or less load",
            ),
            _ => None,
        }
    }
}
