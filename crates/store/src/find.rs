//! Lists runs and finds the one that is meant.

use tactus_model::run::{RunId, RunStatus};
use tactus_model::time::{Instant, Nanos, Realtime};

use crate::{Store, StoreError};

/// A run as a line of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
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
}

impl Store {
    /// All runs, the newest first.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn list(&self) -> Result<Vec<RunSummary>, StoreError> {
        todo!()
    }

    /// Finds the run that `text` means: its whole name, the beginning of its name
    /// where no other run's begins so, or `last` for the newest.
    ///
    /// # Errors
    /// [`StoreError::AmbiguousRun`], [`StoreError::UnknownRun`] with the nearest
    /// names, [`StoreError::NoRuns`], or the database cannot be read.
    pub fn find(&self, text: &str) -> Result<RunId, StoreError> {
        todo!("{text}")
    }
}
