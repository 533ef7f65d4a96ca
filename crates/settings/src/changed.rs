//! One changed setting, and restoring those that were left changed.

use std::cmp::Reverse;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tactus_sys::cgroup::remove_stale_groups;
use tactus_sys::setting::{Setting, is_changeable, noted_setting};
use tactus_sys::tracefs::remove_stale_instances;

use super::notes::{UNFINISHED, Was, files, keep, note_of, noted, require_trusted};
use super::{NotChanged, SettingChange};

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
        if !is_changeable(&path) {
            return Err(NotChanged::new(format!("{what}: Tactus changes no such setting"), None));
        }
        require_trusted(root)?;
        let setting = Setting::open(&root.join(&path)).map_err(refused)?;
        setting.lock().map_err(refused)?;
        let note = note_of(root, &path);
        // A note that exists while we hold the lock was left by a killed guardian.
        let was = match noted(&note, &path) {
            Some(was) => was,
            None => Was { number: next_number(root), value: setting.get().map_err(refused)?, path },
        };
        // Some settings are read in another form than they are written: such a value could not be
        // restored.
        setting.set(&was.value).map_err(refused)?;
        keep(&note, &was).map_err(|error| {
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

/// The number of the next note: above those of all notes.
fn next_number(root: &Path) -> u64 {
    files(root).map(|note| number_in(&note)).max().unwrap_or(0).saturating_add(1)
}

/// The number in a note; 0 if it is not valid.
fn number_in(note: &Path) -> u64 {
    let was = setting_of(note).and_then(|path| noted(note, &path));
    was.map_or(0, |was| was.number)
}

/// The setting that a note names by its file name.
fn setting_of(note: &Path) -> Option<PathBuf> {
    noted_setting(note.file_name()?.to_str()?)
}

/// Removes what killed processes have left below `root`: restores their settings, the last change
/// first, and removes their instances of tracefs and their control groups. Returns what could not
/// be restored.
///
/// Without permission this does nothing: leaving such a note required the same permission.
pub fn restore_left(root: &Path) -> Vec<NotChanged> {
    remove_stale_instances(root);
    remove_stale_groups(root);
    if let Err(refused) = require_trusted(root) {
        return vec![refused];
    }
    let mut notes: Vec<PathBuf> = files(root).collect();
    notes.sort_by_cached_key(|note| Reverse(number_in(note)));
    notes.iter().filter_map(|note| restore(root, note).err()).collect()
}

/// Restores the setting of a note, unless a guardian holds it, and removes the note.
fn restore(root: &Path, note: &Path) -> Result<(), NotChanged> {
    let name = note.file_name().unwrap_or_default().to_string_lossy();
    let Some(path) = noted_setting(name.strip_suffix(UNFINISHED).unwrap_or(&name)) else {
        return refuse(note, "it names no setting that Tactus changes".to_owned());
    };
    let Ok(setting) = Setting::open(&root.join(&path)) else { return Ok(()) };
    // A running guardian holds the lock.
    if setting.lock().is_err() {
        return Ok(());
    }
    if name.ends_with(UNFINISHED) {
        // The guardian was killed before it changed the setting.
        let _ = fs::remove_file(note);
        return Ok(());
    }
    match noted(note, &path) {
        Some(was) => {
            let what = format!("restoring /{} to {}", path.display(), was.value.escape_debug());
            setting.set(&was.value).map_err(|error| NotChanged::of(&what, &error))?;
            let _ = fs::remove_file(note);
            Ok(())
        }
        // Another process was faster.
        None if !note.exists() => Ok(()),
        None => {
            let now = setting.get().unwrap_or_default();
            let path = path.display();
            let now = now.escape_debug();
            refuse(note, format!("it holds no old value of /{path}, which stays {now}"))
        }
    }
}

/// Removes a note that cannot be believed, so that it is reported once.
fn refuse(note: &Path, why: String) -> Result<(), NotChanged> {
    let name = note.to_string_lossy();
    let name: String = name.escape_debug().collect();
    Err(match fs::remove_file(note) {
        Ok(()) => NotChanged::new(format!("the note {name} was removed: {why}"), None),
        Err(error) => NotChanged::new(
            format!("the note {name} is refused: {why}"),
            Some(&format!("remove it by hand ({error})")),
        ),
    })
}
