//! The timeout of ppoll(2).

use tactus_model::time::{Instant, Monotonic};

use crate::clock;
use crate::error::{Errno, SysError};
use crate::sleep::Sleeper;
use crate::timespec::timespec;

/// Sleeps in the timeout of [ppoll(2)](https://man7.org/linux/man-pages/man2/poll.2.html)
/// without descriptors, for the time from now to the due time.
#[doc(alias = "poll")]
#[derive(Clone, Copy, Debug)]
pub struct Ppoll;

impl Sleeper<Monotonic> for Ppoll {
    #[inline]
    fn sleep_until(&mut self, due: Instant<Monotonic>) -> Result<Instant<Monotonic>, SysError> {
        loop {
            let timeout = timespec(due - clock::now::<Monotonic>());
            // SAFETY: no descriptors are passed, the timeout is live, and a null
            // mask leaves the thread's signals as they are.
            let returned =
                unsafe { libc::ppoll(std::ptr::null_mut(), 0, &timeout, std::ptr::null()) };
            match SysError::check("ppoll", returned) {
                Ok(_) => return Ok(clock::now()),
                Err(SysError { errno: Errno::INTR, .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }
}
