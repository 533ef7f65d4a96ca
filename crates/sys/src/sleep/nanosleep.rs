//! clock_nanosleep(2) until an absolute time.

use tactus_model::time::{Clock, Instant, Nanos};

use crate::clock;
use crate::error::{Errno, SysError};
use crate::sleep::Sleeper;
use crate::timespec::timespec;

/// Sleeps by [clock_nanosleep(2)](https://man7.org/linux/man-pages/man2/clock_nanosleep.2.html)
/// with `TIMER_ABSTIME`.
#[doc(alias = "clock_nanosleep")]
#[derive(Clone, Copy, Debug)]
pub struct Nanosleep;

impl<C: Clock> Sleeper<C> for Nanosleep {
    #[inline]
    fn sleep_until(&mut self, due: Instant<C>) -> Result<Instant<C>, SysError> {
        let request = timespec(Nanos::from_nanos(due.as_nanos()));
        loop {
            // SAFETY: `request` is a live timespec; with an absolute time the remaining
            // time is not written.
            let returned = unsafe {
                libc::clock_nanosleep(
                    clock::id(C::NAME),
                    libc::TIMER_ABSTIME,
                    &request,
                    std::ptr::null_mut(),
                )
            };
            match returned {
                0 => return Ok(clock::now()),
                libc::EINTR => {}
                errno => {
                    return Err(SysError::new("clock_nanosleep", Errno::from_raw_os_error(errno)));
                }
            }
        }
    }
}
