//! A timer that expires periodically, read as a file.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
use tactus_model::time::Nanos;

use crate::error::{Errno, SysError};

/// A periodic timer:
/// [timerfd_create(2)](https://man7.org/linux/man-pages/man2/timerfd_create.2.html).
///
/// Timer slack does not apply to it, so it expires at exactly its period.
#[doc(alias = "timerfd_create")]
#[derive(Debug)]
pub struct PeriodicTimer(OwnedFd);

impl PeriodicTimer {
    /// Starts a timer on the monotonic clock; the first period begins now.
    ///
    /// # Errors
    /// `EINVAL`: the period is zero.
    pub fn start(period: Nanos) -> Result<Self, SysError> {
        if period == Nanos::ZERO {
            return Err(SysError::new("timerfd_settime", Errno::INVAL));
        }
        let timer = rustix::time::timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)
            .map_err(SysError::of("timerfd_create"))?;
        let nanos = period.as_nanos();
        // Both parts fit: the quotient of a u64 by 10⁹, and the remainder.
        let period = Timespec {
            tv_sec: (nanos / 1_000_000_000) as _,
            tv_nsec: (nanos % 1_000_000_000) as _,
        };
        let setting = Itimerspec { it_interval: period, it_value: period };
        rustix::time::timerfd_settime(&timer, TimerfdTimerFlags::empty(), &setting)
            .map_err(SysError::of("timerfd_settime"))?;
        Ok(Self(timer))
    }

    /// Waits until the timer expires; returns how often it has expired since the last
    /// call.
    pub fn wait(&self) -> Result<u64, SysError> {
        let mut count = [0; 8];
        rustix::io::read(&self.0, &mut count).map_err(SysError::of("read"))?;
        Ok(u64::from_ne_bytes(count))
    }
}

impl AsFd for PeriodicTimer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_expires_periodically() {
        let timer = PeriodicTimer::start(Nanos::from_micros(100)).unwrap();
        let expired: u64 = (0..3).map(|_| timer.wait().unwrap()).sum();
        assert!(expired >= 3, "{expired}");
        assert!(PeriodicTimer::start(Nanos::ZERO).is_err());
    }
}
