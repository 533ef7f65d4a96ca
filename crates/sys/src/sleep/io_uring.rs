//! `IORING_OP_TIMEOUT` of io_uring(7).

use std::marker::PhantomData;

use io_uring::types::{TimeoutFlags, Timespec};
use io_uring::{opcode, squeue};
use tactus_model::time::{Clock, ClockName, Instant};

use crate::clock;
use crate::error::{Errno, SysError};
use crate::sleep::Sleeper;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Sleeps until an `IORING_OP_TIMEOUT` at an absolute time completes:
/// [io_uring_enter(2)](https://man7.org/linux/man-pages/man2/io_uring_enter.2.html).
#[doc(alias = "IORING_OP_TIMEOUT")]
pub struct IoUring<C: Clock> {
    ring: io_uring::IoUring,
    flags: TimeoutFlags,
    clock: PhantomData<C>,
}

impl<C: Clock> IoUring<C> {
    /// Sets up a ring of a few entries.
    ///
    /// # Errors
    /// - `EINVAL`: timeouts do not support this clock.
    /// - `EPERM`: `kernel.io_uring_disabled` forbids it.
    /// - `ENOSYS`: the kernel has no io_uring, or a seccomp filter hides it, as in
    ///   containers.
    pub fn new() -> Result<Self, SysError> {
        let clock = match C::NAME {
            ClockName::Monotonic => TimeoutFlags::empty(),
            ClockName::Realtime => TimeoutFlags::REALTIME,
            ClockName::Boottime => TimeoutFlags::BOOTTIME,
            ClockName::Tai => return Err(SysError::new("io_uring_setup", Errno::INVAL)),
        };
        let ring = io_uring::IoUring::new(4).map_err(SysError::of_io("io_uring_setup"))?;
        Ok(Self { ring, flags: TimeoutFlags::ABS | clock, clock: PhantomData })
    }

    /// Puts a request into the submission queue.
    fn push(&mut self, request: &squeue::Entry) -> Result<(), SysError> {
        // SAFETY: the only pointer in our requests points to a timespec that lives
        // until the kernel has taken the request, within `sleep_until`.
        unsafe { self.ring.submission().push(request) }
            // The queue holds one request at a time, so it is never full.
            .map_err(|_| SysError::new("io_uring_enter", Errno::AGAIN))
    }
}

impl<C: Clock> Sleeper<C> for IoUring<C> {
    #[inline]
    fn sleep_until(&mut self, due: Instant<C>) -> Result<Instant<C>, SysError> {
        let (seconds, nanos) =
            (due.as_nanos() / NANOS_PER_SECOND, due.as_nanos() % NANOS_PER_SECOND);
        let until = Timespec::new().sec(seconds).nsec(nanos as u32);
        let request = opcode::Timeout::new(&until).flags(self.flags).build();
        self.push(&request)?;
        loop {
            // The kernel takes the request and copies the timespec before it waits, so
            // an interruption can only come after that.
            match self.ring.submit_and_wait(1) {
                Ok(_) => {}
                Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
                Err(error) => return Err(SysError::from_io("io_uring_enter", &error)),
            }
            if let Some(completion) = self.ring.completion().next() {
                let came = clock::now();
                return match -completion.result() {
                    libc::ETIME => Ok(came),
                    errno => {
                        let errno = Errno::from_raw_os_error(errno);
                        Err(SysError::new("IORING_OP_TIMEOUT", errno))
                    }
                };
            }
        }
    }
}
