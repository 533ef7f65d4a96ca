//! A timer_create(2) timer whose signal handler stamps the arrival.

use tactus_model::time::{Clock, Instant};

use crate::clock;
use crate::error::SysError;
use crate::sleep::arrival::Arrival;
use crate::sleep::signal::{self, Blocked};
use crate::sleep::thread_timer::ThreadTimer;
use crate::sleep::{Alarm, LOST_AFTER, Sleeper, lost};

/// The data of the handler, at a stable address.
#[derive(Debug)]
struct Bell {
    clock: libc::clockid_t,
    arrival: Arrival,
}

/// Waits for the handler of a timer's signal, which stamps the arrival:
/// [timer_create(2)](https://man7.org/linux/man-pages/man2/timer_create.2.html) with
/// `SIGEV_THREAD_ID` and [sigaction(2)](https://man7.org/linux/man-pages/man2/sigaction.2.html).
///
/// Each thread has its own timer, so any number of threads can use this facility at
/// once.
#[doc(alias = "timer_create")]
#[doc(alias = "sigaction")]
pub struct SignalHandler<C: Clock> {
    // Dropped in this order: the timer, then its pending signal, and only then the
    // memory that its signals point to.
    timer: ThreadTimer<C>,
    blocked: Blocked,
    bell: Box<Bell>,
    /// Whether the signal may interrupt the thread at any time.
    open: bool,
    /// The last known time; it bounds the wait without reading the clock.
    last: Instant<C>,
}

impl<C: Clock> SignalHandler<C> {
    /// Makes a timer for the calling thread, and installs the handler in the process.
    ///
    /// # Errors
    /// `EAGAIN`: the user has `RLIMIT_SIGPENDING` signals queued.
    pub fn new() -> Result<Self, SysError> {
        let blocked = Blocked::new(signal::handled())?;
        // SAFETY: the handler reads a clock and stores to an atomic.
        unsafe { signal::install(signal::handled(), ring)? };
        let bell = Box::new(Bell { clock: clock::id(C::NAME), arrival: Arrival::new() });
        let timer = ThreadTimer::new(signal::handled(), (&raw const *bell).cast())?;
        Ok(Self { timer, blocked, bell, open: false, last: clock::now() })
    }
}

/// Stamps the arrival in the `Bell` that the timer's value points to.
extern "C" fn ring(_signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: the kernel passes the information of the signal. Only signals of timers
    // are used: by construction their value points to a `Bell` that outlives them.
    // Signals from other processes have another code.
    unsafe {
        if (*info).si_code == libc::SI_TIMER {
            let bell: *const Bell = (*info).si_value().sival_ptr.cast();
            (*bell).arrival.stamp(clock::read((*bell).clock));
        }
    }
}

impl<C: Clock> Sleeper<C> for SignalHandler<C> {
    #[inline]
    fn sleep_until(&mut self, due: Instant<C>) -> Result<Instant<C>, SysError> {
        if self.open {
            self.blocked.block()?;
            self.open = false;
        }
        self.bell.arrival.clear();
        self.timer.arm(due)?;
        loop {
            let handled = self.blocked.pause((due - self.last) + LOST_AFTER)?;
            if let Some(came) = self.bell.arrival.get() {
                self.last = came;
                return Ok(came);
            }
            if !handled {
                return Err(lost("timer_settime"));
            }
        }
    }
}

impl<C: Clock> Alarm<C> for SignalHandler<C> {
    #[inline]
    fn arm(&mut self, due: Instant<C>) -> Result<(), SysError> {
        if !self.open {
            self.blocked.unblock()?;
            self.open = true;
        }
        self.bell.arrival.clear();
        self.timer.arm(due)
    }

    #[inline]
    fn rang(&self) -> Option<Instant<C>> {
        self.bell.arrival.get()
    }
}
