//! One changed setting, and the note of its old value.

use std::cmp::Reverse;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize};
use tactus_sys::setting::{Setting, VALUE_MAX};

use super::{NotChanged, SettingChange};

/// The directory of the notes of old values, below the root.
pub(super) const NOTES: &str = "run/tactus/settings";

/// The maximum size of a note, in bytes: a path and a value in JSON, where a byte may take six.
const NOTE_MAX: u64 = 8 * VALUE_MAX as u64;

/// The old value of a setting; the content of a note.
#[derive(Debug, Serialize, Deserialize)]
struct Was {
    path: PathBuf,
    /// The notes are numbered in the order of the changes; older versions wrote no number.
    #[serde(default)]
    number: u64,
    #[serde(deserialize_with = "text_or_number")]
    value: String,
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

/// A setting that stays changed until this is dropped.
pub(super) struct Changed {
    setting: Setting,
    was: String,
    note: PathBuf,
}

impl Changed {
    pub(super) fn make(
        root: &Path,
        SettingChange { path, value }: SettingChange,
    ) -> Result<Self, NotChanged> {
        let what = format!("writing /{}", path.display());
        let refused = |error: io::Error| NotChanged::of(&what, &error);
        let setting = Setting::open(&root.join(&path)).map_err(refused)?;
        setting.lock().map_err(refused)?;
        let note = note_of(root, &path);
        // A note that exists while we hold the lock was left by a killed guardian.
        let was = match noted(&note) {
            Some(was) => was,
            None => Was { number: next_number(root), value: setting.get().map_err(refused)?, path },
        };
        // Some settings are read in another form than they are written: such a value could not be
        // restored.
        setting.set(&was.value).map_err(refused)?;
        keep_note(&note, &was).map_err(|error| {
            let path = was.path.display();
            let what = format!("writing the old value of /{path} to {}", note.display());
            NotChanged::of(&what, &error)
        })?;
        // From here on, an early return drops this, which restores the value.
        let changed = Self { setting, was: was.value, note };
        changed.setting.set(&value).map_err(refused)?;
        Ok(changed)
    }
}

impl Drop for Changed {
    fn drop(&mut self) {
        // If the kernel refuses the old value, the note stays for the next program.
        if self.setting.set(&self.was).is_ok() {
            let _ = fs::remove_file(&self.note);
        }
    }
}

/// The note of the setting at `path`; unique for each setting.
pub(super) fn note_of(root: &Path, path: &Path) -> PathBuf {
    let name = path.to_string_lossy().replace('-', "\\x2d").replace('/', "-");
    root.join(NOTES).join(name)
}

fn noted(note: &Path) -> Option<Was> {
    let mut text = String::new();
    File::open(note).ok()?.take(NOTE_MAX).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

fn keep_note(note: &Path, was: &Was) -> io::Result<()> {
    note.parent().map_or(Ok(()), fs::create_dir_all)?;
    // Complete or not at all: a truncated note would restore a wrong value.
    let mut beside = note.as_os_str().to_owned();
    beside.push(".new");
    fs::write(&beside, serde_json::to_string(was)?)?;
    fs::rename(beside, note)
}

/// The number of the next note: above those of all notes.
fn next_number(root: &Path) -> u64 {
    all_noted(root).iter().map(|(_, was)| was.number).max().unwrap_or(0).saturating_add(1)
}

/// All notes below `root`.
fn all_noted(root: &Path) -> Vec<(PathBuf, Was)> {
    let notes = fs::read_dir(root.join(NOTES)).into_iter().flatten().flatten();
    let notes = notes.map(|entry| entry.path());
    notes.filter_map(|note| noted(&note).map(|was| (note, was))).collect()
}

/// Restores the settings below `root` that killed guardians have left changed, the last change
/// first.
///
/// Without permission this does nothing: leaving such a note required the same permission.
pub fn put_back_left(root: &Path) {
    let mut left = all_noted(root);
    left.sort_by_key(|(_, was)| Reverse(was.number));
    for (note, was) in left {
        let Ok(setting) = Setting::open(&root.join(was.path)) else { continue };
        // A running guardian holds the lock.
        if setting.lock().is_ok()
            && let Some(was) = noted(&note)
            && setting.set(&was.value).is_ok()
        {
            let _ = fs::remove_file(note);
        }
    }
}
