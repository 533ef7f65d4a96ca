//! Writing pages and reports to files.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::Path;

use crate::error::OrError;
use crate::{ErrorKind, Result};

/// Writes `content` to a file.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    written(fs::write(path, content), path)
}

/// Creates a file, or truncates it if it exists.
///
/// # Errors
/// The file cannot be written.
pub fn create(path: &Path) -> Result<BufWriter<File>> {
    written(File::create(path).map(BufWriter::new), path)
}

/// Writes a page, and creates its directory if it does not exist.
///
/// # Errors
/// The directory or the file cannot be written.
pub fn write_page(path: &Path, page: &str) -> Result<()> {
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        written(fs::create_dir_all(directory), path)?;
    }
    write(path, page)
}

fn written<T>(result: io::Result<T>, path: &Path) -> Result<T> {
    result.or_error(ErrorKind::Unavailable, || format!("cannot write {}", path.display()))
}
