//! The CPU time of one thread.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use tactus_model::recording::ThreadId;
use tactus_model::time::Nanos;

use super::attr::Attr;
use super::open_for_thread;
use super::ring::Ring;
use crate::error::{Errno, SysError};
use crate::thread;

/// `_IOW('$', 4, __u64)`
const IOC_PERIOD: libc::c_ulong = 0x4008_2404;

/// The size of the ring of a [`Budget`], whose records are 16 bytes: the largest page.
const RING: usize = 1 << 16;

/// Counts the CPU time that one thread uses from now on, to the nanosecond, even while it runs:
/// `PERF_COUNT_SW_TASK_CLOCK` of
/// [perf_event_open(2)](https://man7.org/linux/man-pages/man2/perf_event_open.2.html).
#[doc(alias = "PERF_COUNT_SW_TASK_CLOCK")]
#[derive(Debug)]
pub struct ThreadClock(OwnedFd);

impl ThreadClock {
    /// Starts to count.
    ///
    /// # Errors
    /// - `EACCES` or `EPERM`: the thread belongs to another user, or `kernel.perf_event_paranoid`
    ///   is above 2, and the process does not have CAP_PERFMON.
    /// - `ESRCH`: the thread does not exist.
    /// - `EMFILE`: too many open files.
    pub fn start(thread: ThreadId) -> Result<Self, SysError> {
        Self::open(thread, Attr::task_clock(0))
    }

    fn open(thread: ThreadId, attr: Attr) -> Result<Self, SysError> {
        let thread = thread::number("perf_event_open", thread)?;
        match open_for_thread(thread, attr) {
            Err(error) if [Errno::ACCESS, Errno::PERM].contains(&error.errno) => {
                open_for_thread(thread, attr.of_user_mode())
            }
            opened => opened,
        }
        .map(Self)
    }

    /// The CPU time since the start.
    ///
    /// # Errors
    /// None known for a valid event.
    pub fn read(&self) -> Result<Nanos, SysError> {
        let mut word = [0; 8];
        match rustix::io::read(&self.0, &mut word).map_err(SysError::of("read"))? {
            8 => Ok(Nanos::from_nanos(u64::from_ne_bytes(word))),
            _ => Err(SysError::new("read", Errno::IO)),
        }
    }
}

/// An amount of CPU time of one thread. Its descriptor becomes readable each time the thread has
/// used the amount, about 20 µs later; see [`wait()`](crate::wait::wait).
#[derive(Debug)]
pub struct Budget {
    clock: ThreadClock,
    ring: Ring,
}

impl Budget {
    /// Starts with the whole amount, which must not be zero.
    ///
    /// # Errors
    /// Those of [`ThreadClock::start`], and `EPERM`: the ring would lock more memory than allowed.
    pub fn start(thread: ThreadId, amount: Nanos) -> Result<Self, SysError> {
        let clock = ThreadClock::open(thread, Attr::task_clock(amount.as_nanos()))?;
        let ring = Ring::map(&clock.0, RING)?;
        Ok(Self { clock, ring })
    }

    /// Gives the thread the whole amount again, from now on.
    ///
    /// # Errors
    /// `EINVAL`: the amount is zero.
    #[doc(alias = "PERF_EVENT_IOC_PERIOD")]
    pub fn refill(&self, amount: Nanos) -> Result<(), SysError> {
        let amount = amount.as_nanos();
        // SAFETY: the request reads one 64-bit number, which lives through the call.
        let returned = unsafe {
            libc::ioctl(self.clock.0.as_raw_fd(), IOC_PERIOD as libc::Ioctl, &raw const amount)
        };
        SysError::check("ioctl", returned).map(drop)
    }

    /// Whether the thread has used the amount since the last call.
    pub fn is_used_up(&mut self) -> bool {
        self.ring.drain(|_| ()).records > 0
    }
}

impl AsFd for Budget {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.clock.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use tactus_testing::{Need, require};

    use super::*;
    use crate::wait::wait_readable;

    /// Uses CPU time of the calling thread.
    fn compute(time: Duration) {
        let before = crate::usage::of_this_thread().unwrap().cpu_time;
        while crate::usage::of_this_thread().unwrap().cpu_time - before < Nanos::from(time) {}
    }

    #[test]
    fn a_clock_counts_the_time_on_a_cpu_and_none_of_a_sleep() {
        let clock = ThreadClock::start(thread::current_id());
        let Some(clock) = require(Need::Perf, clock) else { return };
        compute(Duration::from_millis(20));
        let used = clock.read().unwrap();
        let asleep = Instant::now();
        std::thread::sleep(Duration::from_millis(50));
        let slept = clock.read().unwrap() - used;
        assert!(used >= Nanos::from_millis(15), "{used}");
        assert!(slept < Nanos::from(asleep.elapsed()), "{slept}");
        let nobody = ThreadClock::start(ThreadId(i32::MAX)).map(drop);
        assert_eq!(nobody, Err(SysError::new("perf_event_open", Errno::SRCH)));
    }

    #[test]
    fn a_budget_wakes_its_reader_when_it_is_used_up_and_again_when_refilled() {
        let amount = Nanos::from_millis(5);
        let budget = Budget::start(thread::current_id(), amount);
        let Some(mut budget) = require(Need::Perf, budget) else { return };
        assert!(!budget.is_used_up());
        for _ in 0..2 {
            compute(Duration::from_millis(9));
            assert!(wait_readable(budget.as_fd(), Duration::from_secs(10)).unwrap());
            assert!(budget.is_used_up());
            budget.refill(amount).unwrap();
            assert!(!budget.is_used_up());
        }
    }
}
