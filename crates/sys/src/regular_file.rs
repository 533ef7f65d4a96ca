//! Files that a user names, to read.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens a file to read it. A pipe or a device is refused: opening or reading it may wait for ever.
///
/// # Errors
/// The file cannot be read, or is not a regular file.
pub fn open(path: &Path) -> io::Result<File> {
    // Even opening a device may have an effect.
    check(&fs::metadata(path)?)?;
    // Another file may have the name by now; opening a pipe waits for its writer.
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    check(&file.metadata()?)?;
    Ok(file)
}

fn check(found: &Metadata) -> io::Result<()> {
    // Reading a directory fails with a better reason.
    if found.is_file() || found.is_dir() {
        return Ok(());
    }
    Err(io::Error::other("it is a pipe or a device; copy its content to a file"))
}

/// Opens a file that others may replace at any time, to read it. Links, pipes and devices are refused, and
/// opening never waits.
///
/// # Errors
/// The file cannot be read, or is not a regular file.
pub fn open_of_others(path: &Path) -> io::Result<File> {
    let refused = || io::Error::other("it is not a regular file");
    let options = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let opened = File::options().read(true).custom_flags(options).open(path);
    let file = opened.map_err(|error| match error.raw_os_error() {
        Some(libc::ELOOP) => refused(),
        _ => error,
    })?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(refused()) }
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn of_others_only_regular_files_are_opened_and_pipes_do_not_make_it_wait() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link, pipe] = ["file", "link", "pipe"].map(|name| folder.path().join(name));
        fs::write(&file, "x").unwrap();
        symlink(&file, &link).unwrap();
        let mode = rustix::fs::Mode::RUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).unwrap();
        assert_eq!(io::read_to_string(open_of_others(&file).unwrap()).unwrap(), "x");
        for place in [&link, &pipe, Path::new("/dev/zero"), folder.path()] {
            let error = open_of_others(place).unwrap_err();
            assert_eq!(error.to_string(), "it is not a regular file", "{}", place.display());
        }
        assert_eq!(
            open_of_others(&folder.path().join("no")).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
    }

    #[test]
    fn a_pipe_or_a_device_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let mode = rustix::fs::Mode::RUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).unwrap();
        for path in [pipe.as_path(), Path::new("/dev/zero"), Path::new("/dev/null")] {
            let error = open(path).unwrap_err().to_string();
            assert!(error.contains("a pipe or a device"), "{}: {error}", path.display());
        }
    }

    #[test]
    fn a_file_is_read_to_a_byte_more_than_the_limit() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "abcdef").unwrap();
        assert_eq!(read(file.path(), 6).unwrap(), b"abcdef");
        assert_eq!(read(file.path(), 3).unwrap(), b"abcd");
        assert!(read(file.path().parent().unwrap(), 3).is_err(), "a directory");
    }
}
