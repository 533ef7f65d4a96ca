//! What the library knows of the calling thread, if it has started it.

use std::cell::RefCell;

use tactus_rt::{Overrun, OwnThread, Pace};

use crate::failure::Failure;

/// A thread of the library.
pub(crate) struct Own {
    pub(crate) thread: OwnThread,
    pub(crate) overrun: Overrun,
    pub(crate) pace: Option<Pace>,
}

thread_local! {
    static OWN: RefCell<Option<Own>> = const { RefCell::new(None) };
}

/// Runs `body` as a thread of the library.
pub(crate) fn run<R>(own: Own, body: impl FnOnce() -> R) -> R {
    OWN.set(Some(own));
    let result = body();
    // The last job ends in its thread.
    OWN.take();
    result
}

/// Uses what is known of the calling thread.
pub(crate) fn with<R>(body: impl FnOnce(&mut Own) -> Result<R, Failure>) -> Result<R, Failure> {
    OWN.with_borrow_mut(|own| {
        body(own.as_mut().ok_or(Failure::new(
            libc::EPERM,
            c"the calling thread was not started by trt_thread_create",
        ))?)
    })
}

/// Whether the calling thread was asked to end.
pub(crate) fn is_ending() -> bool {
    OWN.with_borrow(|own| own.as_ref().is_some_and(|own| own.thread.is_ending()))
}
