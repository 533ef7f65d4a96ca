//! Errors as C programs get them: a number, and a sentence.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tactus_sys::SysError;

/// Why a call failed.
#[derive(Debug)]
pub(crate) struct Failure {
    errno: c_int,
    text: Cow<'static, CStr>,
}

impl Failure {
    /// A failure that a real-time thread may meet: it allocates nothing.
    pub(crate) const fn new(errno: c_int, text: &'static CStr) -> Self {
        Self { errno, text: Cow::Borrowed(text) }
    }

    /// A failure whose text is made now.
    pub(crate) fn because(errno: c_int, reason: impl Display) -> Self {
        let text = CString::new(reason.to_string().replace('\0', "?")).unwrap_or_default();
        Self { errno, text: Cow::Owned(text) }
    }
}

impl From<SysError> for Failure {
    fn from(error: SysError) -> Self {
        Self::because(error.errno.raw_os_error(), error)
    }
}

thread_local! {
    static LAST: RefCell<Cow<'static, CStr>> = const { RefCell::new(Cow::Borrowed(c"no error")) };
}

/// Runs the body of a C function. A failure becomes its negative number, and its text is kept for
/// [`trt_error`]; so does a panic.
pub(crate) fn call<N: From<c_int>>(body: impl FnOnce() -> Result<N, Failure>) -> N {
    let result = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        Err(Failure::new(libc::EIO, c"internal error of the library; fix: please report it"))
    });
    result.unwrap_or_else(|Failure { errno, text }| {
        // A thread that ends has no memory for it any more.
        let _ = LAST.try_with(|last| last.replace(text));
        N::from(-errno)
    })
}

/// Returns why the last call of this thread that failed did, in a sentence, with the fix. The text
/// is valid until the next call of this thread fails.
#[unsafe(no_mangle)]
pub extern "C" fn trt_error() -> *const c_char {
    last_text()
}

/// The text of the last failure of this thread.
pub(crate) fn last_text() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"no error".as_ptr())
}
