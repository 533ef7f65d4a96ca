//! Memory that is resident before a measurement starts.

use std::collections::TryReserveError;
use std::mem::MaybeUninit;
use std::path::Path;

use rustix::mm::MlockAllFlags;
use tactus_model::bytes::Bytes;

use crate::error::SysError;
use crate::facts::{Tree, memory, memory_limit};

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
/// [proc_meminfo(5)](https://man7.org/linux/man-pages/man5/proc_meminfo.5.html), or the limit of
/// [`total`] if that is lower. `None` if it cannot be read.
pub fn available() -> Option<Bytes> {
    within_limit(Path::new("/"), "MemAvailable")
}

/// The memory of this machine (`MemTotal`), or the lowest limit of the
/// [cgroups(7)](https://man7.org/linux/man-pages/man7/cgroups.7.html) of this process if that is
/// lower. `None` if it cannot be read.
#[doc(alias = "memory.max")]
pub fn total() -> Option<Bytes> {
    within_limit(Path::new("/"), "MemTotal")
}

/// A line of `/proc/meminfo` below `root`, but at most the limit of the control groups.
fn within_limit(root: &Path, line: &str) -> Option<Bytes> {
    let tree = Tree::new(root);
    let bytes = memory::kilobytes(&tree.text("proc/meminfo")?, line)?;
    Some(Bytes::new(memory_limit(&tree).map_or(bytes, |limit| bytes.min(limit))))
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
    fn the_lowest_limit_of_the_control_groups_counts() {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let total = || within_limit(root.path(), "MemTotal").map(Bytes::get);
        put("proc/meminfo", "MemTotal:  4096 kB\nMemAvailable:  1024 kB\n");
        assert_eq!(total(), Some(4 << 20));
        put("proc/self/cgroup", "0::/above/own\n");
        put("proc/self/mountinfo", "30 1 0:26 / /cgroup rw - cgroup2 cgroup2 rw\n");
        put("cgroup/above/memory.max", "2097152\n");
        put("cgroup/above/own/memory.max", "max\n");
        assert_eq!(total(), Some(2 << 20));
        assert_eq!(within_limit(root.path(), "MemAvailable"), Some(Bytes::new(1 << 20)));
        put("proc/self/cgroup", "4:memory:/own\n0::/\n");
        put("proc/self/mountinfo", "31 1 0:27 / /memory rw - cgroup cgroup rw,memory\n");
        put("memory/own/memory.limit_in_bytes", "1048576\n");
        put("memory/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(total(), Some(1 << 20));
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
