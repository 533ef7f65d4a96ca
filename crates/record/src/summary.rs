//! The summary of a recording: its accounts and its cost.

use serde::{Deserialize, Serialize};
use tactus_model::recording::{AbsentEvent, CpuAccount, EventAccount, QuotaGroup};
use tactus_model::result::Shortfall;
use tactus_model::time::{Instant, Monotonic, Nanos};

/// The summary of a recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordingSummary {
    /// The time from which everything was recorded.
    pub started: Instant<Monotonic>,
    /// The end of the recording.
    pub ended: Instant<Monotonic>,
    /// The account of each event's occurrences.
    pub accounts: Vec<EventAccount>,
    /// The account of each CPU, if the kernel counts by CPU and not by event (tracefs).
    #[serde(default, alias = "processors", skip_serializing_if = "Vec::is_empty")]
    pub cpus: Vec<CpuAccount>,
    /// Events that were requested and could not be recorded.
    pub absent: Vec<AbsentEvent>,
    /// The number of windows in which events were lost.
    pub loss_windows: u64,
    /// Records that could not be decoded; no known kernel writes such records.
    pub undecoded: u64,
    /// Names, functions and chains that did not fit into the dictionary.
    pub refused_names: u64,
    /// The cost of recording itself.
    pub cost: RecordingCost,
    /// What the machine did not grant.
    pub shortfalls: Vec<Shortfall>,
    /// The control groups with a quota, as they were during the recording; `None` as in
    /// [`About`](tactus_model::recording::About).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quotas: Option<Vec<QuotaGroup>>,
}

/// The cost of recording.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordingCost {
    /// The number of recorded events.
    pub events: u64,
    /// The number of bytes that the kernel wrote into the rings.
    pub ring_bytes: u64,
    /// The number of bytes that were stored.
    pub kept_bytes: u64,
    /// The size of each CPU's ring in bytes.
    pub ring_size: u64,
    /// The maximum number of bytes in a ring when it was drained.
    pub fullest_ring: u64,
    /// The number of drains.
    pub drains: u64,
    /// The CPU time of the drainer.
    pub drain_time: Nanos,
    /// The maximum duration of one drain of all rings.
    pub longest_drain: Nanos,
}

impl RecordingSummary {
    /// The number of lost events.
    pub fn lost(&self) -> u64 {
        let of_events: u64 = self.accounts.iter().map(EventAccount::lost).sum();
        // The kernel counts either by event or by CPU, never by both.
        of_events + self.cpus.iter().map(|account| account.lost).sum::<u64>()
    }

    /// The number of occurrences that the kernel counted but neither wrote nor counted
    /// as lost.
    pub fn unwritten(&self) -> u64 {
        let of_events: u64 = self.accounts.iter().map(EventAccount::unwritten).sum();
        of_events + self.cpus.iter().map(CpuAccount::unwritten).sum::<u64>()
    }

    /// The duration of the recording.
    pub fn length(&self) -> Nanos {
        self.ended - self.started
    }
}
