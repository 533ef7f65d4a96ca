//! The kind of filesystem of a directory, and the kind of a file.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::error::SysError;

/// The numbers of tmpfs and ramfs in linux/magic.h.
const IN_MEMORY: [u32; 2] = [0x0102_1994, 0x8584_58f6];

/// Whether the files of a directory are in memory and not on a disk:
/// [statfs(2)](https://man7.org/linux/man-pages/man2/statfs.2.html).
#[doc(alias = "statfs")]
pub fn is_in_memory(directory: &Path) -> Result<bool, SysError> {
    let kind = rustix::fs::statfs(directory).map_err(SysError::of("statfs"))?.f_type;
    // The type of the field depends on the architecture; the numbers have 32 bits.
    Ok(IN_MEMORY.contains(&(kind as u32)))
}

/// Opens a regular file, and nothing else: a FIFO or a device at `path` could make its reader wait
/// for ever.
///
/// # Errors
/// Those of [open(2)](https://man7.org/linux/man-pages/man2/open.2.html); `InvalidInput`: it is no
/// regular file.
#[doc(alias = "O_NONBLOCK")]
pub fn open_regular(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let file = options.custom_flags(libc::O_NONBLOCK).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_is_not_in_memory_and_a_missing_directory_is_an_error() {
        assert_eq!(is_in_memory(Path::new("/proc")), Ok(false));
        assert!(is_in_memory(Path::new("/no/such/directory")).is_err());
    }
}
