//! Writes a run as JSON, described in `docs/run-format.md`.

use std::io::Write;

use tactus_model::run::RunId;

use crate::{Store, StoreError};

/// The name of the format, which stands first in every export.
pub const FORMAT: &str = "tactus-run";

/// The version of the format that is written and read here.
pub const FORMAT_VERSION: u64 = 1;

impl Store {
    /// Writes a run as JSON, turn by turn; the samples too, `with_samples`.
    ///
    /// # Errors
    /// [`StoreError::Export`] when `writer` fails, or as [`Store::load`].
    pub fn export(
        &self,
        run: &RunId,
        writer: impl Write,
        with_samples: bool,
    ) -> Result<(), StoreError> {
        let _ = writer;
        todo!("{run} {with_samples}")
    }
}
