//! What a recording covers, and the account of what it lacks.

use serde::{Deserialize, Serialize};

use crate::cpus::CpuList;
use crate::time::{Instant, Monotonic, Nanos};

crate::text::keywords! {
    /// By which mechanism the kernel recorded events.
    pub enum Mechanism: "mechanism of recording" {
        /// Tracepoint events of perf_event_open(2): needs CAP_PERFMON.
        Perf = "perf",
        /// An instance of the kernel's own tracing (tracefs): needs root.
        #[doc(alias = "ftrace")]
        Tracefs = "tracefs",
    }
}

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
    /// By which mechanism the kernel recorded; `None` of what no kernel recorded,
    /// and in recordings from before this was told, which are all of perf and
    /// whose preemption counts are 1 higher (see [`Context`](super::Context)).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mechanism: Option<Mechanism>,
    /// The length of a tick, in nanoseconds, where timers expire at ticks alone; `None`
    /// where they are of high resolution, and in recordings from before this was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timer_tick: Option<Nanos>,
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

/// What became of the occurrences of one event: `counted = read + lost` where the
/// kernel counts by event, and what is missing in that is told by [`Self::unwritten`].
///
/// perf counts by event. tracefs counts by processor alone: there an event has
/// no count, and what was lost stands in the [`ProcessorAccount`]s.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventAccount {
    /// The event, as `sched/sched_switch`.
    pub event: String,
    /// How many records of it were read.
    pub read: u64,
    /// What the kernel counted of it, where it counts by event.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub count: Option<EventCount>,
}

/// What the kernel counted of one event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventCount {
    /// How often the kernel counted it; of an event that it counts by weight
    /// (`sched_stat_runtime`, by nanoseconds) what was read and lost.
    pub counted: u64,
    /// How many found no room in the ring, as the kernel counted them.
    pub lost: u64,
}

/// What became of everything that the kernel recorded on one processor, where it
/// counts by processor (tracefs): `counted = read + lost`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessorAccount {
    /// The processor.
    pub cpu: u32,
    /// How many records of any kind the kernel counted: those of events, and
    /// those that accompany them (call chains, new threads).
    pub counted: u64,
    /// How many were read.
    pub read: u64,
    /// How many found no room in the buffer, as the kernel counted them.
    pub lost: u64,
}

impl EventAccount {
    /// How many were lost, as far as the kernel tells it of this event.
    pub fn lost(&self) -> u64 {
        self.count.map_or(0, |count| count.lost)
    }

    /// Occurrences that the kernel counted and neither wrote nor counted as lost.
    ///
    /// perf has been seen to count interrupts in the time of an idle thread
    /// without a record of them. Nothing tells when they were.
    pub fn unwritten(&self) -> u64 {
        self.count.map_or(0, |count| missing(count.counted, self.read, count.lost))
    }

    /// Whether nothing contradicts that every occurrence is accounted for.
    pub fn balances(&self) -> bool {
        self.count.is_none_or(|count| is_whole(count.counted, self.read, count.lost))
    }
}

impl ProcessorAccount {
    /// Records that the kernel counted and that were neither read nor lost; no
    /// kernel is known to make such.
    pub fn unwritten(&self) -> u64 {
        missing(self.counted, self.read, self.lost)
    }

    /// Whether every record is accounted for.
    pub fn balances(&self) -> bool {
        is_whole(self.counted, self.read, self.lost)
    }
}

fn missing(counted: u64, read: u64, lost: u64) -> u64 {
    counted.saturating_sub(read).saturating_sub(lost)
}

fn is_whole(counted: u64, read: u64, lost: u64) -> bool {
    u128::from(counted) == u128::from(read) + u128::from(lost)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(read: u64, count: Option<(u64, u64)>) -> EventAccount {
        let count = count.map(|(counted, lost)| EventCount { counted, lost });
        EventAccount { event: "sched/sched_switch".to_owned(), read, count }
    }

    #[test]
    fn an_account_balances_when_nothing_vanished() {
        assert!(account(10, Some((11, 1))).balances());
        assert!(!account(10, Some((11, 0))).balances());
        assert!(account(10, None).balances());
        assert!(ProcessorAccount { cpu: 0, counted: 11, read: 10, lost: 1 }.balances());
        assert!(!ProcessorAccount { cpu: 0, counted: 9, read: 10, lost: 0 }.balances());
    }

    #[test]
    fn accounts_with_and_without_a_count_are_written_and_read() {
        let counted = r#"{"event":"sched/sched_switch","counted":11,"read":10,"lost":1}"#;
        assert_eq!(
            serde_json::from_str::<EventAccount>(counted).unwrap(),
            account(10, Some((11, 1)))
        );
        for account in [account(10, None), account(10, Some((11, 1)))] {
            let text = serde_json::to_string(&account).unwrap();
            assert_eq!(serde_json::from_str::<EventAccount>(&text).unwrap(), account, "{text}");
        }
    }
}
