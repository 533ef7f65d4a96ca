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

/// Makes all further transfers of an open file bypass the page cache: `F_SETFL` of
/// [fcntl(2)](https://man7.org/linux/man-pages/man2/F_GETFL.2const.html).
///
/// # Errors
/// `EINVAL`: the filesystem does not support direct I/O. Some accept it and refuse each transfer.
pub fn bypass_cache(file: &File) -> Result<(), SysError> {
    let flags = rustix::fs::fcntl_getfl(file).map_err(SysError::of("fcntl"))?;
    rustix::fs::fcntl_setfl(file, flags | OFlags::DIRECT).map_err(SysError::of("fcntl"))
}
