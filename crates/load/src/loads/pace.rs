//! Work at a rate.

use std::thread;
use std::time::{Duration, Instant};

use tactus_model::frames::Rate;

/// Due times at a rate. A delay shifts all later ones; nothing is caught up.
#[derive(Debug)]
pub(super) struct Pace {
    slot: Duration,
    next: Instant,
}

impl Pace {
    /// A pace whose first due time is now.
    pub(super) fn new(slot: Duration) -> Self {
        Self { slot, next: Instant::now() }
    }

    /// As many due times a second.
    pub(super) fn at(rate: Rate) -> Self {
        Self::new(rate.period().into())
    }

    /// Sleeps until the next due time.
    pub(super) fn wait(&mut self) {
        self.next = (self.next + self.slot).max(Instant::now());
        thread::sleep(self.next.saturating_duration_since(Instant::now()));
    }
}
