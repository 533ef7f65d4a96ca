//! Sleeps until a descriptor can be read, e.g. a buffer of kernel events or a pipe.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

use tactus_model::time::Nanos;

use crate::error::{Errno, SysError};

/// Wakes a thread that sleeps in [`wait`], from any other thread.
///
/// An [eventfd(2)](https://man7.org/linux/man-pages/man2/eventfd.2.html).
#[derive(Debug)]
pub struct Waker(OwnedFd);

/// Why [`wait`] returned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Woken {
    /// A buffer reached its watermark.
    pub buffer: bool,
    /// The [`Waker`] was used.
    pub waker: bool,
}

impl Waker {
    /// Makes a waker.
    ///
    /// # Errors
    /// `EMFILE` or `ENFILE`: too many open files.
    pub fn new() -> Result<Self, SysError> {
        // SAFETY: eventfd accesses no memory.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        let fd = SysError::check("eventfd", fd)?;
        // SAFETY: the kernel has just created this descriptor, and nothing else uses
        // it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Wakes the sleeper, now or when it next goes to sleep.
    pub fn wake(&self) {
        // It can only fail if 2^64 − 2 wakeups are pending: then the thread is awake.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    /// Clears the pending wakeups, for those who await the [descriptor](AsFd) by other means.
    pub fn clear(&self) {
        // A failure means that nothing is pending.
        let _ = rustix::io::read(&self.0, &mut [0_u8; 8]);
    }
}

/// It can be read when the waker was used.
impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Sleeps until one of `buffers` reaches its watermark, `waker` is used, or `timeout`
/// is over; a signal may end the sleep too.
///
/// A buffer is given by the descriptor to poll: the event that a
/// [ring](crate::perf::Ring) is mapped from, or the [pages](crate::tracefs::Pages) of a
/// CPU.
///
/// # Errors
/// `ENOMEM`; see [poll(2)](https://man7.org/linux/man-pages/man2/poll.2.html).
pub fn wait(buffers: &[BorrowedFd<'_>], waker: &Waker, timeout: Nanos) -> Result<Woken, SysError> {
    let mut fds: Vec<libc::pollfd> = Vec::with_capacity(buffers.len() + 1);
    fds.push(polled(waker.0.as_fd()));
    fds.extend(buffers.iter().copied().map(polled));
    if poll(&mut fds, timeout.into())? == 0 {
        return Ok(Woken::default());
    }
    let woken = Woken {
        waker: fds[0].revents != 0,
        buffer: fds[1..].iter().any(|fd| fd.revents & libc::POLLIN != 0),
    };
    if woken.waker {
        waker.clear();
    }
    Ok(woken)
}

/// Sleeps until `fd` can be read without waiting (which includes its end), or `timeout` is over;
/// a signal may end the sleep too. Returns whether it can be read.
///
/// # Errors
/// `ENOMEM`; see [poll(2)](https://man7.org/linux/man-pages/man2/poll.2.html).
pub fn wait_readable(fd: BorrowedFd<'_>, timeout: Duration) -> Result<bool, SysError> {
    poll(&mut [polled(fd)], timeout).map(|readable| readable > 0)
}

/// Sleeps until `fd` can be written without waiting (which includes that nobody reads it any more), or
/// `timeout` is over; a signal may end the sleep too. Returns whether it can be written.
///
/// # Errors
/// `ENOMEM`; see [poll(2)](https://man7.org/linux/man-pages/man2/poll.2.html).
pub fn wait_writable(fd: BorrowedFd<'_>, timeout: Duration) -> Result<bool, SysError> {
    let mut fds = [libc::pollfd { events: libc::POLLOUT, ..polled(fd) }];
    poll(&mut fds, timeout).map(|writable| writable > 0)
}

/// Sleeps until `fd` can be read or written without waiting, like [`wait_readable`] and
/// [`wait_writable`].
///
/// # Errors
/// `ENOMEM`; see [poll(2)](https://man7.org/linux/man-pages/man2/poll.2.html).
pub fn wait_readable_or_writable(fd: BorrowedFd<'_>, timeout: Duration) -> Result<bool, SysError> {
    let mut fds = [libc::pollfd { events: libc::POLLIN | libc::POLLOUT, ..polled(fd) }];
    poll(&mut fds, timeout).map(|ready| ready > 0)
}

/// From now on, reading and writing `fd` fail with `EAGAIN` instead of waiting. This holds for
/// everybody who shares this open file, e.g. after `dup`, but not for the other end of a pipe.
///
/// # Errors
/// `EBADF`; see [ioctl(2)](https://man7.org/linux/man-pages/man2/ioctl.2.html).
#[doc(alias = "O_NONBLOCK")]
pub fn never_wait(fd: BorrowedFd<'_>) -> Result<(), SysError> {
    let mut is_set: libc::c_int = 1;
    // SAFETY: the pointer refers to a live integer, which the kernel only reads.
    let returned = unsafe { libc::ioctl(fd.as_raw_fd(), libc::FIONBIO, &raw mut is_set) };
    SysError::check("ioctl FIONBIO", returned).map(drop)
}

/// Whether the other end of `fd` is gone, e.g. the emulator of a terminal, within `timeout`; a
/// signal may end the wait early.
///
/// # Errors
/// `ENOMEM`; see [poll(2)](https://man7.org/linux/man-pages/man2/poll.2.html).
#[doc(alias = "POLLHUP")]
pub fn wait_hung_up(fd: BorrowedFd<'_>, timeout: Duration) -> Result<bool, SysError> {
    // Without requested events, poll reports only hangups and errors.
    let mut fds = [libc::pollfd { events: 0, ..polled(fd) }];
    poll(&mut fds, timeout).map(|gone| gone > 0)
}

/// Why [`wait_event`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrived {
    /// The descriptor can be read.
    Event,
    /// The [`Waker`] was used, or a signal came.
    Woken,
    /// Nothing will come: the other end is gone, or the device.
    Closed,
}

/// Sleeps until `fd` can be read or `waker` is used, which comes first if both happened.
/// Allocates nothing.
///
/// # Errors
/// `ENOMEM`; see [poll(2)](https://man7.org/linux/man-pages/man2/poll.2.html).
pub fn wait_event(fd: BorrowedFd<'_>, waker: &Waker) -> Result<Arrived, SysError> {
    let mut fds = [polled(waker.as_fd()), polled(fd)];
    // SAFETY: the pointer and the length are those of one array, which lives through the call.
    let returned = unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, -1) };
    match SysError::check("poll", returned) {
        Err(error) if error.errno == Errno::INTR => Ok(Arrived::Woken),
        Err(error) => Err(error),
        Ok(_) if fds[0].revents != 0 => {
            waker.clear();
            Ok(Arrived::Woken)
        }
        Ok(_) if fds[1].revents & libc::POLLIN != 0 => Ok(Arrived::Event),
        Ok(_) => Ok(Arrived::Closed),
    }
}

fn polled(fd: BorrowedFd<'_>) -> libc::pollfd {
    libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 }
}

/// The number of `fds` that are ready; 0 if a signal ended the sleep.
fn poll(fds: &mut [libc::pollfd], timeout: Duration) -> Result<usize, SysError> {
    let milliseconds = timeout.as_nanos().div_ceil(1_000_000);
    let milliseconds = i32::try_from(milliseconds).unwrap_or(i32::MAX);
    // SAFETY: the pointer and the length are those of one slice, which lives through the call.
    let returned = unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, milliseconds) };
    match SysError::check("poll", returned) {
        Ok(readable) => Ok(readable.unsigned_abs() as usize),
        Err(error) if error.errno == Errno::INTR => Ok(0),
        Err(error) => Err(error),
    }
}
