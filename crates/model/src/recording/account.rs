//! What a recording covers, and the account of what it lacks.

use serde::{Deserialize, Serialize};

use crate::cpus::CpuList;
use crate::time::{Instant, Monotonic};

/// What a recording covers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// From when on everything was recorded.
    pub started: Instant<Monotonic>,
    /// The processors that were recorded.
    pub cpus: CpuList,
    /// The events that were recorded, as `sched/sched_switch`.
    pub events: Vec<String>,
    /// The events that were wanted and could not be had.
    pub absent: Vec<AbsentEvent>,
    /// The kernel's release (`uname -r`), where it is known.
    pub kernel: Option<String>,
}

impl About {
    /// Whether the event `name` (as `sched/sched_switch`) was recorded.
    pub fn has(&self, name: &str) -> bool {
        self.events.iter().any(|event| event == name)
    }
}

/// An event that could not be recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbsentEvent {
    /// The event, as `irq_vectors/irq_work_exit`.
    pub event: String,
    /// Why, in a sentence.
    pub reason: String,
}

/// Events that were lost on one processor: every sample that overlaps the window is void.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// The processor.
    pub cpu: u32,
    /// The last event before them.
    pub from: Instant<Monotonic>,
    /// The first event after them, or the end of the recording.
    pub to: Instant<Monotonic>,
    /// How many events were lost.
    pub count: u64,
}

/// What became of every occurrence of one event: `counted = read + lost`, and
/// what is missing in that is told by [`Self::unwritten`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventAccount {
    /// The event, as `sched/sched_switch`.
    pub event: String,
    /// How often the kernel counted it; of an event that it counts by weight
    /// (`sched_stat_runtime`, by nanoseconds) what was read and lost.
    pub counted: u64,
    /// How many records of it were read.
    pub read: u64,
    /// How many found no room in the ring, as the kernel counted them.
    pub lost: u64,
}

impl EventAccount {
    /// Occurrences that the kernel counted and neither wrote nor counted as lost.
    ///
    /// Kernels have been seen to count interrupts in the time of an idle thread
    /// without a record of them. Nothing tells when they were.
    pub const fn unwritten(&self) -> u64 {
        self.counted.saturating_sub(self.read).saturating_sub(self.lost)
    }

    /// Whether every occurrence is accounted for.
    pub const fn balances(&self) -> bool {
        self.counted as u128 == self.read as u128 + self.lost as u128
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_balances_when_nothing_vanished() {
        let account = |counted, read, lost| EventAccount {
            event: "sched/sched_switch".to_owned(),
            counted,
            read,
            lost,
        };
        assert!(account(11, 10, 1).balances());
        assert!(!account(11, 10, 0).balances());
    }
}
