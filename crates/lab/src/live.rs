//! A cell that is looked at while it is measured.
//!
//! As for a turn of a run, a fresh process of our own binary prepares the load, the
//! policy and the tasks ([`main`]). Its samples come through shared memory instead of
//! afterwards, and it measures until it is ended; [`LiveSamples`] is the other side.

mod process;
mod source;

use serde::{Deserialize, Serialize};
use tactus_model::cell::Cell;
use tactus_model::recording::ThreadId;
use tactus_model::result::Shortfall;
use tactus_model::live::Batch;
use tactus_model::time::{Instant, Monotonic};
use tactus_probe::live::RingsPlace;

pub use process::main;
pub use source::LiveSamples;

/// What the measuring process is asked for, in JSON on one line.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct LiveRequest {
    cell: Cell,
    seed: u64,
    rings: RingsPlace,
}

/// What the measuring process says, in JSON, one message a line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "kebab-case")]
enum LiveMessage {
    Shortfall(Shortfall),
    Opened { opened: Instant<Monotonic>, threads: Vec<ThreadId> },
    Ended,
    Failed { reason: String, hint: Option<String> },
}

/// What is heard of a cell that is looked at.
#[derive(Clone, Debug, PartialEq)]
pub enum LiveEvent {
    /// Something was not granted.
    Shortfall(Shortfall),
    /// The load runs, all tasks are prepared, and their window opens at this instant.
    Opened {
        /// The origin of all samples.
        opened: Instant<Monotonic>,
        /// The thread of each task, by number.
        threads: Vec<ThreadId>,
    },
    /// What a task did since it was last looked at.
    Batch(Batch),
    /// The window is over.
    Ended,
    /// It cannot be measured, or not any longer.
    Failed {
        /// Why, in a sentence.
        reason: String,
        /// What to do about it, where that is known.
        hint: Option<String>,
    },
}
