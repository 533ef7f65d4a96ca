//! A load's temporary directory, and the stale directories of earlier loads.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use tactus_sys::process;

use crate::error::{During, LoadError};

const PREFIX: &str = "tactus-load-";

/// A directory that belongs to one load. Dropping it removes it with its contents.
///
/// Its owner holds a lock on it (flock(2)), which the kernel releases when the owner ends,
/// for whatever reason. A directory without a lock is therefore stale.
#[derive(Debug)]
pub(crate) struct LoadDirectory {
    path: PathBuf,
    _lock: File,
}

impl LoadDirectory {
    /// Creates a directory below `parent`, after removing stale directories.
    pub(crate) fn create(parent: &Path) -> Result<Self, LoadError> {
        remove_stale(parent);
        // The cleanup of another load may remove a directory before it is locked.
        const ATTEMPTS: u32 = 16;
        for attempt in 0..ATTEMPTS {
            let path = parent.join(format!("{PREFIX}{}-{attempt}", std::process::id()));
            let made = DirBuilder::new().mode(0o700).create(&path);
            if made.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists) {
                continue;
            }
            made.during(&format!("create the directory {}", path.display()))?;
            if let Some(lock) = lock(&path) {
                return Ok(Self { path, _lock: lock });
            }
        }
        Err(LoadError::new(format!(
            "failed to create a temporary directory in {} in {ATTEMPTS} attempts",
            parent.display()
        )))
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for LoadDirectory {
    fn drop(&mut self) {
        // The next start removes whatever cannot be removed now.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Locks a directory that still exists; `None` if another process holds the lock, or if the
/// directory was removed.
fn lock(path: &Path) -> Option<File> {
    let directory = File::open(path).ok()?;
    directory.try_lock().ok()?;
    let locked = directory.metadata().ok()?;
    let existing = fs::symlink_metadata(path).ok()?;
    let same = (locked.dev(), locked.ino()) == (existing.dev(), existing.ino());
    same.then_some(directory)
}

/// Removes stale directories of loads below `parent` that this user owns.
pub(crate) fn remove_stale(parent: &Path) {
    // Creating a directory in a parent that cannot be read reports the error.
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX))
            && entry.metadata().is_ok_and(|metadata| {
                metadata.is_dir() && metadata.uid() == process::effective_user()
            });
        // The lock is held until the directory is gone, so no load can start to use it.
        if ours && let Some(_lock) = lock(&entry.path()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_stale_directories_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let kept = LoadDirectory::create(parent.path()).unwrap();
        fs::write(kept.path().join("work"), "x").unwrap();
        let stale = parent.path().join("tactus-load-1-0");
        fs::create_dir(&stale).unwrap();
        fs::write(stale.join("left"), "x").unwrap();
        let others = parent.path().join("another");
        fs::create_dir(&others).unwrap();

        let second = LoadDirectory::create(parent.path()).unwrap();
        assert!(!stale.exists());
        assert!(others.exists());
        assert!(kept.path().join("work").exists(), "a load that runs keeps its files");

        let path = kept.path().to_owned();
        drop(kept);
        assert!(!path.exists());
        assert!(second.path().exists());
    }
}
