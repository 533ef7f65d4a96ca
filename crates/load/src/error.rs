//! Why a load cannot run.

use std::fmt::Display;

use serde::{Deserialize, Serialize};

/// Why a load did not start, or why a copy of it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{reason}")]
pub struct LoadError {
    /// What happened, in a sentence.
    pub reason: String,
    /// What to do about it, where that is known.
    pub hint: Option<String>,
}

impl LoadError {
    /// Makes an error without a hint.
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), hint: None }
    }

    /// Adds what to do about it.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// Says what was being done when something failed.
pub(crate) trait During<T> {
    /// Makes the failure a [`LoadError`]: `to write the file: No space left on device`.
    fn during(self, action: &str) -> Result<T, LoadError>;
}

impl<T, E: Display> During<T> for Result<T, E> {
    fn during(self, action: &str) -> Result<T, LoadError> {
        self.map_err(|error| LoadError::new(format!("failed to {action}: {error}")))
    }
}
