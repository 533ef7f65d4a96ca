//! A file's content as memory, read from the disk when touched.

use std::fs::File;
use std::ptr::NonNull;

use rustix::fs::Advice as FileAdvice;
use rustix::mm::{Advice, MapFlags, ProtFlags};

use crate::error::{Errno, SysError};

/// A file mapped for reading:
/// [mmap(2)](https://man7.org/linux/man-pages/man2/mmap.2.html).
///
/// Touching a page that is not in the page cache reads it from the disk, which is a
/// major page fault; there is no readahead of neighbouring pages. If the file is
/// truncated, touching memory behind its end kills the process (`SIGBUS`).
#[derive(Debug)]
pub struct FileMapping {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread, and is only read.
unsafe impl Send for FileMapping {}

impl FileMapping {
    /// Maps all of `file`, which must not be empty.
    pub fn new(file: &File) -> Result<Self, SysError> {
        let stat = rustix::fs::fstat(file).map_err(SysError::of("fstat"))?;
        let length =
            usize::try_from(stat.st_size).map_err(|_| SysError::new("mmap", Errno::FBIG))?;
        // SAFETY: the kernel chooses a free address range; no other memory is touched.
        let start = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                length,
                ProtFlags::READ,
                MapFlags::SHARED,
                file,
                0,
            )
        }
        .map_err(SysError::of("mmap"))?;
        let start = NonNull::new(start.cast()).ok_or(SysError::new("mmap", Errno::FAULT))?;
        let mapping = Self { start, length };
        // SAFETY: the range is this mapping, and the advice does not change the
        // content.
        unsafe { rustix::mm::madvise(start.as_ptr().cast(), length, Advice::Random) }
            .map_err(SysError::of("madvise"))?;
        Ok(mapping)
    }

    /// Reads the byte at `place`; `None` behind the end.
    pub fn byte(&self, place: usize) -> Option<u8> {
        if place >= self.length {
            return None;
        }
        // SAFETY: the place is in the mapping, which is readable and lives as long as
        // `self`. Others may write to the file, so the read is volatile.
        Some(unsafe { self.start.as_ptr().add(place).read_volatile() })
    }
}

impl Drop for FileMapping {
    fn drop(&mut self) {
        // SAFETY: the mapping was made in `new` with this length. A failure cannot be
        // handled.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// Writes back the dirty pages of `file`, then drops its pages from the page cache
/// unless they are mapped: `POSIX_FADV_DONTNEED` of
/// [posix_fadvise(2)](https://man7.org/linux/man-pages/man2/posix_fadvise.2.html).
#[doc(alias = "POSIX_FADV_DONTNEED")]
pub fn leave_cache(file: &File) -> Result<(), SysError> {
    rustix::fs::fsync(file).map_err(SysError::of("fsync"))?;
    rustix::fs::fadvise(file, 0, None, FileAdvice::DontNeed).map_err(SysError::of("fadvise"))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_file_is_read_where_it_is_touched() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[7; 10_000]).unwrap();
        leave_cache(&file).unwrap();
        let mapping = FileMapping::new(&file).unwrap();
        assert_eq!(
            (mapping.byte(0), mapping.byte(9_999), mapping.byte(10_000)),
            (Some(7), Some(7), None)
        );
        assert!(FileMapping::new(&tempfile::tempfile().unwrap()).is_err());
    }
}
