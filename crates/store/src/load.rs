//! Reads runs and their results.

use std::collections::BTreeSet;

use tactus_model::experiment::Turn;
use tactus_model::run::{Run, RunHeader, RunId};
use tactus_model::sample::SampleBlock;

use crate::{Store, StoreError};

impl Store {
    /// Reads a run with its results, but not the samples.
    ///
    /// # Errors
    /// [`StoreError::UnknownRun`], [`StoreError::Damaged`], or the database cannot be read.
    pub fn load(&self, run: &RunId) -> Result<Run, StoreError> {
        todo!("{run}")
    }

    /// Reads what is known of a run before and after its turns.
    ///
    /// # Errors
    /// As [`Store::load`].
    pub fn header(&self, run: &RunId) -> Result<RunHeader, StoreError> {
        todo!("{run}")
    }

    /// Reads the samples of one turn with their tasks' numbers, in the order in which they were
    /// saved; empty when none were kept.
    ///
    /// # Errors
    /// [`StoreError::NotMeasured`], or as [`Store::load`].
    pub fn samples(&self, run: &RunId, turn: Turn) -> Result<Vec<(u32, SampleBlock)>, StoreError> {
        todo!("{run} {turn:?}")
    }

    /// The turns that yielded a result.
    ///
    /// Failed turns are not among them, so that continuing the run tries them again.
    ///
    /// # Errors
    /// As [`Store::load`].
    pub fn finished_turns(&self, run: &RunId) -> Result<BTreeSet<Turn>, StoreError> {
        todo!("{run}")
    }
}
