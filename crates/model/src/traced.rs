//! What a measurement found while the kernel's events were recorded.
//!
//! Recording costs time, so latency is told from a window without it and blame
//! from a second, shorter window with it, while the same load runs.

use serde::{Deserialize, Serialize};

use crate::recording::ThreadId;
use crate::result::{Accounting, Histogram};
use crate::sample::SampleBlock;
use crate::text::keywords;
use crate::time::{Instant, Monotonic, Nanos};

keywords! {
    /// Which of the kernel's events are recorded.
    pub enum TracedEvents: "choice of traced events" {
        /// All that explain latency, of the whole system.
        All = "all",
        /// Those on the way of a measured task's wakeup and what may stand in it:
        /// interrupts, softirqs, timers, transfers of block devices, and the scheduler's
        /// events of the measured tasks alone. They are few, so that they can be kept
        /// for long and disturb little. They tell segments, but not who ran instead.
        WakeupPath = "wakeup-path",
        /// Those that tell who ran where, how long and until what, of the whole system:
        /// the scheduler's, interrupts, softirqs and timers, without call chains and without
        /// system calls. They are enough for accounts of processor time, and cost a fraction
        /// of all where interrupts are many.
        Scheduling = "scheduling",
    }
}

impl TracedEvents {
    /// Whether they explain why a measured task was late.
    pub const fn tell_causes(self) -> bool {
        matches!(self, Self::All)
    }

    /// Whether they tell of every thread when it ran.
    pub const fn tell_who_ran(self) -> bool {
        matches!(self, Self::All | Self::Scheduling)
    }
}

/// The window of a measurement in which the kernel's events were recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedStretch {
    /// When it opened: the origin of its samples, whatever clock they were taken by.
    pub opened: Instant<Monotonic>,
    /// How long it was.
    pub window: Nanos,
    /// Whether it was taken before the window without recording; the turn's seed decides.
    pub came_first: bool,
    /// What each task found.
    pub tasks: Vec<TracedTask>,
    /// What the recording came to.
    pub recording: RecordingAccount,
}

/// What one task found while events were recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedTask {
    /// The task's number, the same as in the window without recording.
    pub task: u32,
    /// The thread that it was.
    pub thread: ThreadId,
    /// What became of every intended wakeup.
    pub accounting: Accounting,
    /// Latencies of the wakeups that took place.
    pub latencies: Histogram,
}

/// What became of the events of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordingAccount {
    /// Events that were recorded.
    pub events: u64,
    /// Events that were lost.
    pub lost: u64,
    /// Bytes that the recording takes, whether it was kept or found too large.
    pub bytes: u64,
}

/// What explains the samples of a traced stretch, kept beside its measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// The stretch's samples with their tasks' numbers, each task's in order.
    pub samples: Vec<(u32, SampleBlock)>,
    /// The recording, in the form of its files; empty when it was left out for its size.
    pub recording: Vec<u8>,
}

impl Evidence {
    /// The most bytes of a recording that are kept of one turn.
    pub const RECORDING_LIMIT: u64 = 32 << 20;

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty() && self.recording.is_empty()
    }
}
