//! The variable in which a signal handler stores its time.

use std::sync::atomic::{AtomicU64, Ordering};

use tactus_model::time::{Clock, Instant, Nanos};

/// The time at which a handler last ran, in nanoseconds of the sleeper's clock; zero
/// means "not yet", and none of our clocks still shows zero.
#[derive(Debug)]
pub(super) struct Arrival(AtomicU64);

impl Arrival {
    pub(super) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Clears the arrival before the timer is set again.
    #[inline]
    pub(super) fn clear(&self) {
        self.0.store(0, Ordering::Release);
    }

    /// Stores the time; only the first call after [`Arrival::clear`] counts.
    /// Async-signal-safe.
    #[inline]
    pub(super) fn stamp(&self, now: Nanos) {
        // A failure means that there is already an earlier time.
        let _ = self.0.compare_exchange(0, now.as_nanos(), Ordering::AcqRel, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn get<C: Clock>(&self) -> Option<Instant<C>> {
        match self.0.load(Ordering::Acquire) {
            0 => None,
            nanos => Some(Instant::from_nanos(nanos)),
        }
    }
}
