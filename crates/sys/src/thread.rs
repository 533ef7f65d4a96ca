//! Threads: their numbers and names.

use std::ffi::CString;

use tactus_model::recording::ThreadId;

use crate::error::{Errno, SysError};

/// The thread id of the calling thread:
/// [gettid(2)](https://man7.org/linux/man-pages/man2/gettid.2.html).
#[doc(alias = "gettid")]
pub fn current_id() -> ThreadId {
    ThreadId(rustix::thread::gettid().as_raw_nonzero().get())
}

/// The thread id by which system calls mean the calling thread.
pub(crate) const CALLING: i32 = 0;

/// The id of another thread, as `call` takes it. Ids that no thread can have are refused
/// here, because some of them have a special meaning to the kernel.
pub(crate) fn number(call: &'static str, thread: ThreadId) -> Result<i32, SysError> {
    if thread.0 > 0 { Ok(thread.0) } else { Err(SysError::new(call, Errno::SRCH)) }
}

/// The maximum length of a thread's name, in bytes: `TASK_COMM_LEN` without the NUL.
#[doc(alias = "TASK_COMM_LEN")]
pub const NAME_MAX: usize = 15;

/// Sets the calling thread's name, which `ps`, recordings and perf show: `PR_SET_NAME` of
/// [prctl(2)](https://man7.org/linux/man-pages/man2/PR_SET_NAME.2const.html).
///
/// The name of a process is the name of its first thread. The kernel truncates names longer
/// than [`NAME_MAX`].
///
/// # Errors
/// `EINVAL`: the name contains a NUL.
#[doc(alias = "PR_SET_NAME")]
pub fn set_name(name: &str) -> Result<(), SysError> {
    let fits = |end: &usize| name.is_char_boundary(*end);
    let end = (0..=name.len().min(NAME_MAX)).rev().find(fits).unwrap_or(0);
    let name = CString::new(&name[..end]).map_err(|_| SysError::new("prctl", Errno::INVAL))?;
    rustix::thread::set_name(&name).map_err(SysError::of("prctl"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_its_name_truncated_to_the_maximum() {
        for (name, shown) in [
            ("player/video", "player/video"),
            ("sixteen-letters-", "sixteen-letters"),
            ("fourteen-bytesµ", "fourteen-bytes"),
        ] {
            set_name(name).unwrap();
            let path = format!("/proc/self/task/{}/comm", current_id().0);
            assert_eq!(std::fs::read_to_string(path).unwrap().trim_end(), shown);
        }
        assert_eq!(set_name("a\0b"), Err(SysError::new("prctl", Errno::INVAL)));
    }
}
