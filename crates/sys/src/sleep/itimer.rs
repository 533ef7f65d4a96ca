//! setitimer(2) with a signal handler.

use std::sync::atomic::{AtomicI32, Ordering};

use tactus_model::time::{Instant, Monotonic, Nanos};

use crate::clock;
use crate::error::{Errno, SysError};
use crate::sleep::arrival::Arrival;
use crate::sleep::signal::{self, Blocked};
use crate::sleep::{Alarm, LOST_AFTER, Sleeper, lost};

/// The thread that owns the process's timer; zero if none does.
static OWNER: AtomicI32 = AtomicI32::new(0);
/// When the handler last ran in that thread.
static ARRIVAL: Arrival = Arrival::new();

/// Waits for the handler of `SIGALRM`, sent by `ITIMER_REAL` of
/// [setitimer(2)](https://man7.org/linux/man-pages/man2/setitimer.2.html).
///
/// A process has one such timer, with microsecond resolution and a relative time. Its
/// signal goes to any thread of the process that does not block it, whose handler
/// passes it on; a measured process therefore has a single thread.
#[doc(alias = "setitimer")]
#[doc(alias = "SIGALRM")]
pub struct Itimer {
    blocked: Blocked,
    /// Whether the signal may interrupt the thread at any time.
    open: bool,
    /// The last known time; it bounds the wait without reading the clock.
    last: Instant<Monotonic>,
}

impl Itimer {
    /// Takes the process's timer for the calling thread, and installs the handler.
    ///
    /// # Errors
    /// `EBUSY`: another thread owns the timer.
    pub fn new() -> Result<Self, SysError> {
        let blocked = Blocked::new(libc::SIGALRM)?;
        let thread = rustix::thread::gettid().as_raw_nonzero().get();
        OWNER
            .compare_exchange(0, thread, Ordering::AcqRel, Ordering::Acquire)
            .map_err(|_| SysError::new("setitimer", Errno::BUSY))?;
        // Created before the handler, so that an error releases the timer.
        let timer = Self { blocked, open: false, last: clock::now() };
        // SAFETY: the handler reads a clock, stores to an atomic, and makes the
        // system calls gettid and tgkill.
        unsafe { signal::install(libc::SIGALRM, ring)? };
        Ok(timer)
    }

    fn set(&mut self, due: Instant<Monotonic>) -> Result<(), SysError> {
        ARRIVAL.clear();
        self.last = clock::now();
        set(due - self.last)
    }
}

/// Sets the process's timer to expire once after `length`, rounded up to whole
/// microseconds; at least one, since zero would disarm the timer.
fn set(length: Nanos) -> Result<(), SysError> {
    let micros = length.as_nanos().div_ceil(1_000).max(1);
    write(libc::timeval { tv_sec: (micros / 1_000_000) as _, tv_usec: (micros % 1_000_000) as _ })
}

fn write(value: libc::timeval) -> Result<(), SysError> {
    let once = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let setting = libc::itimerval { it_interval: once, it_value: value };
    // SAFETY: the setting is live; a null pointer discards the old value.
    let returned = unsafe { libc::setitimer(libc::ITIMER_REAL, &setting, std::ptr::null_mut()) };
    SysError::check("setitimer", returned).map(drop)
}

/// Stamps the arrival in the waiting thread, or passes the signal on.
extern "C" fn ring(signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    let now = clock::read(libc::CLOCK_MONOTONIC);
    // SAFETY: the kernel passes the information of the signal.
    let code = unsafe { (*info).si_code };
    // From the timer, or passed on by another thread; other signals are not ours.
    if code != libc::SI_KERNEL && code != libc::SI_TKILL {
        return;
    }
    let owner = OWNER.load(Ordering::Acquire);
    // SAFETY: gettid, getpid and tgkill take and return integers.
    unsafe {
        if libc::syscall(libc::SYS_gettid) == libc::c_long::from(owner) {
            ARRIVAL.stamp(now);
        } else if owner != 0 {
            libc::syscall(libc::SYS_tgkill, libc::getpid(), owner, signal);
        }
    }
}

impl Sleeper<Monotonic> for Itimer {
    #[inline]
    fn sleep_until(&mut self, due: Instant<Monotonic>) -> Result<Instant<Monotonic>, SysError> {
        if self.open {
            self.blocked.block()?;
            self.open = false;
        }
        self.set(due)?;
        loop {
            let handled = self.blocked.pause((due - self.last) + LOST_AFTER)?;
            if let Some(came) = ARRIVAL.get() {
                return Ok(came);
            }
            if !handled {
                return Err(lost("setitimer"));
            }
        }
    }
}

impl Alarm<Monotonic> for Itimer {
    #[inline]
    fn arm(&mut self, due: Instant<Monotonic>) -> Result<(), SysError> {
        if !self.open {
            self.blocked.unblock()?;
            self.open = true;
        }
        self.set(due)
    }

    #[inline]
    fn rang(&self) -> Option<Instant<Monotonic>> {
        ARRIVAL.get()
    }
}

impl Drop for Itimer {
    fn drop(&mut self) {
        // Disarming our own timer with a valid setting does not fail.
        let _ = write(libc::timeval { tv_sec: 0, tv_usec: 0 });
        OWNER.store(0, Ordering::Release);
    }
}
