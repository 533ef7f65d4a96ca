//! What a task and the process that started it say to each other.

use serde::{Deserialize, Serialize};
use tactus_model::cell::Cell;
use tactus_model::recording::ThreadId;
use tactus_model::result::{ProbeCost, Shortfall, TaskResult};
use tactus_model::sample::SampleBlock;
use tactus_wire::parse;

use crate::live::RingsPlace;

/// What a task has to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TaskRequest {
    /// The cell it belongs to.
    pub cell: Cell,
    /// Its number, counted from 0.
    pub task: u32,
    /// The CPU that is requested for it.
    pub cpu: u32,
    /// The seed of the turn.
    pub seed: u64,
    /// Where its samples are read while it measures; `None` to keep them in memory and send
    /// them afterwards.
    pub rings: Option<RingsPlace>,
}

/// A command to a task.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "kebab-case")]
pub(crate) enum Command {
    /// The window opens at this instant of the probe's clock.
    Start {
        /// Nanoseconds since the clock's epoch.
        at: u64,
    },
    /// All tasks are done: evaluate.
    Evaluate,
}

/// A message of a task. The messages come in this order unless the task fails.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "kebab-case")]
pub(crate) enum TaskMessage {
    /// It is prepared.
    Ready {
        /// What was not granted.
        shortfalls: Vec<Shortfall>,
        /// The cost of its loop.
        cost: ProbeCost,
        /// The thread whose events explain its samples: its own, or that of a receiver.
        thread: ThreadId,
    },
    /// Its window is over.
    Measured,
    /// Some of its samples.
    Samples {
        /// The samples.
        block: SampleBlock,
    },
    /// Its result; the last message.
    Finished {
        /// The result.
        result: Box<TaskResult>,
    },
    /// It cannot continue; the last message.
    Failed {
        /// The reason.
        reason: String,
        /// How to fix it, where known.
        hint: Option<String>,
    },
}

/// Whether a line is a message between a task and the process that started it; for fuzzing.
#[doc(hidden)]
pub fn is_message(line: &[u8]) -> bool {
    match parse::<TaskMessage>(line) {
        Ok(TaskMessage::Samples { block }) => {
            if let Ok(samples) = block.decode() {
                assert_eq!(samples.len() as u64, block.count);
            }
            true
        }
        Ok(_) => true,
        Err(_) => parse::<TaskRequest>(line).is_ok() || parse::<Command>(line).is_ok(),
    }
}

/// The connection between a task and the process or thread that started it.
pub(crate) trait Line {
    /// Waits for the next command; `None` if no further command will come.
    fn receive(&mut self) -> Option<Command>;
    /// Sends a message, which is lost if nobody receives it.
    fn send(&mut self, message: TaskMessage);
}
