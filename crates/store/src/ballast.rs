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

/// Creates the ballast of a database in a file, unless it exists or there is no room for it.
pub(crate) fn keep(database: &Path) {
    if !database.is_file() {
        return;
    }
    let path = file(database);
    if create(&path).is_err_and(|error| error.kind() != io::ErrorKind::AlreadyExists) {
        // A part would take space and free little.
        let _ = fs::remove_file(path);
    }
}

fn create(path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    // Zeros would take no space on a file system that compresses.
    let mut random = SplitMix64::new(0);
    let bytes: Vec<u8> =
        std::iter::repeat_with(|| random.next_u64().to_le_bytes()).flatten().take(BYTES).collect();
    file.write_all(&bytes)
}
