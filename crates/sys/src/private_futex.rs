//! A word on which threads of this process wait:
//! [futex(2)](https://man7.org/linux/man-pages/man2/futex.2.html).

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::thread::futex;
use tactus_model::time::{Instant, Monotonic, Nanos};

use crate::error::{Errno, SysError};
use crate::timespec::rustix_timespec;

/// A signal from any thread of the process to one that waits. No other process can wait on it, so
/// none can make the signal slow.
#[doc(alias = "FUTEX_WAKE")]
#[derive(Debug, Default)]
pub struct Signal(AtomicU32);

impl Signal {
    /// Wakes the waiting thread, now or when it next waits. Never waits itself; without effect,
    /// and without a system call, while an earlier signal was not taken.
    pub fn send(&self) {
        if self.0.swap(1, Ordering::AcqRel) == 0 {
            // It cannot fail: the word is private and aligned.
            let _ = futex::wake(&self.0, futex::Flags::PRIVATE, 1);
        }
    }

    /// Takes the signal, if one was sent.
    pub fn take(&self) -> bool {
        self.0.swap(0, Ordering::AcqRel) != 0
    }

    /// Waits for a signal, until `due` if it is given; an interruption may end the wait too. Returns
    /// whether a signal was taken.
    ///
    /// # Errors
    /// None according to the man page.
    pub fn wait(&self, due: Option<Instant<Monotonic>>) -> Result<bool, SysError> {
        let due = due.map(|due| rustix_timespec(Nanos::from_nanos(due.as_nanos())));
        let flags = futex::Flags::PRIVATE;
        let waited = futex::wait_bitset(&self.0, flags, 0, due.as_ref(), NonZeroU32::MAX);
        match waited {
            Ok(()) | Err(Errno::AGAIN | Errno::INTR | Errno::TIMEDOUT) => Ok(self.take()),
            Err(errno) => Err(SysError::new("futex", errno)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_taken_once_before_or_after_the_wait_begins() {
        let signal = std::sync::Arc::new(Signal::default());
        let past = Some(Instant::from_nanos(1));
        assert_eq!(signal.wait(past), Ok(false));
        signal.send();
        signal.send();
        assert_eq!((signal.wait(None), signal.wait(past)), (Ok(true), Ok(false)));
        let sender = std::sync::Arc::clone(&signal);
        let thread = std::thread::spawn(move || sender.send());
        while signal.wait(None) != Ok(true) {}
        thread.join().unwrap();
    }
}
