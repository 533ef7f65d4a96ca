//! Writing pages, reports and exports to files, which appear complete or not at all.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use tactus_sys::whole_file::{Readers, WholeFile};

use crate::error::OrError;
use crate::{ErrorKind, Result};

/// Writes `content` to a file.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    write_with(path, Readers::Usual, |out| Ok(out.write_all(content.as_ref())?))
}

/// Writes a file by `write`.
///
/// # Errors
/// The file cannot be written, or those of `write`.
pub fn write_with(
    path: &Path,
    readers: Readers,
    write: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    let mut out = written(WholeFile::create(path, readers), path)?;
    write(&mut out).map_err(|error| {
        let kind = error.kind();
        error.within(kind, cannot_write(path))
    })?;
    written(out.finish(), path)
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
    result.or_error(ErrorKind::Unavailable, || cannot_write(path))
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write {}", path.display())
}
