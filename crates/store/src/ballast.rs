//! Room for deleting runs on a full disk.
//!
//! Deleting writes to the log before it frees space, so it fails when the last byte of the file
//! system is taken. A file of random bytes beside the database is removed then.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use tactus_model::random::SplitMix64;

use crate::StoreError;
use crate::location::beside;

/// The size of the file. The log of a deletion is about 1/300 of the run.
const BYTES: usize = 1 << 20;

fn file(database: &Path) -> PathBuf {
    beside(database, "-ballast")
}

/// Does `work`, and does it again without the ballast if the disk is full.
pub(crate) fn making_room<T>(
    database: &Path,
    mut work: impl FnMut() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    match work() {
        Err(StoreError::Full { .. }) if fs::remove_file(file(database)).is_ok() => work(),
        result => result,
    }
}

/// Creates the ballast of a database in a file, as much of it as there is room for.
pub(crate) fn keep(database: &Path) {
    if !database.is_file() {
        return;
    }
    let path = file(database);
    match path.symlink_metadata() {
        Ok(existing) if existing.len() >= BYTES as u64 => return,
        // After a deletion on a full disk there was less room.
        Ok(_) => drop(fs::remove_file(&path)),
        Err(_) => {}
    }
    // A part helps too. Without it, SQLite would take the room to copy its log into the database,
    // and nothing would be left for the next deletion.
    let _ = create(&path);
}

fn create(path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    // Zeros would take no space on a file system that compresses.
    let mut random = SplitMix64::new(0);
    let bytes: Vec<u8> =
        std::iter::repeat_with(|| random.next_u64().to_le_bytes()).flatten().take(BYTES).collect();
    file.write_all(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_completed_when_there_is_room() {
        let directory = tempfile::tempdir().unwrap();
        let database = directory.path().join("runs.sqlite");
        fs::write(&database, "").unwrap();
        fs::write(file(&database), "a part").unwrap();
        keep(&database);
        assert_eq!(fs::metadata(file(&database)).unwrap().len(), BYTES as u64);
    }
}
