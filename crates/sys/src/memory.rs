//! Memory that is resident before a measurement starts.

use std::collections::TryReserveError;
use std::mem::MaybeUninit;

use rustix::mm::MlockAllFlags;
use tactus_model::bytes::Bytes;

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

/// The memory that programs can get before others lose some: `MemAvailable` of
/// [proc_meminfo(5)](https://man7.org/linux/man-pages/man5/proc_meminfo.5.html). `None` if it cannot
/// be read.
pub fn available() -> Option<Bytes> {
    let meminfo = std::fs::read_to_string("/proc/meminfo").ok()?;
    crate::facts::memory::kilobytes(&meminfo, "MemAvailable").map(Bytes::new)
}

/// Allows pages to be paged out again:
/// [munlockall(2)](https://man7.org/linux/man-pages/man2/mlock.2.html).
#[doc(alias = "munlockall")]
pub fn unlock() -> Result<(), SysError> {
    rustix::mm::munlockall().map_err(SysError::of("munlockall"))
}

/// The smallest page of any machine that Linux runs on, in bytes: touching each such stretch
/// touches every page.
const PAGE_MIN: usize = 4096;

/// Allocates memory for `capacity` values and touches all of it, so that filling it causes no
/// page fault; the vector is empty.
///
/// # Errors
/// There is not enough memory.
pub fn touched_vec<T>(capacity: usize) -> Result<Vec<T>, TryReserveError> {
    let mut values = Vec::new();
    values.try_reserve_exact(capacity)?;
    touch(values.spare_capacity_mut());
    Ok(values)
}

/// Writes to every page of memory that holds no values yet.
fn touch<T>(spare: &mut [MaybeUninit<T>]) {
    let length = size_of_val(spare);
    let start = spare.as_mut_ptr().cast::<u8>();
    let last = length.saturating_sub(1);
    for offset in (0..length).step_by(PAGE_MIN).chain((length > 0).then_some(last)) {
        // SAFETY: `offset` lies within `spare`, which is borrowed exclusively, and any byte may
        // be written where there is no value. The write is volatile, so the compiler keeps it;
        // a read would not do, because it may map the kernel's shared zero page.
        unsafe { start.add(offset).write_volatile(0) };
    }
}

#[cfg(test)]
mod tests {
    use tactus_model::sample::Sample;

    use super::*;

    fn faults() -> u64 {
        crate::usage::of_this_thread().unwrap().minor_faults
    }

    #[test]
    fn memory_that_was_touched_needs_no_page_fault() {
        let mut samples = touched_vec(100_000).unwrap();
        let before = faults();
        while samples.len() < samples.capacity() {
            samples.push(Sample::default());
        }
        let faults = faults() - before;
        // 1.6 MB are 390 pages; a few faults may come from elsewhere in the process.
        assert!(faults < 20, "{faults} page faults");
    }

    #[test]
    fn memory_of_size_zero_is_touched_too() {
        assert_eq!(touched_vec::<u64>(0).unwrap().capacity(), 0);
        assert_eq!(touched_vec::<()>(7).unwrap().len(), 0);
        assert!(touched_vec::<[u8; 5]>(4096).unwrap().capacity() >= 4096);
    }

    #[test]
    fn too_large_an_allocation_is_an_error() {
        assert!(touched_vec::<Sample>(usize::MAX / 32).is_err());
    }
}
