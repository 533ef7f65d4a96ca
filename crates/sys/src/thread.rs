//! The calling thread.

use tactus_model::recording::ThreadId;

/// The kernel's number of the calling thread:
/// [gettid(2)](https://man7.org/linux/man-pages/man2/gettid.2.html).
#[doc(alias = "gettid")]
pub fn current_id() -> ThreadId {
    ThreadId(rustix::thread::gettid().as_raw_nonzero().get())
}
