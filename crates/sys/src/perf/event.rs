//! One event on one CPU.

use std::ffi::CString;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use super::attr::{Attr, CallChain};
use crate::error::{Errno, SysError};

/// The number that means all threads.
const ALL_THREADS: i32 = -1;

const IOC_ENABLE: libc::c_ulong = 0x2400;
const IOC_DISABLE: libc::c_ulong = 0x2401;
const IOC_SET_OUTPUT: libc::c_ulong = 0x2405;
const IOC_SET_FILTER: libc::c_ulong = 0x4008_2406;

/// An event on one CPU, for all threads. Closed when dropped.
#[derive(Debug)]
pub struct CpuEvent {
    fd: OwnedFd,
    counts_lost: bool,
}

/// The kernel's counts for an event since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Occurrences, each counted with its weight, which is 1 for most events.
    pub counted: u64,
    /// How many of them were lost because the ring was full; `None` if the kernel does
    /// not count this (`PERF_FORMAT_LOST`, since Linux 6.0).
    pub lost: Option<u64>,
}

impl CpuEvent {
    /// Opens the tracepoint with the number `id` (from its `format` file) on `cpu`,
    /// disabled.
    ///
    /// # Errors
    /// - `EACCES` or `EPERM`: the process does not have CAP_PERFMON, or the kernel does
    ///   not give this tracepoint to perf.
    /// - `ENODEV`: the CPU is offline.
    /// - `EMFILE`: too many open files.
    ///
    /// See
    /// [perf_event_open(2)](https://man7.org/linux/man-pages/man2/perf_event_open.2.html).
    pub fn tracepoint(id: u32, cpu: u32, call_chain: CallChain) -> Result<Self, SysError> {
        Self::open(cpu, Attr::tracepoint(id, call_chain))
    }

    /// Opens an event that never occurs; into its ring the kernel writes the creation
    /// and the end of threads (`PERF_RECORD_FORK`, `PERF_RECORD_EXIT`).
    ///
    /// It is the leader: other events are redirected into its ring, which wakes its
    /// reader at `watermark` bytes. Its count of losses covers only these records, so
    /// the counts of the other events are exact.
    ///
    /// # Errors
    /// Those of [`Self::tracepoint`].
    #[doc(alias = "PERF_COUNT_SW_DUMMY")]
    pub fn tasks(cpu: u32, watermark: u32) -> Result<Self, SysError> {
        Self::open(cpu, Attr::tasks(watermark))
    }

    /// Opens an event that interrupts `cpu` every `period` nanoseconds, disabled.
    ///
    /// # Errors
    /// Those of [`Self::tracepoint`].
    #[doc(alias = "PERF_COUNT_SW_CPU_CLOCK")]
    pub(super) fn clock(cpu: u32, period: u64) -> Result<Self, SysError> {
        Self::open_with(cpu, Attr::cpu_clock(period), false)
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
        let fd = super::open_on(attr, ALL_THREADS, cpu as i32)?;
        Ok(Self { fd, counts_lost })
    }

    /// Redirects this event into the ring of `first`, which must be on the same CPU.
    ///
    /// # Errors
    /// `EINVAL`: the two have different CPUs or clocks, or `first` has no ring.
    #[doc(alias = "PERF_EVENT_IOC_SET_OUTPUT")]
    pub fn redirect_to(&self, first: &Self) -> Result<(), SysError> {
        self.ioctl(IOC_SET_OUTPUT, first.fd.as_raw_fd() as libc::c_ulong)
    }

    /// Passes only records that match the expression, for example `common_pid == 42`.
    ///
    /// # Errors
    /// `EINVAL`: the expression is invalid, names a field that the event does not have,
    /// or contains a NUL.
    #[doc(alias = "PERF_EVENT_IOC_SET_FILTER")]
    pub fn filter(&self, expression: &str) -> Result<(), SysError> {
        let expression =
            CString::new(expression).map_err(|_| SysError::new("ioctl", Errno::INVAL))?;
        // The kernel copies the string, which outlives the call.
        self.ioctl(IOC_SET_FILTER, expression.as_ptr() as libc::c_ulong)
    }

    /// Starts recording.
    ///
    /// # Errors
    /// None known for a valid event.
    #[doc(alias = "PERF_EVENT_IOC_ENABLE")]
    pub fn enable(&self) -> Result<(), SysError> {
        self.ioctl(IOC_ENABLE, 0)
    }

    /// Stops recording; the ring keeps its records.
    ///
    /// # Errors
    /// None known for a valid event.
    #[doc(alias = "PERF_EVENT_IOC_DISABLE")]
    pub fn disable(&self) -> Result<(), SysError> {
        self.ioctl(IOC_DISABLE, 0)
    }

    /// Reads the number of occurrences and of losses.
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
        // NUL-terminated string that lives through the call; none of them writes to
        // memory.
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
