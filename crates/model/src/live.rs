//! Samples that are read while the measurement runs.

use crate::sample::Sample;

/// The samples of one task since the last batch.
///
/// As for a whole window, every due time that has passed is in `samples`, missed, or dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// The task's number, counted from 0.
    pub task: u32,
    /// The wakeups, in order.
    pub samples: Vec<Sample>,
    /// Due times that passed while the task was still late, each with the arrival that ended
    /// the delay.
    pub missed: Vec<Sample>,
    /// Due times missed around dropped samples; only their number is known.
    pub missed_unsampled: u64,
    /// Wakeups that were lost because the samples were not fetched in time.
    pub dropped: u64,
}

impl Batch {
    /// The number of due times in this batch.
    pub fn intended(&self) -> u64 {
        let known = self.samples.len() + self.missed.len();
        known as u64 + self.missed_unsampled + self.dropped
    }
}
