//! Reads a run from JSON, described in `docs/run-format.md`.

use std::io::Read;

use tactus_model::run::RunId;

use crate::{Store, StoreError};

impl Store {
    /// Takes in an exported run, all of it or nothing, and gives the name it has here:
    /// its own, or with `-2`, `-3`, … when another run has that.
    ///
    /// # Errors
    /// [`StoreError::NotAnExport`], [`StoreError::UnknownFormat`], [`StoreError::AlreadyThere`]
    /// when the same run with the same content is in the store, the errors of
    /// [`Store::save_measurement`], or the database cannot be written.
    pub fn import(&mut self, reader: impl Read) -> Result<RunId, StoreError> {
        let _ = reader;
        todo!()
    }
}
