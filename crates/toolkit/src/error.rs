//! What ends a performance.

use tactus_stream::{Ended, RequestError, SubmitError};
use tactus_sys::SysError;

/// Why a performance cannot begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// The server refused a request, or has ended.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The server ended the connection.
    #[error(transparent)]
    Ended(#[from] Ended),
    /// An item was refused.
    #[error("{branch}: an item for {device} was refused: {error}")]
    Item {
        /// The branch that wrote it.
        branch: String,
        /// The device.
        device: String,
        /// Why.
        error: SubmitError,
    },
    /// A device takes something else than the score writes.
    #[error("device `{device}` takes {takes}; the score writes {writes} to it")]
    Format {
        /// The device.
        device: String,
        /// What it takes.
        takes: &'static str,
        /// What the score writes.
        writes: &'static str,
    },
    /// The source of an input cannot be awaited.
    #[error(transparent)]
    Source(#[from] SysError),
}
