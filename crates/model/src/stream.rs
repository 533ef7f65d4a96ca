//! Samples that are looked at while they are measured.

use crate::sample::Sample;

/// What one task of a probe did since it was last looked at.
///
/// As for a whole window, every due time that has passed is one of `samples`, one
/// of the missed, or one of the dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// The task's number, counted from 0.
    pub task: u32,
    /// The wakeups, in order.
    pub samples: Vec<Sample>,
    /// Due times that passed while the task was still late, each with the arrival
    /// that ended its delay.
    pub missed: Vec<Sample>,
    /// Due times that were missed about when samples were dropped, so that nothing
    /// but their number is known.
    pub missed_untold: u64,
    /// Wakeups that were lost because nobody took the samples away in time.
    pub dropped: u64,
}

impl Batch {
    /// How many due times it tells of.
    pub fn intended(&self) -> u64 {
        let told = self.samples.len() + self.missed.len();
        told as u64 + self.missed_untold + self.dropped
    }
}
