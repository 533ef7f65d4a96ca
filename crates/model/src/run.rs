//! One execution of an experiment.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::experiment::Plan;
use crate::facts::MachineFacts;
use crate::origin::Origin;
use crate::result::{Failure, Measurement};
use crate::text::keywords;
use crate::time::{Instant, Nanos, Realtime};

/// The name of a run in the store: the experiment's name and the start time, for example
/// `quick-20261121-113355`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(String);

impl RunId {
    /// Wraps a name from the store.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

keywords! {
    /// The progress of a run.
    pub enum RunStatus: "run status" {
        /// It is running, or was cut off.
        Unfinished = "unfinished",
        /// Every turn has a result. (In runs of earlier versions some may have failed.)
        Complete = "complete",
        /// Every turn was tried and some failed; continuing the run tries those again.
        Partial = "partial",
        /// The user stopped it; finished turns are kept.
        Interrupted = "interrupted",
    }
}

impl RunStatus {
    /// Whether every turn was tried.
    pub fn has_ended(self) -> bool {
        matches!(self, Self::Complete | Self::Partial)
    }
}

/// A run without its results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunHeader {
    /// Its name.
    pub id: RunId,
    /// When it started.
    pub created: Instant<Realtime>,
    /// The version of Tactus that created it.
    pub version: String,
    /// Its progress.
    pub status: RunStatus,
    /// Its plan.
    pub plan: Plan,
    /// The machine before the first turn.
    pub facts_before: MachineFacts,
    /// The machine after the last turn, if that was reached.
    pub facts_after: Option<MachineFacts>,
    /// The other program that measured it; `None` for runs of Tactus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// The command line that began it; `None` for runs of other programs, and of versions that
    /// did not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// A run as a line in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSummary {
    /// Its name.
    pub id: RunId,
    /// The name of its experiment.
    pub name: String,
    /// When it started.
    pub created: Instant<Realtime>,
    /// The version of Tactus that created it.
    pub version: String,
    /// Its progress.
    pub status: RunStatus,
    /// The number of cells in its plan.
    pub cells: u64,
    /// The number of turns in its plan: cells × rounds.
    pub turns_planned: u64,
    /// The number of turns with a result.
    pub turns_done: u64,
    /// The number of failed turns.
    pub failures: u64,
    /// The number of wakeups observed in all its turns.
    pub observed: u64,
    /// Their maximum latency; `None` if there is no measurement.
    pub max: Option<Nanos>,
    /// The other program that measured it, with its version; `None` for runs of Tactus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
}

/// A run with its results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The run without its results.
    #[serde(flatten)]
    pub header: RunHeader,
    /// The turns with a result, in the order of execution.
    pub measurements: Vec<Measurement>,
    /// The failed turns.
    pub failures: Vec<Failure>,
}

impl Run {
    /// The measurements of one cell, one per round.
    pub fn of_cell(&self, cell: usize) -> impl Iterator<Item = &Measurement> {
        self.measurements.iter().filter(move |measurement| measurement.turn.cell == cell)
    }
}
