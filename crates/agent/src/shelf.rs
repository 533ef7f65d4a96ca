//! The saved recordings on disk, within a limit.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tactus_sys::whole_file::{Readers, WholeFile};

/// The recordings that an agent has saved in a directory; others there are not touched.
#[derive(Debug)]
pub struct Shelf {
    directory: PathBuf,
    /// The bytes of all of them together.
    limit: u64,
}

/// A saved recording.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kept {
    /// The name of its file, which begins with the time: the oldest comes first.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
}

/// Why a recording was not saved.
#[derive(Debug, thiserror::Error)]
pub enum NotSaved {
    /// It is larger than all recordings together may be.
    #[error("the recording ({bytes} bytes) exceeds the limit of all recordings ({limit} bytes)")]
    TooLarge {
        /// Its size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// It cannot be written.
    #[error("cannot write {path}: {error}")]
    Write {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
}

const PREFIX: &str = "agent-";
const SUFFIX: &str = ".tactusrec";

impl Shelf {
    /// The recordings in `directory`, which is made if it does not exist.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn open(directory: PathBuf, limit: u64) -> io::Result<Self> {
        fs::create_dir_all(&directory)?;
        Ok(Self { directory, limit })
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The saved recordings, the oldest first. A directory that cannot be read is empty.
    pub fn kept(&self) -> Vec<Kept> {
        kept(&self.directory)
    }

    /// Removes the oldest recordings until `bytes` more are within the limit; returns the removed
    /// ones.
    ///
    /// # Errors
    /// `bytes` alone exceed the limit, or a file cannot be removed. What was removed before is not
    /// reported then.
    fn make_room(&self, bytes: u64) -> Result<Vec<Kept>, NotSaved> {
        let kept = self.kept();
        let count = surplus(&kept, bytes, self.limit)
            .ok_or(NotSaved::TooLarge { bytes, limit: self.limit })?;
        for oldest in &kept[..count] {
            let path = self.directory.join(&oldest.name);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(NotSaved::Write { path, error });
                }
                _ => {}
            }
        }
        Ok(kept.into_iter().take(count).collect())
    }

    /// Saves a recording as `agent-STAMP.tactusrec`, complete or not at all, and removes older
    /// ones that do not fit beside it. Returns its file and the removed ones.
    ///
    /// # Errors
    /// See [`NotSaved`]. Older recordings may be removed nevertheless.
    pub fn save(&self, stamp: &str, recording: &[u8]) -> Result<(PathBuf, Vec<Kept>), NotSaved> {
        let removed = self.make_room(recording.len() as u64)?;
        let path = self.directory.join(format!("{PREFIX}{stamp}{SUFFIX}"));
        let write = || {
            let mut file = WholeFile::create(&path, Readers::Owner)?;
            file.write_all(recording)?;
            file.finish()
        };
        match write() {
            Ok(()) => Ok((path, removed)),
            Err(error) => Err(NotSaved::Write { path, error }),
        }
    }
}

/// The recordings that agents saved in `directory`, the oldest first. A directory that cannot be
/// read is empty.
pub fn kept(directory: &Path) -> Vec<Kept> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut kept: Vec<Kept> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let is_ours = name.starts_with(PREFIX) && name.ends_with(SUFFIX);
            let metadata = entry.metadata().ok().filter(|data| is_ours && data.is_file())?;
            Some(Kept { name, bytes: metadata.len() })
        })
        .collect();
    kept.sort();
    kept
}

/// How many of the oldest recordings have to go so that `bytes` more are within `limit`; `None` if
/// `bytes` alone exceed it.
fn surplus(kept: &[Kept], bytes: u64, limit: u64) -> Option<usize> {
    let room = limit.checked_sub(bytes)?;
    let mut sum: u64 = kept.iter().map(|kept| kept.bytes).sum();
    let mut count = 0;
    while sum > room {
        sum -= kept[count].bytes;
        count += 1;
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(shelf: &Shelf) -> Vec<String> {
        shelf.kept().into_iter().map(|kept| kept.name).collect()
    }

    #[test]
    fn the_oldest_recordings_make_room_for_the_newest() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = Shelf::open(folder.path().join("recordings"), 100).unwrap();
        fs::write(shelf.directory().join("mine.tactusrec"), [0; 500]).unwrap();
        let save = |stamp: &str, bytes: usize| shelf.save(stamp, &vec![0; bytes]);
        assert_eq!(save("1", 40).unwrap().1, []);
        assert_eq!(save("2", 40).unwrap().1, []);
        let (path, removed) = save("3", 50).unwrap();
        assert_eq!(fs::read(path).unwrap().len(), 50);
        assert_eq!(removed, [Kept { name: "agent-1.tactusrec".to_owned(), bytes: 40 }]);
        assert_eq!(names(&shelf), ["agent-2.tactusrec", "agent-3.tactusrec"]);
        assert!(matches!(save("4", 101), Err(NotSaved::TooLarge { bytes: 101, limit: 100 })));
        assert_eq!(names(&shelf).len(), 2, "nothing is removed in vain");
        assert_eq!(save("5", 100).unwrap().1.len(), 2);
        assert!(shelf.directory().join("mine.tactusrec").exists());
    }

    #[test]
    fn a_directory_that_is_gone_is_an_error_of_the_save() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = Shelf::open(folder.path().join("recordings"), 100).unwrap();
        fs::remove_dir(shelf.directory()).unwrap();
        assert!(matches!(shelf.save("1", &[1]), Err(NotSaved::Write { .. })));
        assert_eq!(shelf.kept(), []);
    }
}
