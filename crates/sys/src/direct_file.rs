//! Files that bypass the page cache.

use std::fs::File;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use crate::error::SysError;

/// Creates a file whose reads and writes bypass the page cache:
/// [open(2)](https://man7.org/linux/man-pages/man2/open.2.html) with `O_DIRECT`.
///
/// Memory addresses, offsets and lengths of every transfer must be multiples of the
/// device's block size; whole pages always are.
///
/// # Errors
/// `EINVAL`: the filesystem does not support direct I/O.
#[doc(alias = "O_DIRECT")]
pub fn create(path: &Path) -> Result<File, SysError> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::DIRECT | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)
        .map(File::from)
        .map_err(SysError::of("open"))
}
