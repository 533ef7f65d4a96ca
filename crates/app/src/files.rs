//! Writing what a person reads.

use std::fs;
use std::path::Path;

use crate::error::OrError;
use crate::{ErrorKind, Result};

/// Writes `content` to a file.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    fs::write(path, content)
        .or_error(ErrorKind::Unavailable, || format!("{} cannot be written", path.display()))
}

/// Writes a page, and makes its folder when it is missing.
///
/// # Errors
/// The folder or the file cannot be written.
pub fn write_page(path: &Path, page: &str) -> Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder)
            .or_error(ErrorKind::Unavailable, || format!("{} cannot be written", path.display()))?;
    }
    write(path, page)
}
