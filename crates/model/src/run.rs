//! One execution of an experiment.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::experiment::Plan;
use crate::facts::MachineFacts;
use crate::origin::Origin;
use crate::result::{Failure, Measurement};
use crate::text::keywords;
use crate::time::{Instant, Nanos, Realtime};

/// The name of a run in the store: the experiment's name and when it began, as
/// `quick-20261121-113355`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(String);

impl RunId {
    /// Takes a name as it stands in the store.
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
    /// How far a run has come.
    pub enum RunStatus: "run status" {
        /// It is being carried out, or was cut off while it was.
        Unfinished = "unfinished",
        /// Every turn was taken, some perhaps without a result.
        Complete = "complete",
        /// It was stopped by its user; what was finished is kept.
        Interrupted = "interrupted",
    }
}

/// What is known of a run before and after its turns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunHeader {
    /// Its name.
    pub id: RunId,
    /// When it began.
    pub created: Instant<Realtime>,
    /// The version of Tactus that made it.
    pub version: String,
    /// How far it has come.
    pub status: RunStatus,
    /// What it carries out.
    pub plan: Plan,
    /// The machine before the first turn.
    pub facts_before: MachineFacts,
    /// The machine after the last turn, once that was taken.
    pub facts_after: Option<MachineFacts>,
    /// Which other program measured it; `None` for runs of Tactus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// A run as a line of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSummary {
    /// Its name.
    pub id: RunId,
    /// The name of its experiment.
    pub name: String,
    /// When it began.
    pub created: Instant<Realtime>,
    /// The version of Tactus that made it.
    pub version: String,
    /// How far it has come.
    pub status: RunStatus,
    /// Cells of its plan.
    pub cells: u64,
    /// Turns of its plan: cells × rounds.
    pub turns_planned: u64,
    /// Turns that yielded a result.
    pub turns_done: u64,
    /// Turns that yielded none.
    pub failures: u64,
    /// Wakeups observed in all its turns.
    pub observed: u64,
    /// The greatest latency of them; `None` when there is no measurement.
    pub max: Option<Nanos>,
    /// The other program that measured it, with its version; `None` for runs of Tactus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
}

/// A run with its results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// What it is.
    #[serde(flatten)]
    pub header: RunHeader,
    /// The turns that yielded a result, in the order in which they were taken.
    pub measurements: Vec<Measurement>,
    /// The turns that yielded none.
    pub failures: Vec<Failure>,
}

impl Run {
    /// The measurements of one cell, a round each.
    pub fn of_cell(&self, cell: usize) -> impl Iterator<Item = &Measurement> {
        self.measurements.iter().filter(move |measurement| measurement.turn.cell == cell)
    }
}
