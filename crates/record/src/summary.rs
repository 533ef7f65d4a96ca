//! What a recording came to: its accounts and what recording cost.

use serde::{Deserialize, Serialize};
use tactus_model::recording::{AbsentEvent, EventAccount};
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
        self.accounts.iter().map(|account| account.lost).sum()
    }

    /// How many occurrences the kernel counted and neither wrote nor counted as lost.
    pub fn unwritten(&self) -> u64 {
        self.accounts.iter().map(EventAccount::unwritten).sum()
    }

    /// Whether every occurrence of every event is accounted for.
    pub fn balances(&self) -> bool {
        self.accounts.iter().all(EventAccount::balances)
    }

    /// How long the recording was.
    pub fn length(&self) -> Nanos {
        self.ended - self.started
    }
}
