//! What delayed late samples, found while a cell is looked at.
//!
//! A process of its own keeps the last seconds of the kernel's events in memory, as a
//! flight recorder. Once a second it is asked for the late samples of that second,
//! and explains them from the events it holds ([`main`]); [`Causes`] is the other side.

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

/// What the recording process is asked for, in JSON, one request a line.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "kebab-case")]
enum CauseRequest {
    /// Record; the thread that empties the rings runs on `aside`, when that is given.
    Record { aside: Option<CpuList> },
    /// Explain the slowest of these samples, as far as they are later than `threshold`.
    Explain { tasks: Vec<ProbeTask>, threshold: Nanos },
}

/// What is heard of causes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub enum CauseEvent {
    /// Events are recorded from now on.
    Recording,
    /// They cannot be, or not any longer.
    Unavailable {
        /// Why, in a sentence.
        reason: String,
        /// The command that would fix it, where there is one.
        fix: Option<String>,
    },
    /// The slowest of the samples that were given, the slowest first.
    Explained {
        /// They are told with their causes.
        samples: Vec<ExplainedSample>,
    },
}
