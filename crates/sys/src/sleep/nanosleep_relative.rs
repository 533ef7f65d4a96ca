//! clock_nanosleep(2) for the time that remains.

use tactus_model::time::{Clock, Instant};

use crate::clock;
use crate::error::{Errno, SysError};
use crate::sleep::Sleeper;
use crate::timespec::timespec;

/// Sleeps by [clock_nanosleep(2)](https://man7.org/linux/man-pages/man2/clock_nanosleep.2.html)
/// for the time from now to the due time.
///
/// A delay between reading the clock and the call is added to the sleep: that is
/// what this facility costs those who use it.
#[doc(alias = "clock_nanosleep")]
#[derive(Clone, Copy, Debug)]
pub struct NanosleepRelative;

impl<C: Clock> Sleeper<C> for NanosleepRelative {
    #[inline]
    fn sleep_until(&mut self, due: Instant<C>) -> Result<Instant<C>, SysError> {
        loop {
            let request = timespec(due - clock::now::<C>());
            // SAFETY: `request` is a live timespec; a null pointer asks for no
            // remaining time, which is computed afresh after an interruption.
            let answer = unsafe {
                libc::clock_nanosleep(clock::id(C::NAME), 0, &request, std::ptr::null_mut())
            };
            match answer {
                0 => {
                    let came = clock::now::<C>();
                    // The kernel counts a relative sleep of the realtime clock on
                    // the monotonic one; when the former is set meanwhile, the
                    // sleep may end before it is due.
                    if came >= due {
                        return Ok(came);
                    }
                }
                libc::EINTR => {}
                errno => {
                    return Err(SysError::new("clock_nanosleep", Errno::from_raw_os_error(errno)));
                }
            }
        }
    }
}
