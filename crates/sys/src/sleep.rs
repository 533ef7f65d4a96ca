//! The facilities by which a thread sleeps until a due time, one file for each.
//!
//! A [`Sleeper`] belongs to the thread that made it. Every sleeper goes back to sleep
//! after a signal that is not its own, and none waits forever if its own signal is
//! lost.

mod arrival;
mod futex;
mod io_uring;
mod itimer;
mod kernel_handler;
mod nanosleep;
mod nanosleep_relative;
mod posix_timer;
mod ppoll;
mod signal;
mod signal_handler;
mod thread_timer;
mod timerfd;

use tactus_model::time::{Clock, Instant, Nanos};

use crate::error::{Errno, SysError};

pub use futex::Futex;
pub use io_uring::IoUring;
pub use itimer::Itimer;
pub use kernel_handler::KernelHandler;
pub use nanosleep::Nanosleep;
pub use nanosleep_relative::NanosleepRelative;
pub use posix_timer::PosixTimer;
pub use ppoll::Ppoll;
pub use signal_handler::SignalHandler;
pub use timerfd::Timerfd;

/// Sleeps by one facility on one clock.
pub trait Sleeper<C: Clock> {
    /// Sleeps until `due` and returns the arrival, stamped immediately.
    ///
    /// A due time in the past returns at once. The arrival is never before `due` unless
    /// the clock was set.
    ///
    /// # Errors
    /// The facility failed, or its signal was lost (`ETIMEDOUT`).
    fn sleep_until(&mut self, due: Instant<C>) -> Result<Instant<C>, SysError>;
}

/// A sleeper with a signal handler that stamps the arrival, so the thread may compute
/// while it waits.
pub trait Alarm<C: Clock>: Sleeper<C> {
    /// Sets the timer to `due` and returns at once.
    fn arm(&mut self, due: Instant<C>) -> Result<(), SysError>;

    /// When the handler ran since the timer was last set; `None` if it has not run.
    fn rang(&self) -> Option<Instant<C>>;
}

/// How long after its due time a missing signal counts as lost: far longer than any
/// delay that goes unnoticed.
pub const LOST_AFTER: Nanos = Nanos::from_secs(10);

/// The error of a facility whose signal did not come within [`LOST_AFTER`].
pub const fn lost(call: &'static str) -> SysError {
    SysError::new(call, Errno::TIMEDOUT)
}

#[cfg(test)]
mod tests {
    use tactus_model::time::{Boottime, Monotonic, Realtime, Tai};

    use tactus_testing::{Need, skip};

    use super::*;
    use crate::clock;

    const STEP: Nanos = Nanos::from_micros(300);

    fn sleeps<C: Clock>(mut sleeper: impl Sleeper<C>) {
        let mut due = clock::now::<C>();
        for _ in 0..20 {
            due = due + STEP;
            let came = sleeper.sleep_until(due).unwrap();
            assert!(came >= due, "woke before it was due");
            assert!(came <= clock::now::<C>(), "stamped in the future");
        }
        let past = due - Nanos::from_millis(1);
        assert!(sleeper.sleep_until(past).unwrap() >= past, "a due time in the past");
    }

    fn rings<C: Clock>(mut alarm: impl Alarm<C>) {
        let mut due = clock::now::<C>();
        for _ in 0..20 {
            due = due + STEP;
            alarm.arm(due).unwrap();
            let came = loop {
                if let Some(came) = alarm.rang() {
                    break came;
                }
                assert!(clock::now::<C>() - due < LOST_AFTER, "the alarm was lost");
            };
            assert!(came >= due);
        }
        // Blocking and computing may alternate.
        let due = clock::now::<C>() + STEP;
        assert!(alarm.sleep_until(due).unwrap() >= due);
    }

    #[test]
    fn nanosleep_sleeps_by_every_clock() {
        sleeps::<Monotonic>(Nanosleep);
        sleeps::<Realtime>(Nanosleep);
        sleeps::<Tai>(Nanosleep);
        sleeps::<Boottime>(Nanosleep);
    }

    #[test]
    fn nanosleep_relative_sleeps_by_every_clock() {
        sleeps::<Monotonic>(NanosleepRelative);
        sleeps::<Realtime>(NanosleepRelative);
        sleeps::<Tai>(NanosleepRelative);
        sleeps::<Boottime>(NanosleepRelative);
    }

    #[test]
    fn timerfd_sleeps_by_its_clocks() {
        sleeps::<Monotonic>(Timerfd::new().unwrap());
        sleeps::<Realtime>(Timerfd::new().unwrap());
        sleeps::<Boottime>(Timerfd::new().unwrap());
        assert_eq!(
            Timerfd::<Tai>::new().err(),
            Some(SysError::new("timerfd_create", Errno::INVAL))
        );
    }

    #[test]
    fn posix_timer_sleeps_by_every_clock() {
        sleeps::<Monotonic>(PosixTimer::new().unwrap());
        sleeps::<Realtime>(PosixTimer::new().unwrap());
        sleeps::<Tai>(PosixTimer::new().unwrap());
        sleeps::<Boottime>(PosixTimer::new().unwrap());
    }

    #[test]
    fn signal_handler_sleeps_by_every_clock() {
        sleeps::<Monotonic>(SignalHandler::new().unwrap());
        sleeps::<Realtime>(SignalHandler::new().unwrap());
        sleeps::<Tai>(SignalHandler::new().unwrap());
        sleeps::<Boottime>(SignalHandler::new().unwrap());
    }

    #[test]
    fn signal_handler_interrupts_a_computing_thread() {
        rings::<Monotonic>(SignalHandler::new().unwrap());
        rings::<Realtime>(SignalHandler::new().unwrap());
    }

    #[test]
    fn itimer_sleeps_interrupts_and_is_one_a_process() {
        let first = Itimer::new().unwrap();
        assert_eq!(Itimer::new().err(), Some(SysError::new("setitimer", Errno::BUSY)));
        sleeps::<Monotonic>(first);
        rings::<Monotonic>(Itimer::new().unwrap());
    }

    #[test]
    fn futex_sleeps_by_its_clocks() {
        sleeps::<Monotonic>(Futex::new().unwrap());
        sleeps::<Realtime>(Futex::new().unwrap());
        assert_eq!(Futex::<Boottime>::new().err(), Some(SysError::new("futex", Errno::INVAL)));
    }

    #[test]
    fn kernel_handler_is_stamped_in_the_kernel() {
        let sleeper = tactus_testing::require(Need::Root, KernelHandler::new());
        sleeper.into_iter().for_each(sleeps::<Monotonic>);
    }

    #[test]
    fn ppoll_sleeps() {
        sleeps::<Monotonic>(Ppoll);
    }

    #[test]
    fn io_uring_sleeps_by_its_clocks_where_it_is_permitted() {
        match IoUring::<Monotonic>::new() {
            Ok(sleeper) => sleeps(sleeper),
            Err(error) => return skip(Need::Machine, error),
        }
        sleeps::<Realtime>(IoUring::new().unwrap());
        sleeps::<Boottime>(IoUring::new().unwrap());
        assert_eq!(
            IoUring::<Tai>::new().err(),
            Some(SysError::new("io_uring_setup", Errno::INVAL))
        );
    }

    #[test]
    fn threads_have_timers_of_their_own() {
        let threads: Vec<_> = (0..4)
            .map(|_| std::thread::spawn(|| sleeps::<Monotonic>(SignalHandler::new().unwrap())))
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
    }
}
