//! Bytes in memory of two processes.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;

use rustix::fs::MemfdFlags;
use rustix::mm::{Advice, MapFlags, ProtFlags};

use crate::error::{Errno, SysError};

/// Bytes in anonymous memory:
/// [memfd_create(2)](https://man7.org/linux/man-pages/man2/memfd_create.2.html).
///
/// Only for processes that trust each other and use the bytes in turn.
#[derive(Debug)]
pub(super) struct SharedBytes {
    file: OwnedFd,
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread, and `SharedBytes` owns it.
unsafe impl Send for SharedBytes {}

impl SharedBytes {
    /// Creates memory of this length, which is zero.
    pub(super) fn create(length: usize) -> Result<Self, SysError> {
        let file = rustix::fs::memfd_create("tactus-message", MemfdFlags::CLOEXEC)
            .map_err(SysError::of("memfd_create"))?;
        rustix::fs::ftruncate(&file, length as u64).map_err(SysError::of("ftruncate"))?;
        Self::map(file, length)
    }

    /// Maps memory of this length that the other side has created.
    pub(super) fn map(file: OwnedFd, length: usize) -> Result<Self, SysError> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses a free address range; no other memory is touched.
        let start = unsafe {
            rustix::mm::mmap(std::ptr::null_mut(), length, access, MapFlags::SHARED, &file, 0)
        };
        let start = start.map_err(SysError::of("mmap"))?;
        let start = NonNull::new(start.cast()).ok_or(SysError::new("mmap", Errno::FAULT))?;
        Ok(Self { file, start, length })
    }

    /// The same memory at another address.
    pub(super) fn again(&self) -> Result<Self, SysError> {
        let file = rustix::io::fcntl_dupfd_cloexec(&self.file, 0).map_err(SysError::of("fcntl"))?;
        Self::map(file, self.length)
    }

    /// Returns the pages to the kernel: the next touch of each, by either side, gets a fresh page of
    /// zeros. `MADV_REMOVE` of [madvise(2)](https://man7.org/linux/man-pages/man2/madvise.2.html).
    #[doc(alias = "MADV_REMOVE")]
    pub(super) fn discard(&mut self) -> Result<(), SysError> {
        // SAFETY: the range is this mapping, no borrow of which outlives this call; the content
        // becomes zero, which is valid for bytes.
        unsafe { rustix::mm::madvise(self.start.as_ptr().cast(), self.length, Advice::LinuxRemove) }
            .map_err(SysError::of("madvise"))
    }

    /// The memory, while it is this side's turn.
    pub(super) fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the mapping has `length` bytes and lives as long as `self`; its file is never
        // truncated. The other side waits for a message meanwhile, and what announces the message
        // orders the accesses of the two.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

impl AsFd for SharedBytes {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Drop for SharedBytes {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this length, and no borrow of it outlives `self`. A
        // failure cannot be handled.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.length) };
    }
}
