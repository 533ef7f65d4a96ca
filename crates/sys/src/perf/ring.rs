//! The memory into which the kernel writes records.

use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::event::CpuEvent;
use crate::error::{Errno, SysError};

/// Where `data_head` and `data_tail` stand in `struct perf_event_mmap_page`.
const HEAD_OFFSET: usize = 1024;
const TAIL_OFFSET: usize = 1032;

/// The length of `struct perf_event_header`.
const HEADER: usize = 8;

/// A ring of records, shared with the kernel: one a processor.
///
/// The kernel writes at its head and never over what was not yet read; what
/// finds no room is lost and counted.
#[derive(Debug)]
pub struct Ring {
    base: NonNull<u8>,
    page: usize,
    size: usize,
    /// A record that goes over the end of the memory is put together here.
    joined: Vec<u8>,
}

// SAFETY: the mapping belongs to this value alone on our side, every method that
// reads records takes `&mut self`, and the kernel does not care which thread reads.
unsafe impl Send for Ring {}

/// A record as the kernel wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawRecord<'a> {
    /// Its type (`PERF_RECORD_*`).
    pub kind: u32,
    /// What follows its header.
    pub body: &'a [u8],
}

/// What a call of [`Ring::drain`] read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drained {
    /// How many records.
    pub records: u64,
    /// How many bytes, with headers.
    pub bytes: u64,
    /// Bytes that were thrown away because they were no records. The kernel
    /// writes none such.
    pub garbled: u64,
}

impl Ring {
    /// Maps a ring of `size` bytes for `event`: a power of two, of whole pages.
    ///
    /// # Errors
    /// `EPERM`: more memory would be locked than is allowed (`RLIMIT_MEMLOCK`
    /// plus `kernel.perf_event_mlock_kb` for each processor); `EINVAL`: the size
    /// is not a power of two of pages; `ENOMEM`.
    pub fn map(event: &CpuEvent, size: usize) -> Result<Self, SysError> {
        let page = page_size();
        if !size.is_power_of_two() || size < page {
            return Err(SysError::new("mmap", Errno::INVAL));
        }
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing of ours.
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
        // A record's length is 16 bits wide.
        Ok(Self { base, page, size, joined: Vec::with_capacity(1 << 16) })
    }

    /// The size of the ring in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// How many bytes wait to be read.
    pub fn unread(&self) -> usize {
        let head = self.word(HEAD_OFFSET).load(Ordering::Acquire);
        let tail = self.word(TAIL_OFFSET).load(Ordering::Relaxed);
        head.wrapping_sub(tail) as usize
    }

    /// Hands every record that is there now to `record` and makes room for new ones.
    ///
    /// Ends after one ring's worth of bytes, however fast the kernel writes.
    pub fn drain(&mut self, mut record: impl FnMut(RawRecord<'_>)) -> Drained {
        let head = self.word(HEAD_OFFSET).load(Ordering::Acquire);
        let mut tail = self.word(TAIL_OFFSET).load(Ordering::Relaxed);
        let mut drained = Drained { bytes: head.wrapping_sub(tail), ..Drained::default() };
        while tail != head {
            let left = head.wrapping_sub(tail) as usize;
            let header = self.bytes(tail, HEADER.min(left));
            let [k0, k1, k2, k3, _, _, l0, l1] = *header else {
                drained.garbled = left as u64;
                break;
            };
            let kind = u32::from_ne_bytes([k0, k1, k2, k3]);
            let length = usize::from(u16::from_ne_bytes([l0, l1]));
            if length < HEADER || length > left {
                drained.garbled = left as u64;
                break;
            }
            let body = &self.bytes(tail, length)[HEADER..];
            record(RawRecord { kind, body });
            drained.records += 1;
            tail = tail.wrapping_add(length as u64);
        }
        self.word(TAIL_OFFSET).store(head, Ordering::Release);
        drained
    }

    /// The `length` bytes at `position`, which lie between tail and head.
    fn bytes(&mut self, position: u64, length: usize) -> &[u8] {
        let start = position as usize & (self.size - 1);
        // SAFETY: the data follows the first page; `start` is below the size, and
        // what lies between tail and head the kernel does not write to before
        // the tail is moved. A length of at most 65535 that would reach over the
        // end is cut there and joined with the beginning.
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
    // SAFETY: no memory is involved.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    // The call cannot fail for this name; 4096 is the smallest page there is.
    usize::try_from(size).unwrap_or(4096)
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` with this length, and no slice of
        // it outlives a call of `drain`.
        let unmapped = unsafe { munmap(self.base.as_ptr().cast(), self.page + self.size) };
        debug_assert!(unmapped.is_ok(), "{unmapped:?}");
    }
}
