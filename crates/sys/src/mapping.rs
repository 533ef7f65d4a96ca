//! Private memory in whole pages.

use std::ptr::NonNull;

use rustix::mm::{Advice, MapFlags, ProtFlags};

use crate::error::{Errno, SysError};

/// Private anonymous memory, zeroed, page aligned:
/// [mmap(2)](https://man7.org/linux/man-pages/man2/mmap.2.html).
///
/// The kernel allocates each page when it is first touched.
#[doc(alias = "mmap")]
#[derive(Debug)]
pub struct Mapping {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread, and `Mapping`
// owns it as a `Vec<u8>` owns its memory.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps `length` bytes, which must not be zero.
    pub fn new(length: usize) -> Result<Self, SysError> {
        // SAFETY: the kernel chooses a free address range; no other memory is touched.
        let start = unsafe {
            rustix::mm::mmap_anonymous(
                std::ptr::null_mut(),
                length,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        }
        .map_err(SysError::of("mmap"))?;
        let start = NonNull::new(start.cast()).ok_or(SysError::new("mmap", Errno::FAULT))?;
        Ok(Self { start, length })
    }

    /// Disables huge pages, so that the memory has as many pages as its length says:
    /// `MADV_NOHUGEPAGE` of
    /// [madvise(2)](https://man7.org/linux/man-pages/man2/madvise.2.html).
    ///
    /// # Errors
    /// `EINVAL`: the kernel does not support huge pages, so there is nothing to
    /// disable.
    #[doc(alias = "MADV_NOHUGEPAGE")]
    pub fn forbid_huge_pages(&mut self) -> Result<(), SysError> {
        // SAFETY: the range is this mapping, and the advice does not change the
        // content.
        unsafe {
            rustix::mm::madvise(self.start.as_ptr().cast(), self.length, Advice::LinuxNoHugepage)
        }
        .map_err(SysError::of("madvise"))
    }

    /// Asks for huge pages when the memory is touched: `MADV_HUGEPAGE` of
    /// [madvise(2)](https://man7.org/linux/man-pages/man2/madvise.2.html). Only whole huge pages
    /// within the mapping can become such.
    ///
    /// # Errors
    /// `EINVAL`: the kernel does not support huge pages.
    #[doc(alias = "MADV_HUGEPAGE")]
    pub fn ask_for_huge_pages(&mut self) -> Result<(), SysError> {
        // SAFETY: as in `forbid_huge_pages`.
        unsafe {
            rustix::mm::madvise(self.start.as_ptr().cast(), self.length, Advice::LinuxHugepage)
        }
        .map_err(SysError::of("madvise"))
    }

    /// Returns the pages to the kernel, also locked ones: the next touch of each gets a fresh page
    /// of zeros. `MADV_DONTNEED` of
    /// [madvise(2)](https://man7.org/linux/man-pages/man2/madvise.2.html).
    #[doc(alias = "MADV_DONTNEED")]
    pub fn discard(&mut self) -> Result<(), SysError> {
        let (start, length) = (self.start.as_ptr().cast(), self.length);
        // SAFETY: the range is this mapping, and no borrow of its content outlives this call; the
        // content becomes zero, which is valid for bytes.
        let discard = || unsafe { rustix::mm::madvise(start, length, Advice::LinuxDontNeed) };
        match discard() {
            // The kernel keeps locked pages.
            Err(Errno::INVAL) => {
                // SAFETY: as above; the content does not change.
                unsafe { rustix::mm::munlock(start, length) }.map_err(SysError::of("munlock"))?;
                discard()
            }
            done => done,
        }
        .map_err(SysError::of("madvise"))
    }

    /// The memory.
    pub fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the mapping has `length` bytes, is readable and writable, zeroed by
        // the kernel, accessible only through `self`, and lives as long as `self`.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping was made in `new` with this length, and no borrow of it
        // outlives `self`. A failure cannot be handled.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_zero_and_can_be_written() {
        let mut mapping = Mapping::new(10_000).unwrap();
        assert!(mapping.bytes().iter().all(|&byte| byte == 0));
        mapping.bytes()[9_999] = 7;
        assert_eq!(mapping.bytes()[9_999], 7);
        assert!(Mapping::new(0).is_err());
    }

    #[test]
    fn discarded_memory_is_zero_again() {
        let mut mapping = Mapping::new(10_000).unwrap();
        mapping.bytes()[9_999] = 7;
        mapping.discard().unwrap();
        assert_eq!(mapping.bytes()[9_999], 0);
    }
}
