//! Files of recordings.

use std::path::Path;

use tactus_record::file::RecordingFile;

use crate::error::OrError;
use crate::{ErrorKind, Result};

/// Opens the file of a recording.
pub(crate) fn open(path: &Path) -> Result<RecordingFile> {
    RecordingFile::open(path)
        .or_error(ErrorKind::Usage, || format!("cannot open recording {}", path.display()))
        .map_err(|error| {
            error.with_hint("`tactus record` writes recordings; `tactus list` lists runs")
        })
}

/// Opens a recording that is part of a run.
pub(crate) fn held(bytes: Vec<u8>) -> Result<RecordingFile> {
    RecordingFile::from_bytes(bytes).or_internal()
}

/// Converts an error in the middle of a recording file.
pub(crate) fn damaged<T>(
    result: Result<T, impl std::error::Error + Send + Sync + 'static>,
    path: &Path,
) -> Result<T> {
    result.or_error(ErrorKind::Unavailable, || format!("{} is damaged", path.display()))
}
