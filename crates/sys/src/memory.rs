//! Memory that is resident before a measurement starts.

use std::collections::TryReserveError;

use rustix::mm::MlockAllFlags;
use tactus_model::sample::Sample;

use crate::error::SysError;

/// The pages that [`lock`] keeps in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// All pages of the present mappings; they are brought in at once.
    #[doc(alias = "MCL_CURRENT")]
    Present,
    /// Those, and all pages of later mappings, brought in when they are mapped.
    ///
    /// With a limit (`RLIMIT_MEMLOCK`), a later mapping beyond it fails, so an
    /// allocation may fail.
    #[doc(alias = "MCL_FUTURE")]
    PresentAndFuture,
    /// Those, but each page only once it is first touched.
    #[doc(alias = "MCL_ONFAULT")]
    OnceTouched,
}

/// Keeps the pages of the process in memory:
/// [mlockall(2)](https://man7.org/linux/man-pages/man2/mlock.2.html).
///
/// # Errors
/// - `ENOMEM`: more memory is mapped than `RLIMIT_MEMLOCK` allows.
/// - `EPERM`: the limit is zero and the process does not have `CAP_IPC_LOCK`.
#[doc(alias = "mlockall")]
pub fn lock(what: Lock) -> Result<(), SysError> {
    let flags = match what {
        Lock::Present => MlockAllFlags::CURRENT,
        Lock::PresentAndFuture => MlockAllFlags::CURRENT | MlockAllFlags::FUTURE,
        Lock::OnceTouched => {
            MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT
        }
    };
    rustix::mm::mlockall(flags).map_err(SysError::of("mlockall"))
}

/// Allows pages to be paged out again:
/// [munlockall(2)](https://man7.org/linux/man-pages/man2/mlock.2.html).
#[doc(alias = "munlockall")]
pub fn unlock() -> Result<(), SysError> {
    rustix::mm::munlockall().map_err(SysError::of("munlockall"))
}

/// How much of the stack [`touch_stack`] touches: more than a measured loop uses, less
/// than the stack that any C library gives a thread.
const STACK_TOUCHED: usize = 64 << 10;

/// Touches the part of the calling thread's stack that it will use, so that there is no
/// page fault within a measurement.
#[inline(never)]
pub fn touch_stack() {
    let mut stack = [0_u8; STACK_TOUCHED];
    // The compiler must assume that the bytes are used, or it removes them.
    std::hint::black_box(stack.as_mut_slice());
}

/// Allocates memory for `capacity` samples and touches all of it; the vector is empty.
///
/// # Errors
/// There is not enough memory.
pub fn touched_samples(capacity: usize) -> Result<Vec<Sample>, TryReserveError> {
    let mut samples = Vec::new();
    samples.try_reserve_exact(capacity)?;
    // A value other than zero: the kernel could keep zeroes in its zero page.
    let filler = Sample { due: tactus_model::time::Nanos::MAX, ..Sample::default() };
    samples.resize(capacity, filler);
    std::hint::black_box(samples.as_mut_slice());
    samples.clear();
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_need_no_page_fault_once_their_memory_is_touched() {
        touch_stack();
        let mut samples = touched_samples(100_000).unwrap();
        let before = crate::usage::of_this_thread().unwrap();
        while samples.len() < samples.capacity() {
            samples.push(Sample::default());
        }
        let faults = crate::usage::of_this_thread().unwrap().minor_faults - before.minor_faults;
        // 1.6 MB are 390 pages; a few faults may come from elsewhere in the process.
        assert!(faults < 20, "{faults} page faults");
    }

    #[test]
    fn too_large_an_allocation_is_an_error() {
        assert!(touched_samples(usize::MAX / 32).is_err());
    }
}
