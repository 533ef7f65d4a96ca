//! What a recording came to: its accounts and what recording cost.

use serde::{Deserialize, Serialize};
use tactus_model::recording::{AbsentEvent, EventAccount, ProcessorAccount};
use tactus_model::result::Shortfall;
use tactus_model::time::{Instant, Monotonic, Nanos};

/// What a recording came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordingSummary {
    /// From when on everything was recorded.
    pub started: Instant<Monotonic>,
    /// Until when.
    pub ended: Instant<Monotonic>,
    /// What became of every occurrence of each event.
    pub accounts: Vec<EventAccount>,
    /// What became of everything recorded on each processor, where the kernel
    /// counts by processor and not by event (tracefs).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processors: Vec<ProcessorAccount>,
    /// Events that were wanted and could not be had.
    pub absent: Vec<AbsentEvent>,
    /// In how many windows events were lost.
    pub loss_windows: u64,
    /// Records that could not be read; no kernel is known to make such.
    pub undecoded: u64,
    /// Names, functions and chains that found no room in the dictionary.
    pub refused_names: u64,
    /// What recording itself took.
    pub cost: RecordingCost,
    /// What the machine did not grant.
    pub shortfalls: Vec<Shortfall>,
}

/// What recording took.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordingCost {
    /// Events that were recorded.
    pub events: u64,
    /// Bytes that the kernel wrote into the rings.
    pub ring_bytes: u64,
    /// Bytes that were kept.
    pub kept_bytes: u64,
    /// The size of each processor's ring in bytes.
    pub ring_size: u64,
    /// The most bytes that waited in a ring when it was drained.
    pub fullest_ring: u64,
    /// How often the rings were drained.
    pub drains: u64,
    /// Processor time of the thread that drains.
    pub drain_time: Nanos,
    /// The longest time that one drain of all rings took.
    pub longest_drain: Nanos,
}

impl RecordingSummary {
    /// How many events were lost.
    pub fn lost(&self) -> u64 {
        let of_events: u64 = self.accounts.iter().map(EventAccount::lost).sum();
        // Either events or processors are counted, never both.
        of_events + self.processors.iter().map(|account| account.lost).sum::<u64>()
    }

    /// How many occurrences the kernel counted and neither wrote nor counted as lost.
    pub fn unwritten(&self) -> u64 {
        let of_events: u64 = self.accounts.iter().map(EventAccount::unwritten).sum();
        of_events + self.processors.iter().map(ProcessorAccount::unwritten).sum::<u64>()
    }

    /// Whether every occurrence of every event is accounted for.
    pub fn balances(&self) -> bool {
        self.accounts.iter().all(EventAccount::balances)
            && self.processors.iter().all(ProcessorAccount::balances)
    }

    /// How long the recording was.
    pub fn length(&self) -> Nanos {
        self.ended - self.started
    }
}
