//! Messages to and from a measuring process: one JSON object per line.
//!
//! The same messages are used over a pipe to a process on this host and over a serial line or a
//! connection to a guest.

use serde::{Deserialize, Serialize};

use crate::cell::Cell;
use crate::experiment::Turn;
use crate::result::{Measurement, Shortfall, TaskResult};
use crate::sample::SampleBlock;

/// The request that a measuring process reads from its standard input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellRequest {
    /// Which cell, in which round.
    pub turn: Turn,
    /// The cell to measure.
    pub cell: Cell,
    /// The seed of this turn's random intervals.
    pub seed: u64,
    /// The seed of all randomness when a guest boots. The turns of a round share it, so that
    /// one booted guest can measure them all.
    pub boot_seed: u64,
}

/// A message from a measuring process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "kebab-case")]
pub enum Message {
    /// The load runs and the measured window opens. There is no such message for the window in
    /// which events are recorded; it may come before or after.
    Opened,
    /// The window is closed; evaluation follows.
    Closed,
    /// Samples of one task, in order; a task may send several blocks.
    Samples {
        /// The task's number.
        task: u32,
        /// Its samples.
        block: SampleBlock,
    },
    /// Samples of one task from the window in which events were recorded, sent likewise.
    TracedSamples {
        /// The task's number.
        task: u32,
        /// Its samples.
        block: SampleBlock,
    },
    /// A piece of the recording; the pieces in order form the whole.
    Recording {
        /// The next bytes.
        #[serde(with = "crate::sample::base64_text")]
        bytes: Vec<u8>,
    },
    /// A request was not granted; sent as soon as it is known.
    Shortfall(Shortfall),
    /// The result of one task. The results of all tasks precede the last message, ordered by task
    /// number.
    Task(Box<TaskResult>),
    /// The result, without those of the tasks: the last message of a successful turn.
    Finished(Box<Measurement>),
    /// The turn failed: the last message.
    Failed {
        /// What happened, in a sentence.
        reason: String,
        /// What to do about it, if known.
        hint: Option<String>,
    },
    /// The host of a guest failed the turn, e.g. by a full disk: the last message. No measuring
    /// process sends it.
    #[serde(skip)]
    HostFault {
        /// What happened, in a sentence.
        reason: String,
        /// What to do about it, if known.
        hint: Option<String>,
    },
}
