//! A load's temporary directory, and those that earlier loads left behind.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use tactus_sys::process;

use crate::error::{During, LoadError};

const PREFIX: &str = "tactus-load-";

/// A directory that belongs to one load, and is removed with all it holds when dropped.
///
/// Its owner holds a lock on it (flock(2)), which the kernel gives up when the owner
/// ends, however it does. So a directory without a lock is nobody's any more.
#[derive(Debug)]
pub(crate) struct LoadDirectory {
    path: PathBuf,
    _lock: File,
}

impl LoadDirectory {
    /// Makes a directory below `parent`, after removing those that are nobody's.
    pub(crate) fn create(parent: &Path) -> Result<Self, LoadError> {
        remove_stale(parent);
        // Somebody else's cleaning may take a directory away before it is locked.
        const ATTEMPTS: u32 = 16;
        for attempt in 0..ATTEMPTS {
            let path = parent.join(format!("{PREFIX}{}-{attempt}", std::process::id()));
            let made = DirBuilder::new().mode(0o700).create(&path);
            if made.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists) {
                continue;
            }
            made.during(&format!("make the directory {}", path.display()))?;
            if let Some(lock) = lock(&path) {
                return Ok(Self { path, _lock: lock });
            }
        }
        Err(LoadError::new(format!("no temporary directory can be kept in {}", parent.display())))
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for LoadDirectory {
    fn drop(&mut self) {
        // What cannot be removed now is removed at the next start.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Locks a directory that still stands; `None` when it is another's or has gone.
fn lock(path: &Path) -> Option<File> {
    let directory = File::open(path).ok()?;
    directory.try_lock().ok()?;
    let locked = directory.metadata().ok()?;
    let standing = fs::symlink_metadata(path).ok()?;
    let same = (locked.dev(), locked.ino()) == (standing.dev(), standing.ino());
    same.then_some(directory)
}

/// Removes our own directories below `parent` whose loads have ended.
pub(crate) fn remove_stale(parent: &Path) {
    // A parent that cannot be read will be complained of by who makes a directory in it.
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX))
            && entry.metadata().is_ok_and(|metadata| {
                metadata.is_dir() && metadata.uid() == process::effective_user()
            });
        // The lock is held meanwhile, so nobody takes the directory for a fresh one.
        if ours && let Some(_lock) = lock(&entry.path()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_nobodys_is_removed() {
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
