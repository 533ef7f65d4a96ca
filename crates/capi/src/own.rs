//! What the library knows of the calling thread, if it has started it.

use std::cell::RefCell;
use std::ptr::NonNull;

use tactus_lint::{Guard, Lint, Section};
use tactus_rt::{Overrun, OwnThread, Pace};

use crate::failure::Failure;

/// A thread of the library.
pub(crate) struct Own {
    pub(crate) thread: OwnThread,
    pub(crate) overrun: Overrun,
    pub(crate) pace: Option<Pace>,
    pub(crate) watch: Option<Watch>,
}

thread_local! {
    static OWN: RefCell<Option<Own>> = const { RefCell::new(None) };
}

/// Runs `body` as a thread of the library.
pub(crate) fn run<R>(own: Own, body: impl FnOnce() -> R) -> R {
    OWN.set(Some(own));
    let result = body();
    // The guard ends in its thread.
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

/// Runs a part of the library that may wake others: it belongs to no real-time section.
pub(crate) fn outside<R>(body: impl FnOnce() -> R) -> R {
    let watch = |change: fn(&mut Watch) -> bool| {
        OWN.with_borrow_mut(|own| {
            own.as_mut().and_then(|own| own.watch.as_mut()).is_some_and(change)
        })
    };
    let was_inside = watch(Watch::leave);
    let result = body();
    if was_inside {
        watch(Watch::enter);
    }
    result
}

/// Watches the sections of the calling thread, each from the return of one wait to the next.
pub(crate) struct Watch {
    section: Option<Section<'static>>,
    /// Owned, and borrowed by the section.
    guard: NonNull<Guard>,
}

impl Watch {
    pub(crate) fn new(lint: &Lint) -> Result<Self, Failure> {
        let guard = lint.guard().map_err(|error| Failure::because(libc::EPERM, error))?;
        Ok(Self { section: None, guard: NonNull::from(Box::leak(Box::new(guard))) })
    }

    /// Enters a section. Returns whether the thread was outside.
    pub(crate) fn enter(&mut self) -> bool {
        let was_outside = self.section.is_none();
        if was_outside {
            // SAFETY: the guard lives until `drop`, which ends the section first; no other
            // reference to it exists, because there is no section.
            let guard: &'static mut Guard = unsafe { self.guard.as_mut() };
            self.section = Some(guard.enter());
        }
        was_outside
    }

    /// Leaves the section. Returns whether the thread was inside one.
    pub(crate) fn leave(&mut self) -> bool {
        self.section.take().is_some()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.section = None;
        // SAFETY: `new` leaked this box, and nothing refers to it any more.
        drop(unsafe { Box::from_raw(self.guard.as_ptr()) });
    }
}
