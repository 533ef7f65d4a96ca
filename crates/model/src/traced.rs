//! Results of a measurement while the kernel's events were recorded.
//!
//! Recording costs time. So latency is reported from a window without recording, and causes
//! from a second, shorter window with recording, under the same load.

use serde::{Deserialize, Serialize};

use crate::recording::ThreadId;
use crate::result::{Accounting, Histogram};
use crate::sample::SampleBlock;
use crate::text::keywords;
use crate::time::{Instant, Monotonic, Nanos};

keywords! {
    /// Which kernel events are recorded.
    pub enum TracedEvents: "choice of traced events" {
        /// All events that explain latency, system-wide.
        All = "all",
        /// Events on the path of a measured task's wakeup and of what can delay it: interrupts,
        /// softirqs, timers, block I/O, and the scheduler's events of the measured tasks only.
        /// They are few, so they can be stored for a long time and disturb little. They show
        /// the segments of a latency, but not which task ran instead.
        WakeupPath = "wakeup-path",
        /// Events that show which task ran where, how long, and why it stopped, system-wide:
        /// the scheduler's, interrupts, softirqs and timers, without call chains and system
        /// calls. They suffice for accounts of CPU time, and cost a fraction of all events if
        /// interrupts are many.
        Scheduling = "scheduling",
    }
}

impl TracedEvents {
    /// Whether the events explain why a measured task was late.
    pub const fn explain_causes(self) -> bool {
        matches!(self, Self::All)
    }

    /// Whether the events show when every thread ran.
    pub const fn show_who_ran(self) -> bool {
        matches!(self, Self::All | Self::Scheduling)
    }
}

/// The window of a measurement in which the kernel's events were recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedStretch {
    /// When it opened: the origin of its samples, independent of their clock.
    pub opened: Instant<Monotonic>,
    /// The duration of the window.
    pub window: Nanos,
    /// Whether it came before the window without recording; the turn's seed decides.
    pub came_first: bool,
    /// The result of each task.
    pub tasks: Vec<TracedTask>,
    /// The account of the recording.
    pub recording: RecordingAccount,
}

/// The result of one task while events were recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedTask {
    /// The task's number, the same as in the window without recording.
    pub task: u32,
    /// The task's thread.
    pub thread: ThreadId,
    /// The account of every intended wakeup.
    pub accounting: Accounting,
    /// Latencies of the observed wakeups.
    pub latencies: Histogram,
    /// The wakeups for which the caches were not prepared, as in
    /// [`ByDirt::unprepared`](crate::result::ByDirt::unprepared).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unprepared: Vec<Nanos>,
    /// To whom the thread handed its samples over, and when; `None` if they ended in the thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handed_over: Option<HandedOver>,
}

/// Samples that a thread handed over to another, which stamped their arrivals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandedOver {
    /// The thread that took them.
    pub receiver: ThreadId,
    /// When each was handed over: its due time, and then that instant instead of the arrival.
    pub block: SampleBlock,
}

impl HandedOver {
    /// The maximum number of samples: more than the events of so many fit into a recording.
    pub const SAMPLES_MAX: usize = 1 << 17;
}

/// The account of the events of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordingAccount {
    /// The number of recorded events.
    pub events: u64,
    /// The number of lost events.
    pub lost: u64,
    /// The size of the recording in bytes, whether it was stored or too large to store.
    pub bytes: u64,
}

/// The samples and the recording of a traced window, stored with its measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TracedData {
    /// The window's samples with their task numbers, each task's in order.
    pub samples: Vec<(u32, SampleBlock)>,
    /// The recording in its file format; empty if it was too large to store.
    pub recording: Vec<u8>,
}

impl TracedData {
    /// The maximum size in bytes of the stored recording of one turn.
    pub const RECORDING_LIMIT: u64 = 32 << 20;

    /// Whether there are no samples and no recording.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty() && self.recording.is_empty()
    }
}
