//! The timeout of futex(2).

use std::marker::PhantomData;
use std::num::NonZeroU32;
use std::sync::atomic::AtomicU32;

use rustix::thread::futex;
use tactus_model::time::{Clock, ClockName, Instant, Nanos};

use crate::clock;
use crate::error::{Errno, SysError};
use crate::sleep::Sleeper;
use crate::timespec::rustix_timespec;

/// Sleeps in the absolute timeout of `FUTEX_WAIT_BITSET`, as condition variables do:
/// [futex(2)](https://man7.org/linux/man-pages/man2/futex.2.html).
#[doc(alias = "FUTEX_WAIT_BITSET")]
#[derive(Debug)]
pub struct Futex<C: Clock> {
    /// No thread ever changes it or wakes a waiter.
    word: AtomicU32,
    flags: futex::Flags,
    clock: PhantomData<C>,
}

impl<C: Clock> Futex<C> {
    /// Makes a futex for this thread.
    ///
    /// # Errors
    /// `EINVAL`: futex timeouts do not support this clock.
    pub fn new() -> Result<Self, SysError> {
        let flags = match C::NAME {
            ClockName::Monotonic => futex::Flags::PRIVATE,
            ClockName::Realtime => futex::Flags::PRIVATE | futex::Flags::CLOCK_REALTIME,
            ClockName::Boottime | ClockName::Tai => {
                return Err(SysError::new("futex", Errno::INVAL));
            }
        };
        Ok(Self { word: AtomicU32::new(0), flags, clock: PhantomData })
    }
}

impl<C: Clock> Sleeper<C> for Futex<C> {
    #[inline]
    fn sleep_until(&mut self, due: Instant<C>) -> Result<Instant<C>, SysError> {
        let timeout = rustix_timespec(Nanos::from_nanos(due.as_nanos()));
        loop {
            match futex::wait_bitset(&self.word, self.flags, 0, Some(&timeout), NonZeroU32::MAX) {
                Err(Errno::TIMEDOUT) => return Ok(clock::now()),
                // futex(2) allows spurious wakeups.
                Ok(()) | Err(Errno::INTR) => {}
                Err(errno) => return Err(SysError::new("futex", errno)),
            }
        }
    }
}
