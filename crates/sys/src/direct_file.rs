//! Files that are written past the page cache.

use std::fs::File;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use crate::error::SysError;

/// Creates a file for reading and writing past the page cache:
/// [open(2)](https://man7.org/linux/man-pages/man2/open.2.html) with `O_DIRECT`.
///
/// Memory, offsets and lengths of every transfer must be multiples of the
/// device's block; whole pages always are.
///
/// # Errors
/// `EINVAL`: the filesystem has no direct transfers.
#[doc(alias = "O_DIRECT")]
pub fn create(path: &Path) -> Result<File, SysError> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::DIRECT | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)
        .map(File::from)
        .map_err(SysError::of("open"))
}
