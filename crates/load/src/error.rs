//! Why a load cannot run.

use std::fmt::Display;

use serde::{Deserialize, Serialize};

/// Why a load did not start, or why a copy of it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{reason}")]
pub struct LoadError {
    /// The reason, in a sentence.
    pub reason: String,
    /// How to fix it, where known.
    pub hint: Option<String>,
}

impl LoadError {
    /// Creates an error without a hint.
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), hint: None }
    }

    /// Adds a hint.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// Adds the action that failed.
pub(crate) trait During<T> {
    /// Turns the failure into a [`LoadError`]: `failed to write the file: No space left on
    /// device`.
    fn during(self, action: &str) -> Result<T, LoadError>;
}

impl<T, E: Display> During<T> for Result<T, E> {
    fn during(self, action: &str) -> Result<T, LoadError> {
        self.map_err(|error| LoadError::new(format!("failed to {action}: {error}")))
    }
}
