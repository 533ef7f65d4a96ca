//! What must add up before a result is stored.

use std::collections::{BTreeMap, BTreeSet};

use tactus_model::facts::MachineFacts;
use tactus_model::result::{Histogram, Measurement, TaskResult};
use tactus_model::sample::SampleBlock;

/// The greatest count that is kept: 2⁵³, up to which every reader of JSON is exact.
///
/// At a sample every nanosecond it is reached after a hundred days.
pub const COUNT_LIMIT: u64 = 1 << 53;

/// What does not add up in a result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Imbalance {
    /// The invariant of the whole project is broken.
    #[error(
        "task {task}: intended {intended} is not observed {observed} + missed {missed} + dropped {dropped}"
    )]
    Intended {
        /// The task's number.
        task: u32,
        /// Due times within the window.
        intended: u64,
        /// Wakeups kept.
        observed: u64,
        /// Due times that passed.
        missed: u64,
        /// Wakeups not kept.
        dropped: u64,
    },
    /// Two figures that must be the same are not.
    #[error("task {task}: {what} {found} is not {equal_to} {expected}")]
    Different {
        /// The task's number.
        task: u32,
        /// The one figure.
        what: &'static str,
        /// Its value.
        found: u64,
        /// The other figure.
        equal_to: &'static str,
        /// Its value.
        expected: u64,
    },
    /// A figure is beyond what it can be.
    #[error("task {task}: {what} {found} is more than {limit}")]
    Beyond {
        /// The task's number.
        task: u32,
        /// The figure.
        what: &'static str,
        /// Its value.
        found: u64,
        /// The most it can be.
        limit: u64,
    },
    /// The buckets of a histogram are not in ascending order, or one is empty.
    #[error("task {task}: the buckets of {what} are not ascending and filled")]
    Buckets {
        /// The task's number.
        task: u32,
        /// Which histogram.
        what: &'static str,
    },
    /// Two tasks have one number.
    #[error("task {0} stands there twice")]
    TwiceTheSameTask(u32),
    /// Samples name a task that has no result.
    #[error("there are samples of task {0} and no result of it")]
    SamplesWithoutTask(u32),
    /// A block of samples claims more than a block may hold, or cannot be read.
    #[error("task {task}: {reason}")]
    Samples {
        /// The task's number.
        task: u32,
        /// What is wrong.
        reason: String,
    },
    /// A figure is infinite or not a number, which JSON cannot say.
    #[error("{0} is not a finite number")]
    NotFinite(&'static str),
}
