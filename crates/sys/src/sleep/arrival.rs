//! Where a signal handler leaves the time at which it ran.

use std::sync::atomic::{AtomicU64, Ordering};

use tactus_model::time::{Clock, Instant, Nanos};

/// The time at which a handler last ran, in nanoseconds of the sleeper's clock;
/// zero stands for "not yet", and no clock of ours still shows zero.
#[derive(Debug)]
pub(super) struct Arrival(AtomicU64);

impl Arrival {
    pub(super) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Forgets the last arrival, before the timer is set anew.
    #[inline]
    pub(super) fn clear(&self) {
        self.0.store(0, Ordering::Release);
    }

    /// Keeps the time; the first after [`Arrival::clear`] counts. Async-signal-safe.
    #[inline]
    pub(super) fn stamp(&self, now: Nanos) {
        // Failing means that an earlier time is already there.
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
