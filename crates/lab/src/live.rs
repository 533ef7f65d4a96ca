//! A cell that is watched while it is measured.
//!
//! As in a turn of a run, a fresh process of our own binary prepares the load, the policy and
//! the tasks ([`main`]). It delivers its samples at once, through shared memory, and measures
//! until it is ended; [`LiveSamples`] is the other side.

mod process;
mod source;

use serde::{Deserialize, Serialize};
use tactus_model::cell::Cell;
use tactus_model::live::Batch;
use tactus_model::recording::ThreadId;
use tactus_model::result::Shortfall;
use tactus_model::time::{Instant, Monotonic};
use tactus_probe::live::RingsPlace;

pub use process::main;
pub use source::LiveSamples;

/// The request to the measuring process.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct LiveRequest {
    cell: Cell,
    seed: u64,
    rings: RingsPlace,
}

/// An event of a watched cell; also a message of the measuring process, except for
/// [`Self::Batch`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "kebab-case")]
pub enum LiveEvent {
    /// The machine refused something.
    Shortfall(Shortfall),
    /// The load runs, all tasks are prepared, and their window opens.
    Opened {
        /// When the window opens; the origin of all samples.
        opened: Instant<Monotonic>,
        /// The thread of each task, by number.
        threads: Vec<ThreadId>,
    },
    /// The samples of a task since its last batch, from shared memory.
    #[serde(skip)]
    Batch(Batch),
    /// The window is over.
    Ended,
    /// The cell cannot be measured, or no longer.
    Failed {
        /// Why, in a sentence.
        reason: String,
        /// The fix, if known.
        hint: Option<String>,
    },
}
