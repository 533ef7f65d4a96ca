//! The memory into which the kernel writes records.

use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::error::{Errno, SysError};

/// The offsets of `data_head` and `data_tail` in `struct perf_event_mmap_page`.
const HEAD_OFFSET: usize = 1024;
const TAIL_OFFSET: usize = 1032;

/// The length of `struct perf_event_header`.
const HEADER: usize = 8;

/// A ring of records shared with the kernel; there is one for each CPU.
///
/// The kernel writes at the head and never over unread records; records that do not fit
/// are lost and counted.
#[derive(Debug)]
pub struct Ring {
    base: NonNull<u8>,
    page: usize,
    size: usize,
    /// Holds a record that wraps around the end of the memory.
    joined: Vec<u8>,
}

// SAFETY: only this value owns the mapping on our side, every method that reads records
// takes `&mut self`, and the kernel does not care which thread reads.
unsafe impl Send for Ring {}

/// A record as the kernel wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawRecord<'a> {
    /// Its type (`PERF_RECORD_*`).
    pub kind: u32,
    /// Its flags (`PERF_RECORD_MISC_*`).
    pub flags: u16,
    /// The bytes after its header.
    pub body: &'a [u8],
}

/// What a call of [`Ring::drain`] read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drained {
    /// The number of records.
    pub records: u64,
    /// The number of bytes, including headers.
    pub bytes: u64,
    /// Bytes that were discarded because they were not records. The kernel does not
    /// write such bytes.
    pub garbled: u64,
}

impl Ring {
    /// Maps a ring of `size` bytes for `event`; the size must be a power of two of
    /// whole pages.
    ///
    /// # Errors
    /// - `EPERM`: the ring would lock more memory than allowed (`RLIMIT_MEMLOCK` plus
    ///   `kernel.perf_event_mlock_kb` for each CPU).
    /// - `EINVAL`: the size is not a power of two of pages.
    /// - `ENOMEM`: there is not enough memory.
    pub fn map(event: &impl AsFd, size: usize) -> Result<Self, SysError> {
        let page = page_size();
        if !size.is_power_of_two() || size < page {
            return Err(SysError::new("mmap", Errno::INVAL));
        }
        // SAFETY: a new mapping at an address that the kernel chooses touches no memory of
        // ours.
        let base = unsafe {
            mmap(
                std::ptr::null_mut(),
                page + size,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                event.as_fd(),
                0,
            )
        }
        .map_err(SysError::of("mmap"))?;
        let base = NonNull::new(base.cast::<u8>()).ok_or(SysError::new("mmap", Errno::FAULT))?;
        // The length of a record has 16 bits.
        Ok(Self { base, page, size, joined: Vec::with_capacity(1 << 16) })
    }

    /// The size of the ring in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Passes every present record to `record` and frees its space.
    ///
    /// Stops after the bytes of one ring, however fast the kernel writes.
    pub fn drain(&mut self, mut record: impl FnMut(RawRecord<'_>)) -> Drained {
        let head = self.word(HEAD_OFFSET).load(Ordering::Acquire);
        let mut tail = self.word(TAIL_OFFSET).load(Ordering::Relaxed);
        let mut drained = Drained { bytes: head.wrapping_sub(tail), ..Drained::default() };
        while tail != head {
            let left = head.wrapping_sub(tail) as usize;
            let header = self.bytes(tail, HEADER.min(left));
            let [k0, k1, k2, k3, f0, f1, l0, l1] = *header else {
                drained.garbled = left as u64;
                break;
            };
            let kind = u32::from_ne_bytes([k0, k1, k2, k3]);
            let flags = u16::from_ne_bytes([f0, f1]);
            let length = usize::from(u16::from_ne_bytes([l0, l1]));
            if length < HEADER || length > left {
                drained.garbled = left as u64;
                break;
            }
            let body = &self.bytes(tail, length)[HEADER..];
            record(RawRecord { kind, flags, body });
            drained.records += 1;
            tail = tail.wrapping_add(length as u64);
        }
        self.word(TAIL_OFFSET).store(head, Ordering::Release);
        drained
    }

    /// The `length` bytes at `position`, which are between tail and head.
    fn bytes(&mut self, position: u64, length: usize) -> &[u8] {
        let start = position as usize & (self.size - 1);
        // SAFETY: the data follows the first page; `start` is below the size; the
        // kernel does not write between tail and head until the tail moves. A range of
        // at most 65535 bytes that would cross the end is split there and joined with
        // the beginning.
        let data = unsafe { self.base.as_ptr().add(self.page) };
        let whole = length.min(self.size - start);
        // SAFETY: as above: `start + whole` does not exceed the size.
        let first = unsafe { std::slice::from_raw_parts(data.add(start), whole) };
        if whole == length {
            return first;
        }
        // SAFETY: as above: the rest begins at the start of the data and is
        // shorter than the ring.
        let rest = unsafe { std::slice::from_raw_parts(data, length - whole) };
        self.joined.clear();
        self.joined.extend_from_slice(first);
        self.joined.extend_from_slice(rest);
        &self.joined
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: the first page of the mapping is a perf_event_mmap_page; the two
        // offsets are those of its aligned 64-bit head and tail, which both sides
        // access atomically.
        unsafe { &*self.base.as_ptr().add(offset).cast::<AtomicU64>() }
    }
}

fn page_size() -> usize {
    // SAFETY: sysconf accesses no memory.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    // The call cannot fail for this name; 4096 is the smallest page size.
    usize::try_from(size).unwrap_or(4096)
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` with this length, and no slice of it
        // outlives a call of `drain`.
        let unmapped = unsafe { munmap(self.base.as_ptr().cast(), self.page + self.size) };
        debug_assert!(unmapped.is_ok(), "{unmapped:?}");
    }
}
