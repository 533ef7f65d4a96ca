//! A timer_create(2) timer whose signal is taken by sigwaitinfo(2).

use tactus_model::time::{Clock, Instant};

use crate::clock;
use crate::error::SysError;
use crate::sleep::signal::{self, Blocked};
use crate::sleep::thread_timer::ThreadTimer;
use crate::sleep::{LOST_AFTER, Sleeper};

/// Sleeps until the signal of a timer of
/// [timer_create(2)](https://man7.org/linux/man-pages/man2/timer_create.2.html) can be
/// taken by [sigtimedwait(2)](https://man7.org/linux/man-pages/man2/sigwaitinfo.2.html).
#[doc(alias = "timer_create")]
#[doc(alias = "sigwaitinfo")]
pub struct PosixTimer<C: Clock> {
    // Dropped in this order: no signal may come after the pending one is taken away.
    timer: ThreadTimer<C>,
    blocked: Blocked,
    /// The last known time; it bounds the wait without reading the clock.
    last: Instant<C>,
}

impl<C: Clock> PosixTimer<C> {
    /// Makes a timer for the calling thread and blocks its signal there.
    ///
    /// # Errors
    /// `EAGAIN`: the user has `RLIMIT_SIGPENDING` signals queued.
    pub fn new() -> Result<Self, SysError> {
        let blocked = Blocked::new(signal::awaited())?;
        let timer = ThreadTimer::new(signal::awaited(), std::ptr::null())?;
        Ok(Self { timer, blocked, last: clock::now() })
    }
}

impl<C: Clock> Sleeper<C> for PosixTimer<C> {
    #[inline]
    fn sleep_until(&mut self, due: Instant<C>) -> Result<Instant<C>, SysError> {
        self.timer.arm(due)?;
        self.blocked.take((due - self.last) + LOST_AFTER)?;
        self.last = clock::now();
        Ok(self.last)
    }
}
