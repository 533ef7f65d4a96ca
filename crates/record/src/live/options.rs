//! What to record and how.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use tactus_model::cpus::{CpuChoice, CpuList};
use tactus_model::policy::RealtimePriority;
use tactus_model::recording::{
    CallChains, InterruptVector, Mechanism, Observers, SleepingCall, ThreadId,
};
use tactus_model::text::UnknownWord;
use tactus_model::time::Nanos;

use super::symbols::Symbols;
use crate::decode::Tracepoint;

/// The mechanism by which the kernel records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// tracefs if an instance can be created, otherwise perf, which is reported as a
    /// shortfall.
    #[default]
    Auto,
    /// Only this mechanism.
    Only(Mechanism),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.pad(AUTO),
            Self::Only(mechanism) => mechanism.fmt(f),
        }
    }
}

impl FromStr for Source {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        if text == AUTO {
            return Ok(Self::Auto);
        }
        let words = [AUTO, Mechanism::Perf.word(), Mechanism::Tracefs.word()];
        let unknown = |_| UnknownWord::new("mechanism of recording", text, &words);
        text.parse().map(Self::Only).map_err(unknown)
    }
}

const AUTO: &str = "auto";

/// What to record and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The mechanism.
    pub source: Source,
    /// The CPUs to record.
    pub cpus: CpuChoice,
    /// The tracepoints to record; those that cannot be recorded are reported as absent.
    pub tracepoints: Vec<Tracepoint>,
    /// The threads for which system calls, page faults and signals are recorded; all
    /// threads if empty.
    pub only_threads: Vec<ThreadId>,
    /// Whether switches and wakeups too are recorded only for those threads. Such
    /// events count as absent, since they do not show which thread runs where.
    pub only_their_scheduling: bool,
    /// The events with which the kernel's call chain is recorded.
    pub call_chains: CallChains,
    /// The size of each CPU's buffer in bytes, for perf a power of two; halved until
    /// the kernel grants it. tracefs keeps events with call chains in buffers of their own.
    pub ring_size: usize,
    /// Who else runs only because of the recording; the recorder adds its own threads.
    pub observers: Observers,
    /// The thread that empties the rings.
    pub drainer: DrainerOptions,
    /// Where to store the events.
    pub keep: Keep,
    /// The kernel's symbols, if they were read before; otherwise they are read when
    /// recording starts.
    pub symbols: Option<Arc<Symbols>>,
}

/// The events of a tracepoint that have call chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chained {
    /// None.
    None,
    /// Those that satisfy the kernel's filter.
    If(&'static str),
    /// All.
    All,
}

impl Chained {
    /// Those of `sched_switch` whose thread is no longer runnable. The bits are those of
    /// `TASK_REPORT` and of the idle state; a preempted thread has only a higher bit.
    const SLEEPS: Self = Self::If("prev_state & 0xff");

    const fn all_if(condition: bool) -> Self {
        if condition { Self::All } else { Self::None }
    }
}

impl Tracepoint {
    /// Which of its events have call chains. Chains of other events would cost more than all
    /// events together and explain nothing.
    pub(super) fn chained(self, chains: CallChains) -> Chained {
        match self {
            // Vectors that report faults and heat come too rarely to find a CPU doing anything,
            // and the kernel takes 30 ms to end the chains of each event.
            Self::VectorEntry(
                InterruptVector::PlatformIpi
                | InterruptVector::Spurious
                | InterruptVector::Error
                | InterruptVector::Thermal
                | InterruptVector::Threshold
                | InterruptVector::DeferredError,
            ) => Chained::None,
            Self::VectorEntry(_) | Self::IrqEntry => Chained::all_if(chains != CallChains::Never),
            Self::Switch if chains == CallChains::AtSleeps => Chained::SLEEPS,
            Self::Switch => Chained::all_if(chains == CallChains::Always),
            _ => Chained::None,
        }
    }
}

/// The thread that empties the rings.
#[derive(Clone, Debug)]
pub struct DrainerOptions {
    /// Its real-time priority while it is behind; otherwise it is an ordinary thread.
    pub priority: RealtimePriority,
    /// The CPUs on which it may run, if it must stay off measured CPUs.
    pub cpus: Option<CpuList>,
    /// The maximum time between two drains, and so the maximum loss if the recorder is
    /// killed.
    pub longest_sleep: Nanos,
    /// The fill level of a buffer, in percent, at which the kernel wakes it: the rest is for the
    /// time until it runs.
    pub watermark: u8,
}

/// Where to store the events.
#[derive(Clone, Debug)]
pub enum Keep {
    /// In a file, as they come.
    File(PathBuf),
    /// In memory, until the recording ends. Events that do not fit stay in the rings
    /// and are lost there, which is counted.
    Memory {
        /// The maximum number of bytes.
        limit: u64,
    },
    /// In memory, where new events replace the oldest: a flight recorder.
    /// [`Recorder::save`](super::Recorder::save) writes the content to a file.
    Flight {
        /// How far back it reaches.
        last: Nanos,
        /// The maximum number of bytes; at this limit it reaches less far back.
        limit: u64,
    },
}

/// The number of bytes that may wait for the writer of a file.
pub(super) const MOST_WAITING: u64 = 64 << 20;

impl Default for Options {
    /// The whole system, with everything that explains latency and is rare enough to be
    /// recorded for all threads, into 256 MiB of memory.
    fn default() -> Self {
        Self {
            source: Source::Auto,
            cpus: CpuChoice::All,
            tracepoints: Tracepoint::of_the_system(),
            only_threads: Vec::new(),
            only_their_scheduling: false,
            call_chains: CallChains::Never,
            ring_size: Self::RING_SIZE,
            observers: Observers::default(),
            drainer: DrainerOptions::default(),
            keep: Keep::Memory { limit: 256 << 20 },
            symbols: None,
        }
    }
}

impl Options {
    /// The default size of a buffer: with 200 000 events per second of 70 bytes each,
    /// the drainer may be delayed by half a second.
    pub const RING_SIZE: usize = 8 << 20;

    /// Records what explains the wakeups of these threads: also every sleeping call, page fault
    /// and signal of theirs, but nothing that explains only sleeps.
    pub fn of_threads(threads: &[ThreadId]) -> Self {
        let tracepoints =
            Tracepoint::all().into_iter().filter(|tracepoint| !tracepoint.is_of_a_sleep());
        Self {
            tracepoints: tracepoints.collect(),
            only_threads: threads.to_vec(),
            ..Self::default()
        }
    }

    /// Records what explains every sleep of these threads: the events of the whole system, call
    /// chains, and all system calls and page faults of theirs.
    pub fn of_sleeps(threads: &[ThreadId]) -> Self {
        // Each system call is recorded once.
        let is_repeated = |tracepoint: &Tracepoint| {
            matches!(tracepoint, Tracepoint::CallEnter(_) | Tracepoint::CallExit(_))
        };
        let tracepoints =
            Tracepoint::all().into_iter().filter(|tracepoint| !is_repeated(tracepoint));
        Self {
            tracepoints: tracepoints.collect(),
            only_threads: threads.to_vec(),
            call_chains: CallChains::AtSleeps,
            ..Self::default()
        }
    }

    /// Whether the events of `tracepoint`, which apply to all threads by themselves, are
    /// recorded only for some threads.
    pub(super) const fn narrows(&self, tracepoint: Tracepoint) -> bool {
        self.only_their_scheduling && tracepoint.is_of_a_wakeup()
    }

    /// Records the wakeup path of these threads and its possible delays that belong to
    /// no thread: interrupts, softirqs, timers, transfers.
    pub fn of_wakeups(threads: &[ThreadId]) -> Self {
        let tracepoints = Tracepoint::all()
            .into_iter()
            .filter(|tracepoint| tracepoint.is_of_an_interrupt() || tracepoint.is_of_a_wakeup());
        Self {
            tracepoints: tracepoints.collect(),
            only_threads: threads.to_vec(),
            only_their_scheduling: true,
            ..Self::default()
        }
    }

    /// Records what explains late wakeups of any thread, for as long as the machine runs: which thread runs
    /// where, interrupts, softirqs and timers. Tracing system calls and page faults would make those of the
    /// whole machine slower, whichever of them are recorded.
    pub fn of_the_late() -> Self {
        use Tracepoint::{BlockComplete, BlockIssue, SoftirqRaise};
        let mut options = Self::of_scheduling();
        let is_needed = |it: &Tracepoint| !matches!(it, SoftirqRaise | BlockIssue | BlockComplete);
        options.tracepoints.retain(is_needed);
        options
    }

    /// Records for the whole system which thread runs where and what interrupts it: the
    /// default events without system calls and signals, which concern only the thread in
    /// whose time they come.
    pub fn of_scheduling() -> Self {
        let tracepoints = Tracepoint::of_the_system()
            .into_iter()
            .filter(|tracepoint| !tracepoint.is_of_a_thread() && !tracepoint.is_of_a_sleep());
        Self { tracepoints: tracepoints.collect(), ..Self::default() }
    }
}

impl Default for DrainerOptions {
    fn default() -> Self {
        const LOWEST: RealtimePriority = RealtimePriority::new(1).expect("1 is a priority");
        Self { priority: LOWEST, cpus: None, longest_sleep: Nanos::from_secs(1), watermark: 25 }
    }
}

impl DrainerOptions {
    /// For a recording that includes a measured `window`: the drainer leaves everything in the
    /// buffers until the end, unless one of them is nearly full.
    #[must_use]
    pub fn after(self, window: Nanos) -> Self {
        // The recording starts some time before the window.
        let longest_sleep = self.longest_sleep.max(window.saturating_mul(2));
        Self { longest_sleep, watermark: 75, ..self }
    }
}

impl Tracepoint {
    /// The events that are recorded for all threads by default: all except page faults
    /// and the calls that mostly do other things than sleep, which on a busy machine
    /// would outnumber everything else. The call chains of sleeps name those calls.
    pub fn of_the_system() -> Vec<Self> {
        Self::all().into_iter().filter(|tracepoint| !tracepoint.is_frequent()).collect()
    }

    fn is_frequent(self) -> bool {
        match self {
            Self::PageFaultUser
            | Self::PageFaultKernel
            | Self::SystemCallEnter
            | Self::SystemCallExit => true,
            Self::CallEnter(call) | Self::CallExit(call) => {
                matches!(call, SleepingCall::Read | SleepingCall::Futex)
            }
            _ => false,
        }
    }

    /// Whether the event concerns only the thread in whose time it comes, so that it
    /// can be recorded for some threads only.
    pub(super) fn is_of_a_thread(self) -> bool {
        matches!(
            self,
            Self::PageFaultUser
                | Self::PageFaultKernel
                | Self::CallEnter(_)
                | Self::CallExit(_)
                | Self::SystemCallEnter
                | Self::SystemCallExit
                | Self::SignalDeliver
        )
    }

    /// Whether it explains only why a thread sleeps, not why it arrives late on a CPU.
    const fn is_of_a_sleep(self) -> bool {
        matches!(
            self,
            Self::InheritPriority
                | Self::ContentionBegin
                | Self::ContentionEnd
                | Self::ReclaimBegin(_)
                | Self::ReclaimEnd(_)
                | Self::CompactionBegin
                | Self::CompactionEnd
                | Self::BlockStart
                | Self::BlockedReason
                | Self::SystemCallEnter
                | Self::SystemCallExit
                | Self::Mark
        )
    }

    /// Whether it concerns interrupts and softirqs, what they serve, or idle states.
    fn is_of_an_interrupt(self) -> bool {
        matches!(
            self,
            Self::VectorEntry(_)
                | Self::VectorExit(_)
                | Self::IrqEntry
                | Self::IrqExit
                | Self::SoftirqEntry
                | Self::SoftirqExit
                | Self::HrtimerStart
                | Self::HrtimerCancel
                | Self::HrtimerExpireEntry
                | Self::HrtimerExpireExit
                | Self::Idle
                | Self::BlockIssue
                | Self::BlockComplete
        )
    }

    /// Whether it concerns a thread's wakeup or its arrival on a CPU.
    const fn is_of_a_wakeup(self) -> bool {
        matches!(self, Self::Switch | Self::Waking | Self::Wakeup | Self::WakeupNew)
    }

    /// The fields with the threads that the event concerns.
    pub(super) const fn thread_fields(self) -> &'static [&'static str] {
        match self {
            Self::Switch => &["prev_pid", "next_pid"],
            Self::Waking | Self::Wakeup | Self::WakeupNew => &["pid"],
            _ => &["common_pid"],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scheduling_is_recorded_for_all_threads_and_calls_for_none() {
        let Options { tracepoints, only_threads, only_their_scheduling, call_chains, .. } =
            Options::of_scheduling();
        for needed in [Tracepoint::Switch, Tracepoint::Wakeup, Tracepoint::HrtimerExpireEntry] {
            assert!(tracepoints.contains(&needed), "{needed:?}");
        }
        assert!(tracepoints.iter().all(|tracepoint| !tracepoint.is_of_a_thread()));
        let late = Options::of_the_late().tracepoints;
        assert!(late.iter().all(|tracepoint| tracepoints.contains(tracepoint)));
        assert!(late.contains(&Tracepoint::Switch) && late.contains(&Tracepoint::HrtimerStart));
        assert!(only_threads.is_empty() && !only_their_scheduling);
        assert!(call_chains == CallChains::Never);
    }

    #[test]
    fn a_source_is_read_as_it_is_written() {
        for word in ["auto", "perf", "tracefs"] {
            assert_eq!(word.parse::<Source>().unwrap().to_string(), word);
        }
        let error = "tracfs".parse::<Source>().unwrap_err().to_string();
        assert!(error.contains("did you mean `tracefs`") && error.contains("auto"), "{error}");
    }
}
