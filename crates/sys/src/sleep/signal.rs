//! The signals of timers, and whether the calling thread takes them.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use tactus_model::time::Nanos;

use crate::error::{Errno, SysError};
use crate::sleep::lost;
use crate::timespec::timespec;

/// The signal that sigwaitinfo(2) takes. C libraries reserve the first few real-time
/// signals, which `SIGRTMIN` accounts for.
pub(super) fn awaited() -> libc::c_int {
    libc::SIGRTMIN() + 1
}

/// The signal with a handler.
pub(super) fn handled() -> libc::c_int {
    libc::SIGRTMIN() + 2
}

/// One signal, blocked in the calling thread while this value lives.
///
/// Dropping it discards a pending signal and restores the thread's mask.
pub(super) struct Blocked {
    signal: libc::c_int,
    was_blocked: bool,
    /// The thread's mask with the signal unblocked.
    open: libc::sigset_t,
    /// A mask belongs to a thread, and so must the value.
    not_send: PhantomData<*const ()>,
}

impl Blocked {
    /// Blocks `signal` in the calling thread.
    pub(super) fn new(signal: libc::c_int) -> Result<Self, SysError> {
        let before = change_mask(libc::SIG_BLOCK, &only(signal))?;
        let mut open = before;
        // SAFETY: the kernel wrote both sets.
        let was_blocked = unsafe {
            libc::sigdelset(&mut open, signal);
            libc::sigismember(&before, signal) == 1
        };
        Ok(Self { signal, was_blocked, open, not_send: PhantomData })
    }

    /// Unblocks the signal, so that it may interrupt the thread at any time.
    pub(super) fn unblock(&self) -> Result<(), SysError> {
        change_mask(libc::SIG_UNBLOCK, &only(self.signal)).map(drop)
    }

    /// Blocks the signal again.
    pub(super) fn block(&self) -> Result<(), SysError> {
        change_mask(libc::SIG_BLOCK, &only(self.signal)).map(drop)
    }

    /// Takes the signal when it comes, for at most `bound`:
    /// [sigtimedwait(2)](https://man7.org/linux/man-pages/man2/sigwaitinfo.2.html).
    pub(super) fn take(&self, bound: Nanos) -> Result<(), SysError> {
        let (signals, bound) = (only(self.signal), timespec(bound));
        loop {
            // SAFETY: the set and the bound are live; a null pointer discards further
            // information.
            let returned = unsafe { libc::sigtimedwait(&signals, std::ptr::null_mut(), &bound) };
            match SysError::check("sigtimedwait", returned) {
                Ok(_) => return Ok(()),
                Err(SysError { errno: Errno::INTR, .. }) => {}
                Err(SysError { errno: Errno::AGAIN, .. }) => return Err(lost("sigtimedwait")),
                Err(error) => return Err(error),
            }
        }
    }

    /// Unblocks the signal and sleeps until a handler has run, for at most `bound`:
    /// [ppoll(2)](https://man7.org/linux/man-pages/man2/poll.2.html) does both in one step.
    ///
    /// Returns whether a handler ran; it may have been the handler of another signal.
    pub(super) fn pause(&self, bound: Nanos) -> Result<bool, SysError> {
        let bound = timespec(bound);
        // SAFETY: no descriptors are passed; the bound and the mask are live.
        let returned = unsafe { libc::ppoll(std::ptr::null_mut(), 0, &bound, &self.open) };
        match SysError::check("ppoll", returned) {
            Ok(_) => Ok(false),
            Err(SysError { errno: Errno::INTR, .. }) => Ok(true),
            Err(error) => Err(error),
        }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // Blocking a valid signal cannot fail, and a failure here could not be handled.
        let _ = self.block();
        while self.take(Nanos::ZERO).is_ok() {}
        if !self.was_blocked {
            let _ = self.unblock();
        }
    }
}

/// The type of a handler: see sigaction(2), `SA_SIGINFO`.
pub(super) type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);

/// Installs `handler` for `signal` in the whole process:
/// [sigaction(2)](https://man7.org/linux/man-pages/man2/sigaction.2.html).
///
/// # Safety
/// The handler must do only what signal-safety(7) allows.
pub(super) unsafe fn install(signal: libc::c_int, handler: Handler) -> Result<(), SysError> {
    // SAFETY: `sigaction` is a plain structure for which zeroes are valid.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as libc::sighandler_t;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
    action.sa_mask = empty();
    // SAFETY: `action` is complete; the caller guarantees the handler.
    let returned = unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) };
    SysError::check("sigaction", returned).map(drop)
}

fn empty() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigemptyset writes the whole set and cannot fail.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        set.assume_init()
    }
}

fn only(signal: libc::c_int) -> libc::sigset_t {
    let mut set = empty();
    // SAFETY: `set` is initialised and `signal` is a signal's number.
    unsafe { libc::sigaddset(&mut set, signal) };
    set
}

/// Changes the calling thread's mask and returns the old one.
fn change_mask(how: libc::c_int, set: &libc::sigset_t) -> Result<libc::sigset_t, SysError> {
    let mut before = empty();
    // SAFETY: both sets are live.
    let returned = unsafe { libc::pthread_sigmask(how, set, &mut before) };
    match returned {
        0 => Ok(before),
        errno => Err(SysError::new("pthread_sigmask", Errno::from_raw_os_error(errno))),
    }
}
