//! Why a file is not taken for a result. Every message names the place.

use crate::format::Format;

/// Why files were not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// A line is not what it should be.
    #[error("line {line}: {reason}")]
    Line {
        /// The line, counted from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// The value of a key is not what it should be.
    #[error("{key}: {reason}")]
    Key {
        /// The keys that lead to it, with points between them.
        key: String,
        /// What is wrong with it.
        reason: String,
    },
    /// It is not the JSON that the tool writes; the reason names line and column.
    #[error("{0}")]
    Json(String),
    /// The whole does not hold what a run needs.
    #[error("{0}")]
    Whole(String),
    /// The content is of none of the known forms.
    #[error(
        "it begins with `{beginning}`, which is no result that is known here; known are: {known}. --format FORMAT takes it for one of them",
        known = Format::choices()
    )]
    Unrecognised {
        /// The first letters of the content.
        beginning: String,
    },
    /// Files that are to be rounds of one run do not belong together.
    #[error("{name} is no round of the same run as {first}: {reason}; import it by itself")]
    NotTheSame {
        /// The file.
        name: String,
        /// The first of the files.
        first: String,
        /// In what it differs.
        reason: String,
    },
    /// No file was given.
    #[error("no file is named")]
    NoFile,
}

impl ImportError {
    pub(crate) fn line(line: usize, reason: impl Into<String>) -> Self {
        Self::Line { line, reason: reason.into() }
    }

    pub(crate) fn key(key: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Key { key: key.into(), reason: reason.into() }
    }
}
