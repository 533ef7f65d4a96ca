//! A file's content as memory, read from the disk when touched.

use std::fs::File;
use std::ptr::NonNull;

use rustix::fs::Advice as FileAdvice;
use rustix::mm::{Advice as MemoryAdvice, MapFlags, ProtFlags};
use tactus_model::cost::Advice;

use crate::error::{Errno, SysError};

/// A file, or a part of one, mapped for reading:
/// [mmap(2)](https://man7.org/linux/man-pages/man2/mmap.2.html).
///
/// Touching a page that is not in the page cache reads it from the disk, which is a
/// major page fault. If the file is truncated, touching memory behind its end kills the
/// process (`SIGBUS`).
#[derive(Debug)]
pub struct FileMapping {
    start: NonNull<u8>,
    length: usize,
    /// Where the part begins: mappings begin at pages.
    skipped: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread, and is only read.
unsafe impl Send for FileMapping {}

/// Where a mapping can begin: a multiple of the page size of every machine that Linux runs on.
const ALIGNMENT: u64 = 64 << 10;

impl FileMapping {
    /// Maps all of `file`, which must not be empty, without readahead of neighbouring pages.
    pub fn new(file: &File) -> Result<Self, SysError> {
        let mapping = Self::part(file, 0, length(file)?)?;
        mapping.advise(Advice::Random)?;
        Ok(mapping)
    }

    /// Maps `length` bytes of `file` from `offset`, which must lie within it.
    pub fn part(file: &File, offset: u64, length: usize) -> Result<Self, SysError> {
        let skipped = (offset % ALIGNMENT) as usize;
        let length = length + skipped;
        // SAFETY: the kernel chooses a free address range; no other memory is touched.
        let start = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                length,
                ProtFlags::READ,
                MapFlags::SHARED,
                file,
                offset - skipped as u64,
            )
        }
        .map_err(SysError::of("mmap"))?;
        let start = NonNull::new(start.cast()).ok_or(SysError::new("mmap", Errno::FAULT))?;
        Ok(Self { start, length, skipped })
    }

    /// Gives the kernel this advice about reads of the mapping:
    /// [madvise(2)](https://man7.org/linux/man-pages/man2/madvise.2.html).
    #[doc(alias = "madvise")]
    pub fn advise(&self, advice: Advice) -> Result<(), SysError> {
        let advice = match advice {
            Advice::None => MemoryAdvice::Normal,
            Advice::Sequential => MemoryAdvice::Sequential,
            Advice::Random => MemoryAdvice::Random,
            Advice::WillNeed => MemoryAdvice::WillNeed,
        };
        // SAFETY: the range is this mapping, and the advice does not change the
        // content.
        unsafe { rustix::mm::madvise(self.start.as_ptr().cast(), self.length, advice) }
            .map_err(SysError::of("madvise"))
    }

    /// Reads the byte at `place`; `None` behind the end.
    pub fn byte(&self, place: usize) -> Option<u8> {
        let place = self.skipped.checked_add(place).filter(|place| *place < self.length)?;
        // SAFETY: the place is in the mapping, which is readable and lives as long as
        // `self`. Others may write to the file, so the read is volatile.
        Some(unsafe { self.start.as_ptr().add(place).read_volatile() })
    }

    /// Reads all whole words of eight bytes, and returns their sum.
    pub fn sum(&self) -> u64 {
        // SAFETY: the part begins within the mapping.
        let first = unsafe { self.start.as_ptr().add(self.skipped) }.cast::<u64>();
        let words = (self.length - self.skipped) / size_of::<u64>();
        (0..words).fold(0, |sum: u64, word| {
            // SAFETY: the word is in the mapping, which is readable and lives as long as `self`. If
            // another process writes to the file, it changes only the sum.
            sum.wrapping_add(unsafe { first.add(word).read_unaligned() })
        })
    }

    /// Copies the bytes from `place` on into `to`; copies nothing if the mapping has fewer.
    pub fn copy(&self, place: usize, to: &mut [u8]) {
        let first = self.skipped + place;
        if first.checked_add(to.len()).is_some_and(|end| end <= self.length) {
            // SAFETY: the bytes are in the mapping, which is readable, lives as long as `self`,
            // and does not overlap with memory that is borrowed exclusively.
            unsafe {
                self.start.as_ptr().add(first).copy_to_nonoverlapping(to.as_mut_ptr(), to.len());
            }
        }
    }

    /// How much of it is in the page cache:
    /// [mincore(2)](https://man7.org/linux/man-pages/man2/mincore.2.html).
    #[doc(alias = "mincore")]
    fn residency(&self) -> Result<Residency, SysError> {
        let mut pages = vec![0_u8; self.length.div_ceil(page_size())];
        // SAFETY: the range is this mapping, and `pages` has a byte for each of its pages.
        let returned = unsafe {
            libc::mincore(self.start.as_ptr().cast(), self.length, pages.as_mut_ptr().cast())
        };
        SysError::check("mincore", returned)?;
        // The other bits of a byte mean nothing.
        let resident = pages.iter().filter(|page| **page & 1 == 1).count();
        Ok(Residency { resident, pages: pages.len() })
    }
}

/// How much of a file is in the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Residency {
    /// Its pages in the page cache.
    pub resident: usize,
    /// All its pages.
    pub pages: usize,
}

fn page_size() -> usize {
    // SAFETY: reads a constant of the system.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).ok().filter(|size| *size > 0).unwrap_or(4096)
}

/// The length of a file.
fn length(file: &File) -> Result<usize, SysError> {
    let stat = rustix::fs::fstat(file).map_err(SysError::of("fstat"))?;
    usize::try_from(stat.st_size).map_err(|_| SysError::new("mmap", Errno::FBIG))
}

/// How much of `file` is in the page cache.
///
/// # Errors
/// `EINVAL`: the file is empty.
pub fn residency(file: &File) -> Result<Residency, SysError> {
    FileMapping::part(file, 0, length(file)?)?.residency()
}

/// Gives the kernel this advice about reads of all of `file`:
/// [posix_fadvise(2)](https://man7.org/linux/man-pages/man2/posix_fadvise.2.html).
#[doc(alias = "posix_fadvise")]
pub fn advise(file: &File, advice: Advice) -> Result<(), SysError> {
    let advice = match advice {
        Advice::None => FileAdvice::Normal,
        Advice::Sequential => FileAdvice::Sequential,
        Advice::Random => FileAdvice::Random,
        Advice::WillNeed => FileAdvice::WillNeed,
    };
    rustix::fs::fadvise(file, 0, None, advice).map_err(SysError::of("fadvise"))
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

    #[test]
    fn a_part_can_begin_anywhere() {
        let mut file = tempfile::tempfile().unwrap();
        let content: Vec<u8> = (0..200_000_u32).map(|place| (place % 251) as u8).collect();
        file.write_all(&content).unwrap();
        let part = FileMapping::part(&file, 70_001, 4_000).unwrap();
        part.advise(Advice::Sequential).unwrap();
        let mut copied = [0; 500];
        part.copy(100, &mut copied);
        assert_eq!(copied, content[70_101..70_601]);
        part.copy(3_900, &mut copied);
        assert_eq!(copied, content[70_101..70_601], "nothing behind the end is copied");
        let words = content[70_001..74_001].as_chunks::<8>().0;
        let sum =
            words.iter().fold(0, |sum: u64, word| sum.wrapping_add(u64::from_ne_bytes(*word)));
        assert_eq!(
            (part.sum(), part.byte(3_999), part.byte(4_000)),
            (sum, Some(content[74_000]), None)
        );
    }

    #[test]
    fn written_pages_are_resident() {
        let mut file = tempfile::tempfile().unwrap();
        assert!(residency(&file).is_err(), "an empty file cannot be mapped");
        file.write_all(&[7; 100_000]).unwrap();
        advise(&file, Advice::WillNeed).unwrap();
        let Residency { resident, pages } = residency(&file).unwrap();
        assert_eq!((resident, pages), (pages, 100_000_usize.div_ceil(page_size())));
    }
}
