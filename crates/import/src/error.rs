//! Why a file is not a valid result. Every message names the location.

use crate::format::Format;

/// Why files were not imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// A line is invalid.
    #[error("line {line}: {reason}")]
    Line {
        /// The line, counted from 1.
        line: usize,
        /// The reason.
        reason: String,
    },
    /// The value of a key is invalid.
    #[error("{key}: {reason}")]
    Key {
        /// The path of keys, separated by dots.
        key: String,
        /// The reason.
        reason: String,
    },
    /// The content is not the tool's JSON; the reason names line and column.
    #[error("{0}")]
    Json(String),
    /// The content as a whole is not sufficient for a run.
    #[error("{0}")]
    Whole(String),
    /// The content has no known format. The message quotes nothing of it: the file may be any.
    #[error(
        "unknown format; known formats are: {known}",
        known = Format::choices()
    )]
    Unrecognised,
    /// The files cannot be rounds of one run.
    #[error("{name} cannot be a round of the same run as {first}: {reason}; import it by itself")]
    NotTheSame {
        /// The file.
        name: String,
        /// The first of the files.
        first: String,
        /// The difference.
        reason: String,
    },
    /// No file was given.
    #[error("no file given")]
    NoFile,
}

impl ImportError {
    pub(crate) fn line(line: usize, reason: impl Into<String>) -> Self {
        Self::Line { line, reason: reason.into() }
    }

    /// More than `limit` of `what`, found in a line.
    pub(crate) fn beyond(line: usize, limit: usize, what: &str) -> Self {
        Self::line(line, format!("more than {limit} {what}"))
    }

    pub(crate) fn key(key: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Key { key: key.into(), reason: reason.into() }
    }
}
