//! A timer whose signal goes to one thread.

use std::marker::PhantomData;

use tactus_model::time::{Clock, Instant, Nanos};

use crate::clock;
use crate::error::SysError;
use crate::timespec::timespec;

/// A timer of [timer_create(2)](https://man7.org/linux/man-pages/man2/timer_create.2.html)
/// with `SIGEV_THREAD_ID`: it signals the thread that made it.
#[derive(Debug)]
pub(super) struct ThreadTimer<C: Clock> {
    timer: libc::timer_t,
    clock: PhantomData<C>,
}

impl<C: Clock> ThreadTimer<C> {
    /// Makes a timer that sends `signal` with `value` to the calling thread.
    pub(super) fn new(signal: libc::c_int, value: *const libc::c_void) -> Result<Self, SysError> {
        // SAFETY: `sigevent` is a plain structure for which zeroes are valid.
        let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = signal;
        event.sigev_value = libc::sigval { sival_ptr: value.cast_mut() };
        event.sigev_notify_thread_id = rustix::thread::gettid().as_raw_nonzero().get();
        let mut timer: libc::timer_t = std::ptr::null_mut();
        // SAFETY: `event` is complete and `timer` is valid for the write.
        let returned = unsafe { libc::timer_create(clock::id(C::NAME), &mut event, &mut timer) };
        SysError::check("timer_create", returned)?;
        Ok(Self { timer, clock: PhantomData })
    }

    /// Sets the timer to expire once, at `due`:
    /// [timer_settime(2)](https://man7.org/linux/man-pages/man2/timer_settime.2.html).
    #[inline]
    pub(super) fn arm(&self, due: Instant<C>) -> Result<(), SysError> {
        let setting = libc::itimerspec {
            it_interval: timespec(Nanos::ZERO),
            // Zero would disarm it.
            it_value: timespec(Nanos::from_nanos(due.as_nanos().max(1))),
        };
        // SAFETY: the timer lives as long as `self`, and the setting is live.
        let returned = unsafe {
            libc::timer_settime(self.timer, libc::TIMER_ABSTIME, &setting, std::ptr::null_mut())
        };
        SysError::check("timer_settime", returned).map(drop)
    }
}

impl<C: Clock> Drop for ThreadTimer<C> {
    fn drop(&mut self) {
        // SAFETY: the timer was made by `new` and is deleted once.
        unsafe { libc::timer_delete(self.timer) };
    }
}
