//! A read from a timerfd_create(2) descriptor.

use std::marker::PhantomData;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags};
use tactus_model::time::{Clock, ClockName, Instant, Nanos};

use crate::clock;
use crate::error::{Errno, SysError};
use crate::sleep::Sleeper;
use crate::timespec::rustix_timespec;

/// Sleeps in a read from a descriptor of
/// [timerfd_create(2)](https://man7.org/linux/man-pages/man2/timerfd_create.2.html),
/// armed at an absolute time.
#[doc(alias = "timerfd_create")]
#[derive(Debug)]
pub struct Timerfd<C: Clock> {
    descriptor: OwnedFd,
    clock: PhantomData<C>,
}

impl<C: Clock> Timerfd<C> {
    /// Makes a descriptor.
    ///
    /// # Errors
    /// `EINVAL`: timerfd does not support this clock.
    pub fn new() -> Result<Self, SysError> {
        let clock = match C::NAME {
            ClockName::Monotonic => TimerfdClockId::Monotonic,
            ClockName::Realtime => TimerfdClockId::Realtime,
            ClockName::Boottime => TimerfdClockId::Boottime,
            ClockName::Tai => return Err(SysError::new("timerfd_create", Errno::INVAL)),
        };
        let descriptor = rustix::time::timerfd_create(clock, TimerfdFlags::CLOEXEC)
            .map_err(SysError::of("timerfd_create"))?;
        Ok(Self { descriptor, clock: PhantomData })
    }

    /// Sets the time from which the [descriptor](AsFd) can be read; until then it cannot, whatever
    /// was set before. `None`: never.
    ///
    /// # Errors
    /// None according to the man page.
    #[inline]
    pub fn set(&self, due: Option<Instant<C>>) -> Result<(), SysError> {
        // Zero disarms it, so the origin of the clock becomes 1 ns.
        let nanos = due.map_or(0, |due| due.as_nanos().max(1));
        let setting = Itimerspec {
            it_interval: rustix_timespec(Nanos::ZERO),
            it_value: rustix_timespec(Nanos::from_nanos(nanos)),
        };
        rustix::time::timerfd_settime(&self.descriptor, TimerfdTimerFlags::ABSTIME, &setting)
            .map_err(SysError::of("timerfd_settime"))
            .map(drop)
    }
}

/// It can be read from the time that [`set`](Timerfd::set) gave.
impl<C: Clock> AsFd for Timerfd<C> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl<C: Clock> Sleeper<C> for Timerfd<C> {
    #[inline]
    fn sleep_until(&mut self, due: Instant<C>) -> Result<Instant<C>, SysError> {
        self.set(Some(due))?;
        let mut expirations = [0_u8; 8];
        loop {
            match rustix::io::read(&self.descriptor, &mut expirations) {
                Ok(_) => return Ok(clock::now()),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(SysError::new("read", errno)),
            }
        }
    }
}
