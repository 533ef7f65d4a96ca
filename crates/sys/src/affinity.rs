//! The CPU affinity of a thread.

use tactus_model::cpus::CpuList;
use tactus_model::recording::ThreadId;

use crate::error::{Errno, SysError};
use crate::thread;

const WORD_BITS: u32 = u64::BITS;
const WORDS: usize = (CpuList::LIMIT / WORD_BITS) as usize;

/// A mask that is large enough for every Linux build, unlike `cpu_set_t`.
type Mask = [u64; WORDS];

/// Reads the CPUs on which the calling thread may run:
/// [sched_getaffinity(2)](https://man7.org/linux/man-pages/man2/sched_setaffinity.2.html).
#[doc(alias = "sched_getaffinity")]
pub fn get() -> Result<CpuList, SysError> {
    get_by_number(thread::CALLING)
}

/// Reads the CPUs on which another thread may run:
/// [sched_getaffinity(2)](https://man7.org/linux/man-pages/man2/sched_setaffinity.2.html).
///
/// # Errors
/// `ESRCH`: the thread does not exist.
#[doc(alias = "sched_getaffinity")]
pub fn get_of(thread: ThreadId) -> Result<CpuList, SysError> {
    get_by_number(thread::number("sched_getaffinity", thread)?)
}

fn get_by_number(thread: i32) -> Result<CpuList, SysError> {
    let mut mask: Mask = [0; WORDS];
    // SAFETY: `mask` is valid for the write of as many bytes as are passed.
    let returned = unsafe {
        libc::syscall(libc::SYS_sched_getaffinity, thread, size_of::<Mask>(), mask.as_mut_ptr())
    };
    SysError::check("sched_getaffinity", returned)?;
    let is_set = |cpu: &u32| mask[(cpu / WORD_BITS) as usize] >> (cpu % WORD_BITS) & 1 == 1;
    Ok((0..CpuList::LIMIT).filter(is_set).collect())
}

/// Restricts the calling thread to `cpus`:
/// [sched_setaffinity(2)](https://man7.org/linux/man-pages/man2/sched_setaffinity.2.html).
///
/// # Errors
/// - `EINVAL`: none of them is online and within the thread's cpuset.
/// - `EBUSY`, `EPERM`: the thread is under a deadline.
#[doc(alias = "sched_setaffinity")]
pub fn set(cpus: &CpuList) -> Result<(), SysError> {
    set_by_number(thread::CALLING, cpus)
}

/// Restricts another thread to `cpus`:
/// [sched_setaffinity(2)](https://man7.org/linux/man-pages/man2/sched_setaffinity.2.html).
///
/// # Errors
/// Those of [`set`], and:
/// - `ESRCH`: the thread does not exist.
/// - `EPERM`: the thread belongs to another user, and this process has no `CAP_SYS_NICE`.
#[doc(alias = "sched_setaffinity")]
pub fn set_of(thread: ThreadId, cpus: &CpuList) -> Result<(), SysError> {
    set_by_number(thread::number("sched_setaffinity", thread)?, cpus)
}

fn set_by_number(thread: i32, cpus: &CpuList) -> Result<(), SysError> {
    let mut mask: Mask = [0; WORDS];
    for cpu in cpus.iter() {
        let word = mask.get_mut((cpu / WORD_BITS) as usize);
        let word = word.ok_or(SysError::new("sched_setaffinity", Errno::INVAL))?;
        *word |= 1 << (cpu % WORD_BITS);
    }
    // SAFETY: `mask` is live and has the length that is passed.
    let returned = unsafe {
        libc::syscall(libc::SYS_sched_setaffinity, thread, size_of::<Mask>(), mask.as_ptr())
    };
    SysError::check("sched_setaffinity", returned).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_runs_where_it_was_put() {
        std::thread::spawn(|| {
            let last: CpuList = get().unwrap().iter().last().into_iter().collect();
            set(&last).unwrap();
            assert_eq!(get().unwrap(), last);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn an_empty_set_is_refused() {
        let returned = std::thread::spawn(|| set(&CpuList::default())).join().unwrap();
        assert_eq!(returned, Err(SysError::new("sched_setaffinity", Errno::INVAL)));
    }
}
