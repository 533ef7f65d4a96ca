//! Threads: their numbers and names.

use std::ffi::CString;

use tactus_model::recording::ThreadId;

use crate::error::{Errno, SysError};

/// The kernel's number of the calling thread:
/// [gettid(2)](https://man7.org/linux/man-pages/man2/gettid.2.html).
#[doc(alias = "gettid")]
pub fn current_id() -> ThreadId {
    ThreadId(rustix::thread::gettid().as_raw_nonzero().get())
}

/// The number by which system calls mean the calling thread.
pub(crate) const CALLING: i32 = 0;

/// The number of another thread, as `call` takes it. A number that no thread has is
/// refused here: some of them have a meaning of their own to the kernel.
pub(crate) fn number(call: &'static str, thread: ThreadId) -> Result<i32, SysError> {
    if thread.0 > 0 { Ok(thread.0) } else { Err(SysError::new(call, Errno::SRCH)) }
}

/// The longest name of a thread, in bytes: `TASK_COMM_LEN` without its end.
#[doc(alias = "TASK_COMM_LEN")]
pub const NAME_MAX: usize = 15;

/// Names the calling thread, by which `ps`, recordings and perf then show it: `PR_SET_NAME` of
/// [prctl(2)](https://man7.org/linux/man-pages/man2/PR_SET_NAME.2const.html).
///
/// The name of a process is that of its first thread. Of a name longer than [`NAME_MAX`]
/// the beginning is taken.
///
/// # Errors
/// `EINVAL`: the name contains a zero byte.
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
    fn a_thread_bears_its_name_or_what_fits_of_it() {
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
