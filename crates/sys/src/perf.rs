//! Kernel events by [perf_event_open(2)](https://man7.org/linux/man-pages/man2/perf_event_open.2.html).
//!
//! A [`CpuEvent`] is one event on one CPU. A [`Ring`] is the memory into which the
//! kernel writes the records of one or more events. A [`ThreadClock`] counts the CPU time of one
//! thread, and a [`Budget`] wakes a reader when a thread has used an amount of it. [`ThreadEvents`]
//! are the system calls, page faults and switches of one thread, with copies of its stack.
//! [`wait()`](crate::wait::wait) sleeps until a ring has filled to its watermark. [`ExtraInterrupts`]
//! interrupt a CPU and record nothing.

mod attr;
mod event;
mod extra_interrupts;
mod limit;
mod ring;
mod thread_clock;
mod thread_events;

use std::os::fd::{FromRawFd, OwnedFd};

use crate::error::SysError;

pub(crate) use attr::Attr;
pub use attr::{CallChain, MAX_STACK};
pub use event::{Count, CpuEvent};
pub use extra_interrupts::ExtraInterrupts;
pub use limit::OpenFileLimit;
pub use ring::{Drained, RawRecord, Ring};
pub use thread_clock::{Budget, ThreadClock};
pub use thread_events::{CallIds, ThreadEvents, ThreadRecord};

/// `PERF_FLAG_FD_CLOEXEC`
const FLAG_FD_CLOEXEC: libc::c_ulong = 8;

/// The number that means all CPUs.
const ALL_CPUS: i32 = -1;

/// Opens an event of one thread; `thread` is a number of [`crate::thread`].
pub(crate) fn open_for_thread(thread: i32, attr: Attr) -> Result<OwnedFd, SysError> {
    open_on(attr, thread, ALL_CPUS)
}

fn open_on(attr: Attr, thread: i32, cpu: i32) -> Result<OwnedFd, SysError> {
    const NO_GROUP: i32 = -1;
    // SAFETY: `attr` is a valid perf_event_attr whose size field holds its length.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attr,
            thread,
            cpu,
            NO_GROUP,
            FLAG_FD_CLOEXEC,
        )
    };
    let fd = SysError::check("perf_event_open", fd)?;
    // SAFETY: the kernel has just created this descriptor, and nothing else uses it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}
