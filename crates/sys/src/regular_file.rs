//! Files that a user names, to read.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// Opens a file to read it. A pipe or a device is refused: opening or reading it may wait for ever.
///
/// # Errors
/// The file cannot be read, or is not a regular file.
pub fn open(path: &Path) -> io::Result<File> {
    let there = fs::metadata(path)?;
    // Reading a directory fails with a better reason.
    if !there.is_file() && !there.is_dir() {
        return Err(io::Error::other("it is a pipe or a device; copy its content to a file"));
    }
    File::open(path)
}

/// Reads a file, up to a byte more than `most`: a reader with that limit refuses the rest.
///
/// # Errors
/// Those of [`open`].
pub fn read(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take((most as u64).saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}
