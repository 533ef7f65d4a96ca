//! clock_nanosleep(2) for the remaining time.

use tactus_model::time::{Clock, Instant};

use crate::clock;
use crate::error::{Errno, SysError};
use crate::sleep::Sleeper;
use crate::timespec::timespec;

/// Sleeps by [clock_nanosleep(2)](https://man7.org/linux/man-pages/man2/clock_nanosleep.2.html)
/// for the time from now to the due time.
///
/// A delay between the clock reading and the call lengthens the sleep; this is the cost
/// of this facility for its users.
#[doc(alias = "clock_nanosleep")]
#[derive(Clone, Copy, Debug)]
pub struct NanosleepRelative;

impl<C: Clock> Sleeper<C> for NanosleepRelative {
    #[inline]
    fn sleep_until(&mut self, due: Instant<C>) -> Result<Instant<C>, SysError> {
        loop {
            let request = timespec(due - clock::now::<C>());
            // SAFETY: `request` is a live timespec; a null pointer discards the
            // remaining time, which is computed again after an interruption.
            let returned = unsafe {
                libc::clock_nanosleep(clock::id(C::NAME), 0, &request, std::ptr::null_mut())
            };
            match returned {
                0 => {
                    let came = clock::now::<C>();
                    // The kernel counts a relative sleep of the realtime clock on the
                    // monotonic clock; if the realtime clock is set meanwhile, the
                    // sleep may end early.
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
