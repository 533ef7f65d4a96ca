//! The coverage of a recording and the account of its losses.

use serde::{Deserialize, Serialize};

use super::dictionary::Dictionary;
use super::thread::{ProcessId, ThreadId};
use crate::cpus::CpuList;
use crate::probe::SleepMethod;
use crate::time::{Instant, Monotonic, Nanos};

crate::text::keywords! {
    /// The kernel mechanism that recorded the events.
    pub enum Mechanism: "mechanism of recording" {
        /// Tracepoint events of perf_event_open(2); needs CAP_PERFMON.
        Perf = "perf",
        /// An instance of the kernel's own tracing (tracefs); needs root.
        #[doc(alias = "ftrace")]
        Tracefs = "tracefs",
    }
}

crate::text::keywords! {
    /// The events with which the kernel's call chain is recorded.
    ///
    /// Walking the kernel's stack takes longer than recording the event itself, so call
    /// chains are taken only where nothing else gives the information.
    pub enum CallChains: "choice of call chains" {
        /// No events.
        Never = "never",
        /// The entries of interrupts: the chain shows where the interrupt found the CPU.
        AtInterrupts = "interrupts",
        /// Interrupt entries, and switches whose thread goes to sleep: the chain shows in which
        /// system call or fault it sleeps, and on what.
        AtSleeps = "sleeps",
        /// Interrupt entries and all switches: the chain of a switch shows where the thread
        /// rescheduled.
        Always = "all",
    }
}

#[expect(clippy::derivable_impls, reason = "the macro of words has no default variant")]
impl Default for CallChains {
    fn default() -> Self {
        Self::Never
    }
}

/// The coverage of a recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The start: from here on everything was recorded.
    pub started: Instant<Monotonic>,
    /// The CPUs that were recorded.
    pub cpus: CpuList,
    /// The recorded events, for example `sched/sched_switch`.
    pub events: Vec<String>,
    /// The requested events that were not available.
    pub absent: Vec<AbsentEvent>,
    /// The kernel's release (`uname -r`), if known.
    pub kernel: Option<String>,
    /// The mechanism that recorded; `None` if no kernel recorded, and in recordings from before
    /// this field existed. The latter are all from perf, with preemption counts that are 1 too
    /// high (see [`Context`](super::Context)).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mechanism: Option<Mechanism>,
    /// The duration of a tick in nanoseconds, if timers expire only at ticks; `None` with
    /// high-resolution timers, and in recordings from before this field existed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timer_tick: Option<Nanos>,
    /// The threads of the recorder and of the program that requested it; none in recordings from
    /// before this field existed.
    #[serde(default, skip_serializing_if = "Observers::is_empty")]
    pub observers: Observers,
    /// The control groups with a quota of CPU time; `None` if the recorder could not read them,
    /// and in recordings from before this field existed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quotas: Option<Vec<QuotaGroup>>,
    /// The late wakeup for which the recording was saved; `None` if it was saved for another
    /// reason, and in recordings from before this field existed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved_for: Option<LateWakeup>,
}

/// A late wakeup of a probe's thread, of which the time of this recording contains all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LateWakeup {
    /// The thread.
    pub thread: ThreadId,
    /// The call by which it slept until its due time.
    pub sleep: SleepMethod,
    /// When it was due.
    pub due: Instant<Monotonic>,
    /// When it arrived, stamped in user mode.
    pub came: Instant<Monotonic>,
}

impl LateWakeup {
    /// How late it was.
    pub fn latency(&self) -> Nanos {
        self.came - self.due
    }
}

impl About {
    /// A recording of these CPUs in which no event was recorded and nothing else is known.
    pub fn new(started: Instant<Monotonic>, cpus: CpuList) -> Self {
        Self {
            started,
            cpus,
            events: Vec::new(),
            absent: Vec::new(),
            kernel: None,
            mechanism: None,
            timer_tick: None,
            observers: Observers::default(),
            quotas: None,
            saved_for: None,
        }
    }
}

/// A control group whose ordinary threads may use the CPUs only for a quota of each period
/// (`cpu.max`, cgroups(7)), as it was while it was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuotaGroup {
    /// Its path in the hierarchy of groups, e.g. `/robot`.
    pub path: String,
    /// The CPU time that its threads together may use in a period.
    pub quota: Nanos,
    /// The period after which the quota is renewed.
    pub period: Nanos,
    /// How long the kernel throttled it during the recording, added up over CPUs (`cpu.stat`).
    pub throttled: Nanos,
    /// The threads that were seen in it or in a group below, in ascending order.
    pub threads: Vec<ThreadId>,
}

impl QuotaGroup {
    /// Whether `thread` belongs to the group: it was seen there, or it was too short-lived to be
    /// seen and its process, which is looked up in `names`, was.
    pub fn includes(&self, thread: ThreadId, names: &Dictionary) -> bool {
        let has = |thread| self.threads.binary_search(&thread).is_ok();
        has(thread) || names.process_of(thread).is_some_and(|process| has(ThreadId(process.0)))
    }
}

/// Who ran only because something was measured or recorded. Their time is an effect of the
/// observation, not of the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observers {
    /// Processes that only observe, e.g. the one that shows the progress.
    #[serde(default)]
    pub processes: Vec<ProcessId>,
    /// Threads of processes that also have other threads, e.g. measured ones.
    #[serde(default)]
    pub threads: Vec<ThreadId>,
}

impl Observers {
    /// All threads of these processes.
    pub fn of_processes(numbers: impl IntoIterator<Item = u32>) -> Self {
        // The kernel's numbers fit.
        let processes = numbers.into_iter().map(|number| ProcessId(number as i32)).collect();
        Self { processes, threads: Vec::new() }
    }

    /// Whether nobody is known to observe.
    pub fn is_empty(&self) -> bool {
        self.processes.is_empty() && self.threads.is_empty()
    }

    /// Whether `thread` only observes. Its process is looked up in `names`.
    pub fn include(&self, thread: ThreadId, names: &Dictionary) -> bool {
        self.threads.contains(&thread)
            || names.process_of(thread).is_some_and(|process| self.processes.contains(&process))
    }
}

impl About {
    /// Whether the event `name` (for example `sched/sched_switch`) was recorded.
    pub fn has(&self, name: &str) -> bool {
        self.events.iter().any(|event| event == name)
    }
}

/// An event that could not be recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbsentEvent {
    /// The event, for example `irq_vectors/irq_work_exit`.
    pub event: String,
    /// The reason, in a sentence.
    pub reason: String,
}

impl AbsentEvent {
    /// The reason for an event that the kernel was built without, or that this kind of machine does
    /// not have.
    pub const NOT_IN_KERNEL: &str = "this kernel does not have the event";
}

/// Events lost on one CPU. Every sample that overlaps the gap is void.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// The CPU.
    pub cpu: u32,
    /// The last event before them.
    pub from: Instant<Monotonic>,
    /// The first event after them, or the end of the recording.
    pub to: Instant<Monotonic>,
    /// How many events were lost.
    pub count: u64,
}

/// The account of one event: `counted = read + lost` if the kernel counts per event;
/// [`Self::unwritten`] gives the difference.
///
/// perf counts per event. tracefs counts per CPU only: there an event has no count, and the
/// [`CpuAccount`]s contain the losses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventAccount {
    /// The event, for example `sched/sched_switch`.
    pub event: String,
    /// How many records of it were read.
    pub read: u64,
    /// The kernel's count, if it counts per event.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub count: Option<EventCount>,
}

/// The kernel's counts for one event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventCount {
    /// How many the kernel counted. For an event that the kernel counts by weight
    /// (`sched_stat_runtime`, by nanoseconds), the number read and lost.
    pub counted: u64,
    /// How many did not fit into the ring buffer, according to the kernel.
    pub lost: u64,
}

/// The account of everything the kernel recorded on one CPU, if it counts per CPU (tracefs):
/// `counted = read + lost`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuAccount {
    /// The CPU.
    pub cpu: u32,
    /// How many records of any kind the kernel counted: events, and the records that accompany
    /// them (call chains, new threads).
    pub counted: u64,
    /// How many were read.
    pub read: u64,
    /// How many did not fit into the buffer, according to the kernel.
    pub lost: u64,
}

impl EventAccount {
    /// How many were lost, if the kernel counts losses per event.
    pub fn lost(&self) -> u64 {
        self.count.map_or(0, |count| count.lost)
    }

    /// Occurrences that the kernel counted, but neither wrote nor counted as lost.
    ///
    /// perf has been observed to count interrupts during an idle thread without writing a
    /// record. Their times are unknown.
    pub fn unwritten(&self) -> u64 {
        self.count.map_or(0, |count| missing(count.counted, self.read, count.lost))
    }

    /// Whether every occurrence is accounted for, as far as the kernel's counts show.
    pub fn balances(&self) -> bool {
        self.count.is_none_or(|count| is_whole(count.counted, self.read, count.lost))
    }
}

impl CpuAccount {
    /// Records that the kernel counted and that were neither read nor lost; no kernel is known
    /// to produce them.
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
    fn an_account_balances_if_every_record_was_read_or_lost() {
        assert!(account(10, Some((11, 1))).balances());
        assert!(!account(10, Some((11, 0))).balances());
        assert!(account(10, None).balances());
        assert!(CpuAccount { cpu: 0, counted: 11, read: 10, lost: 1 }.balances());
        assert!(!CpuAccount { cpu: 0, counted: 9, read: 10, lost: 0 }.balances());
    }

    #[test]
    fn an_observer_is_a_thread_or_any_thread_of_a_process() {
        let mut names = Dictionary::new();
        for (thread, process) in [(7, 7), (8, 7), (21, 20), (22, 20)] {
            names.set_process(ThreadId(thread), ProcessId(process));
        }
        let observers =
            Observers { processes: vec![ProcessId(7)], threads: vec![ThreadId(21), ThreadId(40)] };
        let include = |thread| observers.include(ThreadId(thread), &names);
        assert!([7, 8, 21, 40].into_iter().all(include));
        assert!(![20, 22, 41].into_iter().any(include));
    }

    #[test]
    fn accounts_with_and_without_a_count_round_trip() {
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
