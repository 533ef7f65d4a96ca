//! Writes runs and their results.

use tactus_model::experiment::Plan;
use tactus_model::facts::MachineFacts;
use tactus_model::result::{Failure, Measurement};
use tactus_model::run::{RunId, RunStatus};
use tactus_model::sample::SampleBlock;
use tactus_model::time::{Instant, Realtime};

use crate::{Store, StoreError};

impl Store {
    /// Begins a run and names it after its plan and the moment `created`, in UTC.
    ///
    /// `version` is that of the program. The run is [`RunStatus::Unfinished`]
    /// until [`Store::finish_run`].
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn create_run(
        &mut self,
        plan: &Plan,
        facts_before: &MachineFacts,
        version: &str,
        created: Instant<Realtime>,
    ) -> Result<RunId, StoreError> {
        todo!("{plan:?} {facts_before:?} {version} {created:?}")
    }

    /// Keeps what one turn found, with its samples by task, each task's in order.
    ///
    /// Samples may be left out, but those of a task are either all there or none.
    /// An earlier failure of the same turn is taken back. When this returns, the
    /// result is on the disk.
    ///
    /// # Errors
    /// [`StoreError::Unbalanced`] when not every sample is accounted for,
    /// [`StoreError::Complete`], [`StoreError::TurnTaken`], [`StoreError::NotPlanned`],
    /// or the database cannot be written. In none of these cases is anything stored.
    pub fn save_measurement(
        &mut self,
        run: &RunId,
        measurement: &Measurement,
        samples: &[(u32, SampleBlock)],
    ) -> Result<(), StoreError> {
        todo!("{run} {measurement:?} {samples:?}")
    }

    /// Keeps that a turn yielded no result; the latest failure of a turn counts.
    ///
    /// # Errors
    /// As [`Store::save_measurement`].
    pub fn save_failure(&mut self, run: &RunId, failure: &Failure) -> Result<(), StoreError> {
        todo!("{run} {failure:?}")
    }

    /// Keeps how far the run has come and how the machine was afterwards.
    ///
    /// # Errors
    /// [`StoreError::Complete`] when the run is complete already,
    /// [`StoreError::UnknownRun`], or the database cannot be written.
    pub fn finish_run(
        &mut self,
        run: &RunId,
        status: RunStatus,
        facts_after: &MachineFacts,
    ) -> Result<(), StoreError> {
        todo!("{run} {status} {facts_after:?}")
    }

    /// Removes a run and all that belongs to it.
    ///
    /// # Errors
    /// [`StoreError::UnknownRun`], or the database cannot be written.
    pub fn delete(&mut self, run: &RunId) -> Result<(), StoreError> {
        todo!("{run}")
    }
}
