//! Files that the user names: opening them, and writing pages, reports and exports, which appear
//! complete or not at all.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use tactus_record::live::require_regular;
pub(crate) use tactus_sys::regular_file::open;
use tactus_sys::whole_file::{Readers, WholeFile};

use crate::error::OrError;
use crate::{Error, ErrorKind, Result};

/// Reads a text of at most `most` bytes.
pub(crate) fn read_text(path: &Path, most: u64) -> io::Result<String> {
    let mut text = String::new();
    open(path)?.take(most + 1).read_to_string(&mut text)?;
    if text.len() as u64 > most {
        return Err(io::Error::other(format!("it is larger than {} KiB", most >> 10)));
    }
    Ok(text)
}

/// Reads a file that a user names where the name of a shipped one is possible too; `what` it is.
///
/// # Errors
/// There is no such file, it cannot be read, or it is longer than `most` bytes.
pub(crate) fn read_named<'n>(
    what: &str,
    name: &str,
    most: u64,
    shipped: impl Iterator<Item = &'n str>,
) -> Result<String> {
    let error = match read_text(Path::new(name), most) {
        Ok(text) => return Ok(text),
        Err(error) => error,
    };
    let failed = format!("cannot open {what} `{name}`");
    if error.kind() != io::ErrorKind::NotFound {
        return Err(error).or_error(ErrorKind::Usage, || failed);
    }
    let names: Vec<&str> = shipped.collect();
    let hint = match tactus_model::text::nearest(name, &names) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("name a file or one of: {}", names.join(", ")),
    };
    Err(Error::usage(format!("{failed}: no such {what}")).with_hint(hint))
}

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

/// Writes a page to the file that the user named, or to its default file, whose directory is
/// created if it does not exist. Returns the file.
///
/// # Errors
/// The directory or the file cannot be written, or those of `default`.
pub fn write_page(
    named: Option<&Path>,
    default: impl FnOnce() -> Result<PathBuf>,
    page: &str,
) -> Result<PathBuf> {
    let path = match named {
        Some(path) => path.to_owned(),
        None => {
            let path = default()?;
            written(path.parent().map_or(Ok(()), fs::create_dir_all), &path)?;
            path
        }
    };
    write(&path, page)?;
    Ok(path)
}

/// Checks that a file can be written later, before work is done for it.
///
/// # Errors
/// Its directory does not exist or cannot be written, or it is a directory.
pub fn check(path: &Path) -> Result<()> {
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => written(Err(io::ErrorKind::IsADirectory.into()), path),
        // Opening a pipe would wait for its reader.
        Ok(there) if !there.is_file() => Ok(()),
        _ => written(WholeFile::create(path, Readers::Owner).map(drop), path),
    }
}

/// Checks that a recording can be written later, before anything is recorded.
///
/// # Errors
/// Those of [`check`], or it is a pipe or a device.
pub(crate) fn check_recording(path: &Path) -> Result<()> {
    written(require_regular(path), path)?;
    check(path)
}

/// Requires that the directory of a file exists, where a spelling mistake would create another one.
///
/// # Errors
/// It does not exist.
pub(crate) fn require_directory(path: &Path) -> Result<()> {
    match missing_directory(path) {
        None => Ok(()),
        Some(_) => written(Err(io::ErrorKind::NotFound.into()), path),
    }
}

fn written<T>(result: io::Result<T>, path: &Path) -> Result<T> {
    result.map_err(|error| not_written(path, error))
}

/// The error for a file that cannot be written: a wrong path is the user's error.
pub(crate) fn not_written(path: &Path, error: io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory => {
            ErrorKind::Usage
        }
        _ => ErrorKind::Unavailable,
    };
    let missing = missing_directory(path).filter(|_| error.kind() == io::ErrorKind::NotFound);
    let hint = missing.map(|directory| {
        format!("the directory does not exist; create it: mkdir -p {}", directory.display())
    });
    // What the kernel answers in /proc, in whose directories no file can be created.
    let error = match error.kind() {
        io::ErrorKind::NotFound if hint.is_none() => {
            io::Error::other("no file can be created in this directory")
        }
        _ => error,
    };
    Error::new(kind, error).within(kind, cannot_write(path)).with_hint_if_any(hint)
}

/// The directory of a file, if it does not exist.
fn missing_directory(path: &Path) -> Option<&Path> {
    path.parent().filter(|directory| !directory.as_os_str().is_empty() && !directory.exists())
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write {}", path.display())
}
