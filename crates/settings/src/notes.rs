//! The notes of old values, each in a file of its own.
//!
//! Root believes them: whoever writes a note chooses a value that root writes to a setting. So
//! only directories are believed that nobody but root can write, and a note names a setting of
//! ours or nothing.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize};
use tactus_sys::process;
use tactus_sys::setting::{NOTES, VALUE_MAX, note_name};

use super::NotChanged;

/// The maximum size of a note, in bytes: a path and a value in JSON, where a byte may take six.
const NOTE_MAX: u64 = 8 * VALUE_MAX as u64;

/// The end of the name of a note that is being written.
pub(super) const UNFINISHED: &str = ".new";

/// The old value of a setting; the content of a note.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Was {
    pub(super) path: PathBuf,
    /// The notes are numbered in the order of the changes; older versions wrote no number.
    #[serde(default)]
    pub(super) number: u64,
    #[serde(deserialize_with = "text_or_number")]
    pub(super) value: String,
}

/// Reads a value; older versions wrote a number.
fn text_or_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Value {
        Text(String),
        Number(u64),
    }
    Ok(match Value::deserialize(deserializer)? {
        Value::Text(text) => text,
        Value::Number(number) => number.to_string(),
    })
}

/// Requires that nobody but root, and this user, can write notes below `root`. A directory that
/// does not exist is fine.
pub(super) fn require_trusted(root: &Path) -> Result<(), NotChanged> {
    let directory = root.join(NOTES);
    for place in [directory.parent().unwrap_or(root), &directory] {
        let what = format!("reading {}", place.display());
        let metadata = match fs::symlink_metadata(place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            metadata => metadata.map_err(|error| NotChanged::of(&what, &error))?,
        };
        let is_ours = [0, process::effective_user()].contains(&metadata.uid());
        if !metadata.is_dir() || !is_ours || metadata.mode() & 0o022 != 0 {
            let reason = format!(
                "the notes of old values in {} are not believed, since other users can write them",
                place.display()
            );
            let fix = format!("check the settings, then: sudo rm -r {}", place.display());
            return Err(NotChanged::new(reason, Some(&fix)));
        }
    }
    Ok(())
}

/// The note of the setting at `path`.
pub(super) fn note_of(root: &Path, path: &Path) -> PathBuf {
    root.join(NOTES).join(note_name(path))
}

/// Reads a note; `None` if it does not exist, or is not the note of the setting at `path`.
pub(super) fn noted(note: &Path, path: &Path) -> Option<Was> {
    let mut text = String::new();
    File::open(note).ok()?.take(NOTE_MAX).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok().filter(|was: &Was| was.path == path)
}

pub(super) fn keep(note: &Path, was: &Was) -> io::Result<()> {
    let directory = note.parent().unwrap_or(note);
    DirBuilder::new().recursive(true).mode(0o755).create(directory)?;
    // Complete or not at all: a truncated note would restore a wrong value.
    let mut beside = note.as_os_str().to_owned();
    beside.push(UNFINISHED);
    fs::write(&beside, serde_json::to_string(was)?)?;
    fs::rename(beside, note)
}

/// All files in the directory of the notes below `root`.
pub(super) fn files(root: &Path) -> impl Iterator<Item = PathBuf> {
    let files = fs::read_dir(root.join(NOTES)).into_iter().flatten().flatten();
    files.map(|entry| entry.path())
}
