//! One event on one processor.

use std::ffi::CString;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::attr::{Attr, CallChain};
use crate::error::{Errno, SysError};

/// `PERF_FLAG_FD_CLOEXEC`
const FLAG_FD_CLOEXEC: libc::c_ulong = 8;

const IOC_ENABLE: libc::c_ulong = 0x2400;
const IOC_DISABLE: libc::c_ulong = 0x2401;
const IOC_SET_OUTPUT: libc::c_ulong = 0x2405;
const IOC_SET_FILTER: libc::c_ulong = 0x4008_2406;

/// An event on one processor, for all threads. Closed when dropped.
#[derive(Debug)]
pub struct CpuEvent {
    fd: OwnedFd,
    counts_lost: bool,
}

/// What the kernel counted of an event since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Occurrences, each as often as the kernel weighs it: once, but for few.
    pub counted: u64,
    /// Of those, records that found no room; `None` where the kernel cannot tell
    /// (`PERF_FORMAT_LOST`, since Linux 6.0).
    pub lost: Option<u64>,
}

impl CpuEvent {
    /// Opens the tracepoint of number `id` (from its `format` file) on `cpu`, not
    /// yet enabled.
    ///
    /// # Errors
    /// `EACCES` or `EPERM`: CAP_PERFMON is missing, or the kernel keeps this
    /// tracepoint from perf. `ENODEV`: the processor is offline. `EMFILE`: too
    /// many open files. See
    /// [perf_event_open(2)](https://man7.org/linux/man-pages/man2/perf_event_open.2.html).
    pub fn tracepoint(id: u32, cpu: u32, call_chain: CallChain) -> Result<Self, SysError> {
        Self::open(cpu, Attr::tracepoint(id, call_chain))
    }

    /// Opens an event that never occurs, for whose ring the kernel writes when
    /// threads are made and end (`PERF_RECORD_FORK`, `PERF_RECORD_EXIT`).
    ///
    /// It leads: other events are redirected into its ring, whose reader is
    /// woken when `watermark` bytes wait. Its own count of losses is that of
    /// those records alone, so the others' count occurrences exactly.
    ///
    /// # Errors
    /// As [`Self::tracepoint`].
    #[doc(alias = "PERF_COUNT_SW_DUMMY")]
    pub fn tasks(cpu: u32, watermark: u32) -> Result<Self, SysError> {
        Self::open(cpu, Attr::tasks(watermark))
    }

    fn open(cpu: u32, attr: Attr) -> Result<Self, SysError> {
        match Self::open_with(cpu, attr, true) {
            Err(error) if error.errno == Errno::INVAL => {
                Self::open_with(cpu, attr.without_lost_count(), false)
            }
            opened => opened,
        }
    }

    fn open_with(cpu: u32, attr: Attr, counts_lost: bool) -> Result<Self, SysError> {
        // SAFETY: `attr` is a valid perf_event_attr whose size field tells its length.
        let fd = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                &raw const attr,
                -1_i32,
                cpu as i32,
                -1_i32,
                FLAG_FD_CLOEXEC,
            )
        };
        let fd = SysError::check("perf_event_open", fd)?;
        // SAFETY: the kernel has just made this descriptor, and nobody else knows it.
        let fd = unsafe { OwnedFd::from_raw_fd(fd as i32) };
        Ok(Self { fd, counts_lost })
    }

    /// Has this event write into the ring that is mapped from `first`, of the same processor.
    ///
    /// # Errors
    /// `EINVAL`: the two are of different processors or clocks, or `first` has no ring.
    #[doc(alias = "PERF_EVENT_IOC_SET_OUTPUT")]
    pub fn redirect_to(&self, first: &Self) -> Result<(), SysError> {
        self.ioctl(IOC_SET_OUTPUT, first.fd.as_raw_fd() as libc::c_ulong)
    }

    /// Lets through only what the expression admits, as `common_pid == 42`.
    ///
    /// # Errors
    /// `EINVAL`: the expression is not one, or names a field that the event does
    /// not have, or contains a NUL.
    #[doc(alias = "PERF_EVENT_IOC_SET_FILTER")]
    pub fn filter(&self, expression: &str) -> Result<(), SysError> {
        let expression =
            CString::new(expression).map_err(|_| SysError::new("ioctl", Errno::INVAL))?;
        // The string outlives the call, which copies it.
        self.ioctl(IOC_SET_FILTER, expression.as_ptr() as libc::c_ulong)
    }

    /// Begins to record.
    ///
    /// # Errors
    /// None that a valid event is known to give.
    #[doc(alias = "PERF_EVENT_IOC_ENABLE")]
    pub fn enable(&self) -> Result<(), SysError> {
        self.ioctl(IOC_ENABLE, 0)
    }

    /// Ceases to record; the ring keeps what it holds.
    ///
    /// # Errors
    /// None that a valid event is known to give.
    #[doc(alias = "PERF_EVENT_IOC_DISABLE")]
    pub fn disable(&self) -> Result<(), SysError> {
        self.ioctl(IOC_DISABLE, 0)
    }

    /// Reads how often the event occurred and how often it was lost.
    ///
    /// # Errors
    /// `ENOSPC`: the event is in an error state (see read in perf_event_open(2)).
    pub fn count(&self) -> Result<Count, SysError> {
        let mut words = [0_u8; 16];
        let wanted = if self.counts_lost { 16 } else { 8 };
        let got = rustix::io::read(&self.fd, &mut words[..wanted]).map_err(SysError::of("read"))?;
        if got != wanted {
            return Err(SysError::new("read", Errno::IO));
        }
        let word = |at: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&words[at..at + 8]);
            u64::from_ne_bytes(bytes)
        };
        Ok(Count { counted: word(0), lost: self.counts_lost.then(|| word(8)) })
    }

    fn ioctl(&self, request: libc::c_ulong, argument: libc::c_ulong) -> Result<(), SysError> {
        // SAFETY: the requests of this module take a number, a descriptor or a
        // NUL-terminated string that lives through the call; none writes to memory.
        let returned =
            unsafe { libc::ioctl(self.fd.as_raw_fd(), request as libc::Ioctl, argument) };
        SysError::check("ioctl", returned).map(drop)
    }
}

impl AsFd for CpuEvent {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
