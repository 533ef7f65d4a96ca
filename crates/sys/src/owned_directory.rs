//! Directories that belong to one process, and those that killed processes have left.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::{Errno, cgroup, process};

/// A directory that belongs to this process. Dropping it removes it with its contents.
///
/// Its owner holds a lock on it ([flock(2)](https://man7.org/linux/man-pages/man2/flock.2.html)),
/// which the kernel releases when the owner ends, for whatever reason. A directory without a lock
/// is therefore stale. Its name contains a process ID only for people: the kernel reuses IDs.
#[derive(Debug)]
pub struct OwnedDirectory {
    path: PathBuf,
    removal: Removal,
    _lock: File,
}

/// How a directory is removed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Removal {
    /// With its contents.
    Recursive,
    /// The directory itself: its files are the kernel's.
    Alone,
    /// A control group, whose members return to the group above.
    Group,
}

impl Removal {
    fn remove(self, path: &Path) -> io::Result<()> {
        match self {
            Self::Recursive => fs::remove_dir_all(path),
            Self::Alone => fs::remove_dir(path),
            Self::Group => {
                cgroup::empty(path);
                fs::remove_dir(path)
            }
        }
    }
}

/// The most directories of one process with the same prefix.
const DIRECTORIES_MAX: u32 = 1000;

/// How often an ending process is observed.
const STEP: Duration = Duration::from_millis(5);

impl OwnedDirectory {
    /// Creates a directory below `parent` that only this user may read, after it has removed the
    /// stale ones; its name is `prefix`, our process ID and a number.
    ///
    /// # Errors
    /// Those of [mkdir(2)](https://man7.org/linux/man-pages/man2/mkdir.2.html).
    pub fn create(parent: &Path, prefix: &str) -> io::Result<Self> {
        Self::create_with(Removal::Recursive, parent, prefix)
    }

    /// Like [`create`](Self::create), for directories that are removed by `removal`.
    pub(crate) fn create_with(removal: Removal, parent: &Path, prefix: &str) -> io::Result<Self> {
        // A parent that cannot be read is reported by the creation.
        remove_stale_with(removal, parent, prefix);
        for number in 0..DIRECTORIES_MAX {
            let path = parent.join(format!("{prefix}{}-{number}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                made => made?,
            }
            // The cleanup of another process may remove a directory before it is locked.
            if let Some(lock) = lock(&path) {
                return Ok(Self { path, removal, _lock: lock });
            }
        }
        Err(Errno::EXIST.into())
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for OwnedDirectory {
    fn drop(&mut self) {
        // The next creation removes whatever cannot be removed now.
        let _ = self.removal.remove(&self.path);
    }
}

/// Removes the stale directories below `parent` that [`OwnedDirectory::create`] made with
/// `prefix` for this user.
pub fn remove_stale(parent: &Path, prefix: &str) {
    remove_stale_with(Removal::Recursive, parent, prefix);
}

/// Like [`remove_stale`], for directories that are removed by `removal`.
pub(crate) fn remove_stale_with(removal: Removal, parent: &Path, prefix: &str) {
    // The lock is held until the directory is gone, so no other process can start to use it.
    for (path, _lock) in stale(parent, prefix) {
        // Another process may hold its files open; the next creation tries again.
        let _ = removal.remove(&path);
    }
}

/// Removes the directories with `prefix` below `places` that `process` owned, which is ending, as
/// soon as it has closed them; waits `patience` at most.
pub(crate) fn remove_those_of(
    process: u32,
    removal: Removal,
    places: &[PathBuf],
    prefix: &str,
    patience: Duration,
) {
    let deadline = Instant::now() + patience;
    let is_left = |place: &PathBuf| owned(place, prefix).any(|(_, owner)| owner == process);
    loop {
        places.iter().for_each(|place| remove_stale_with(removal, place, prefix));
        if !places.iter().any(is_left) || Instant::now() >= deadline {
            return;
        }
        thread::sleep(STEP);
    }
}

/// The stale directories below `parent` of this user with `prefix`, each locked.
pub(crate) fn stale(parent: &Path, prefix: &str) -> impl Iterator<Item = (PathBuf, File)> {
    owned(parent, prefix).filter_map(|(path, _)| lock(&path).map(|lock| (path, lock)))
}

/// All directories below `parent` of this user with `prefix`, and the process IDs in their names.
pub(crate) fn owned(parent: &Path, prefix: &str) -> impl Iterator<Item = (PathBuf, u32)> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    entries.filter_map(move |entry| {
        let process = process_in(entry.file_name().to_str()?.strip_prefix(prefix)?)?;
        let metadata = entry.metadata().ok()?;
        let is_ours = metadata.is_dir() && metadata.uid() == process::effective_user();
        is_ours.then(|| (entry.path(), process))
    })
}

/// The process ID in the rest of a name, after the prefix.
fn process_in(rest: &str) -> Option<u32> {
    let (process, number) = rest.split_once('-')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number(number).then(|| process.parse().ok()).flatten()
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

#[cfg(test)]
mod tests {
    use super::*;

    const PREFIX: &str = "tactus-test-";

    #[test]
    fn only_stale_directories_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let kept = OwnedDirectory::create(parent.path(), PREFIX).unwrap();
        fs::write(kept.path().join("work"), "x").unwrap();
        // The ID of this process: it lives, but it is not the owner.
        let stale = parent.path().join(format!("{PREFIX}{}-7", std::process::id()));
        fs::create_dir(&stale).unwrap();
        fs::write(stale.join("left"), "x").unwrap();
        let others = ["another", "tactus-test-", "tactus-test-cost", "tactus-test-1", "1-1"];
        let others = others.map(|name| parent.path().join(name));
        others.iter().for_each(|other| fs::create_dir(other).unwrap());

        let second = OwnedDirectory::create(parent.path(), PREFIX).unwrap();
        assert!(!stale.exists());
        assert!(others.iter().all(|other| other.exists()));
        assert!(kept.path().join("work").exists(), "a process that runs keeps its files");

        let path = kept.path().to_owned();
        drop(kept);
        assert!(!path.exists());
        assert!(second.path().exists());
    }

    #[test]
    fn the_process_in_a_name_is_for_people() {
        assert_eq!(process_in("42-0"), Some(42));
        for name in ["", "42", "-1", "42-", "42-x", "x-1", "99999999999-0"] {
            assert_eq!(process_in(name), None, "{name}");
        }
    }
}
