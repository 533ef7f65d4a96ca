//! What a measuring process is asked to do and what it answers: one JSON object a line.
//!
//! The same messages go over a pipe to a process of this host and over a serial
//! line or a connection to a guest.

use serde::{Deserialize, Serialize};

use crate::cell::Cell;
use crate::experiment::Turn;
use crate::result::{Measurement, Shortfall, TaskResult};
use crate::sample::SampleBlock;

/// Asks a measuring process for one cell; it reads this on its standard input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellRequest {
    /// Which cell, in which round.
    pub turn: Turn,
    /// The cell to measure.
    pub cell: Cell,
    /// The seed of this turn's random intervals.
    pub seed: u64,
    /// The seed of all that is random when a guest boots. Turns of a round share it, so that
    /// they can be measured in a guest that booted once.
    pub boot_seed: u64,
}

/// What a measuring process answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "kebab-case")]
pub enum Message {
    /// The load runs and the measured window opens. Nothing is said of the window in which
    /// events are recorded; it may lie before or after.
    Opened,
    /// The window is closed; what follows is evaluation.
    Closed,
    /// Samples of one task, in order; a task may send several blocks.
    Samples {
        /// The task's number.
        task: u32,
        /// Its samples.
        block: SampleBlock,
    },
    /// Samples of one task of the window in which events were recorded, likewise.
    TracedSamples {
        /// The task's number.
        task: u32,
        /// Its samples.
        block: SampleBlock,
    },
    /// A piece of the recording; the pieces in their order are the whole.
    Recording {
        /// The next bytes.
        #[serde(with = "crate::sample::base64_text")]
        bytes: Vec<u8>,
    },
    /// Something was not granted; said as soon as it is known.
    Shortfall(Shortfall),
    /// The result of one task. Those of all tasks come before the last message, in the order
    /// of their numbers.
    Task(Box<TaskResult>),
    /// The result, without those of the tasks: the last message of a turn that succeeded.
    Finished(Box<Measurement>),
    /// The turn failed: the last message.
    Failed {
        /// What happened, in a sentence.
        reason: String,
        /// What to do about it, where that is known.
        hint: Option<String>,
    },
}
