//! What a hostile peer attempts with memory that it maps: for the tests that prove that others do
//! not notice.

use std::sync::atomic::AtomicU32;
use std::time::Duration;

use rustix::mm::Advice;
use rustix::thread::futex::{self, Timespec};

use super::{ReadableWords, WritableWords};
use crate::error::{Errno, SysError};

impl WritableWords {
    /// Takes away the pages of all processes: `MADV_REMOVE` of
    /// [madvise(2)](https://man7.org/linux/man-pages/man2/madvise.2.html). The words are 0 then.
    ///
    /// # Errors
    /// `EINVAL`, `EPERM`, `EOPNOTSUPP`: the memory is protected.
    #[doc(alias = "MADV_REMOVE")]
    pub fn attempt_removal(&self) -> Result<(), SysError> {
        self.0.advise(Advice::LinuxRemove)
    }
}

impl ReadableWords {
    /// Moves the content into huge pages, which unmaps the small ones of all processes:
    /// `MADV_COLLAPSE` of [madvise(2)](https://man7.org/linux/man-pages/man2/madvise.2.html).
    ///
    /// # Errors
    /// `EINVAL`: the memory has no huge pages.
    #[doc(alias = "MADV_COLLAPSE")]
    pub fn attempt_collapse(&self) -> Result<(), SysError> {
        self.0.collapse()
    }

    /// Waits on the futex in the first word, for `patience` at most.
    ///
    /// # Errors
    /// `EFAULT`: the memory can have no futex.
    pub fn attempt_futex(&self, patience: Duration) -> Result<(), SysError> {
        // SAFETY: the mapping has at least one word, is aligned, and lives as long as `self`; the
        // load and the system call only read.
        let word: &AtomicU32 = unsafe { self.0.start.cast().as_ref() };
        let value = word.load(std::sync::atomic::Ordering::Relaxed);
        let timeout = Timespec {
            tv_sec: patience.as_secs().cast_signed(),
            tv_nsec: patience.subsec_nanos().into(),
        };
        match futex::wait(word, futex::Flags::empty(), value, Some(&timeout)) {
            Ok(()) | Err(Errno::AGAIN | Errno::INTR | Errno::TIMEDOUT) => Ok(()),
            Err(errno) => Err(SysError::new("futex", errno)),
        }
    }
}
