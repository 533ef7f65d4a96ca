//! The causes of late samples, found while a cell is being watched.
//!
//! A separate process keeps the last seconds of the kernel's events in memory, as a flight
//! recorder. Once a second it gets the late samples of that second and explains them from the
//! events that it holds ([`main`]); [`Causes`] is the other side.

mod lately;
mod process;
mod source;

use serde::{Deserialize, Serialize};
use tactus_explain::{ExplainedSample, ProbeTask};
use tactus_model::cpus::CpuList;
use tactus_model::time::Nanos;

pub use lately::Lately;
pub use process::main;
pub use source::Causes;

/// A request to the recording process.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "kebab-case")]
enum CauseRequest {
    /// Record; the thread that drains the rings runs on `aside`, if given.
    Record { aside: Option<CpuList> },
    /// Explain the slowest of these samples that are later than `threshold`.
    Explain { tasks: Vec<ProbeTask>, threshold: Nanos },
}

/// An event of the recording process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum CauseEvent {
    /// Events are recorded from now on.
    Recording,
    /// Events cannot be recorded, or no longer.
    Unavailable {
        /// Why, in a sentence.
        reason: String,
        /// The command that fixes it, if known.
        fix: Option<String>,
    },
    /// The slowest of the given samples, the slowest first.
    Explained {
        /// The samples with their causes.
        samples: Vec<ExplainedSample>,
    },
}
