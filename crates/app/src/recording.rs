//! Files of recordings.

use std::path::Path;

use tactus_model::recording::EventSource;
use tactus_record::file::{CutOff, OpenError, RecordingFile};
use tactus_report::format;

use crate::error::OrError;
use crate::{ErrorKind, Result, files};

/// Opens the file of a recording.
///
/// # Errors
/// The file cannot be read, or is not a recording.
pub fn open(path: &Path) -> Result<RecordingFile> {
    let open = || -> std::result::Result<RecordingFile, OpenError> {
        files::open(path)?;
        RecordingFile::open(path)
    };
    open()
        .or_error(ErrorKind::Usage, || format!("cannot open recording {}", path.display()))
        .map_err(|error| {
            error.with_hint("`tactus record` writes recordings; `tactus list` lists runs")
        })
}

/// What a recording lacks at its end, and the effect on figures; `None` if it is complete.
pub fn lacks(recording: &RecordingFile) -> Option<String> {
    let lacking = match (recording.cut_off(), recording.summary()) {
        (Some(CutOff { bytes, reason }), _) => {
            let bytes = format::counted(bytes, "byte");
            format!("the recording is truncated: its last {bytes} cannot be read ({reason})")
        }
        (None, None) => {
            "the recording has no end: the recorder was killed, or the file cut".to_owned()
        }
        (None, Some(_)) => return None,
    };
    let until = match recording.last_event() {
        Some(last) => {
            let length = format::latency(last - recording.about().started);
            format!("Events later than {length} after its beginning")
        }
        None => "All events".to_owned(),
    };
    Some(format!(
        "{lacking}. {until} and the count of lost events are missing; waits, CPU time and causes \
         at its end may be wrong."
    ))
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
