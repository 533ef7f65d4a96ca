//! What to record and how.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use tactus_model::cpus::{CpuChoice, CpuList};
use tactus_model::policy::RealtimePriority;
use tactus_model::recording::{Mechanism, SleepingCall, ThreadId};
use tactus_model::text::UnknownWord;
use tactus_model::time::Nanos;

use super::symbols::Symbols;
use crate::decode::Tracepoint;

/// By which mechanism the kernel is to record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// tracefs where an instance of it can be made, perf elsewhere, which is told
    /// as a shortfall.
    #[default]
    Auto,
    /// This one or none.
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
    /// By which mechanism.
    pub source: Source,
    /// The processors to record.
    pub cpus: CpuChoice,
    /// The tracepoints to record; those that cannot be had are told as absent.
    pub tracepoints: Vec<Tracepoint>,
    /// System calls, page faults and signals are recorded of these threads
    /// only; of all when empty.
    pub only_threads: Vec<ThreadId>,
    /// Whether switches and wakeups too are recorded of those threads only. Such
    /// events count as absent, since they do not tell who runs where.
    pub only_their_scheduling: bool,
    /// With which events the kernel's call chain is recorded.
    pub call_chains: CallChains,
    /// The size of each processor's buffer in bytes, for perf a power of two;
    /// halved until it is granted.
    pub ring_size: usize,
    /// The thread that empties the rings.
    pub drainer: DrainerOptions,
    /// Where the events go.
    pub keep: Keep,
    /// The kernel's symbols, when they were read before; otherwise they are read now.
    pub symbols: Option<Arc<Symbols>>,
}

/// With which events the kernel's call chain is recorded.
///
/// Walking the kernel's stack takes longer than recording the event itself, so
/// chains are taken only where they tell what nothing else does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallChains {
    /// With none.
    #[default]
    Never,
    /// With the entries of interrupts: where the interrupt found the processor.
    AtInterrupts,
    /// With those, and with switches: where the thread gave way.
    Always,
}

impl CallChains {
    /// Whether the events of `tracepoint` come with their chain. Chains of other events
    /// would cost more than all events together and explain nothing.
    pub(super) fn are_of(self, tracepoint: Tracepoint) -> bool {
        match tracepoint {
            Tracepoint::VectorEntry(_) | Tracepoint::IrqEntry => self != Self::Never,
            Tracepoint::Switch => self == Self::Always,
            _ => false,
        }
    }
}

/// The thread that empties the rings.
#[derive(Clone, Debug)]
pub struct DrainerOptions {
    /// Its real-time priority.
    pub priority: RealtimePriority,
    /// Where it may run, when it must be kept away from measured processors.
    pub cpus: Option<CpuList>,
    /// The longest time between two drains: at most so much is lost when the
    /// recorder is killed.
    pub longest_sleep: Nanos,
}

/// Where the events go.
#[derive(Clone, Debug)]
pub enum Keep {
    /// Into a file, as they come.
    File(PathBuf),
    /// Into memory, until the recording ends. What finds no room stays in the
    /// rings and is lost there, which is counted.
    Memory {
        /// The most bytes to hold.
        limit: u64,
    },
    /// Into memory, the oldest making room for the newest: a flight recorder.
    /// [`Recorder::save`](super::Recorder::save) writes what is there to a file.
    Flight {
        /// How far back it reaches.
        last: Nanos,
        /// The most bytes to hold; reaching it shortens how far back it reaches.
        limit: u64,
    },
}

/// Bytes that may wait for the keeper of a file.
pub(super) const MOST_WAITING: u64 = 64 << 20;

impl Default for Options {
    /// The whole system, everything that explains latency and is not too frequent
    /// to be recorded of all threads, into 256 MiB of memory.
    fn default() -> Self {
        Self {
            source: Source::Auto,
            cpus: CpuChoice::All,
            tracepoints: Tracepoint::of_the_system(),
            only_threads: Vec::new(),
            only_their_scheduling: false,
            call_chains: CallChains::Never,
            ring_size: Self::RING_SIZE,
            drainer: DrainerOptions::default(),
            keep: Keep::Memory { limit: 256 << 20 },
            symbols: None,
        }
    }
}

impl Options {
    /// The usual size of a buffer: at 200 000 events a second of 70 bytes, the
    /// drainer may be kept from running for half a second.
    pub const RING_SIZE: usize = 8 << 20;

    /// Also records every sleeping call, page fault and signal of these threads.
    pub fn of_threads(threads: &[ThreadId]) -> Self {
        Self { tracepoints: Tracepoint::all(), only_threads: threads.to_vec(), ..Self::default() }
    }

    /// Whether the events of `tracepoint`, which tell of every thread by themselves, are
    /// recorded of some threads only.
    pub(super) const fn narrows(&self, tracepoint: Tracepoint) -> bool {
        self.only_their_scheduling && tracepoint.is_of_a_wakeup()
    }

    /// Records what lies on the way of the wakeups of these threads, and what may
    /// stand in it on behalf of nobody: interrupts, softirqs, timers, transfers.
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

    /// Records of the whole system who runs where and what interrupts it: all that is
    /// recorded of it by default but system calls and signals, which concern the thread in
    /// whose time they come.
    pub fn of_scheduling() -> Self {
        let tracepoints = Tracepoint::of_the_system()
            .into_iter()
            .filter(|tracepoint| !tracepoint.is_of_a_thread());
        Self { tracepoints: tracepoints.collect(), ..Self::default() }
    }
}

impl Default for DrainerOptions {
    fn default() -> Self {
        const LOWEST: RealtimePriority = RealtimePriority::new(1).expect("1 is a priority");
        Self { priority: LOWEST, cpus: None, longest_sleep: Nanos::from_secs(1) }
    }
}

impl Tracepoint {
    /// Those that are recorded of all threads unless asked otherwise: all but
    /// page faults and the calls that do other things than sleep most often,
    /// which on a busy machine would outnumber everything else.
    pub fn of_the_system() -> Vec<Self> {
        Self::all().into_iter().filter(|tracepoint| !tracepoint.is_frequent()).collect()
    }

    fn is_frequent(self) -> bool {
        match self {
            Self::PageFaultUser | Self::PageFaultKernel => true,
            Self::CallEnter(call) | Self::CallExit(call) => {
                matches!(call, SleepingCall::Read | SleepingCall::Futex)
            }
            _ => false,
        }
    }

    /// Whether the event concerns the thread in whose time it comes, so that it
    /// can be recorded of some threads only.
    pub(super) fn is_of_a_thread(self) -> bool {
        matches!(
            self,
            Self::PageFaultUser
                | Self::PageFaultKernel
                | Self::CallEnter(_)
                | Self::CallExit(_)
                | Self::SignalDeliver
        )
    }

    /// Whether it tells of interrupts and softirqs, of what they serve, or of idleness.
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

    /// Whether it tells of a thread's wakeup or of its coming to a processor.
    const fn is_of_a_wakeup(self) -> bool {
        matches!(self, Self::Switch | Self::Waking | Self::Wakeup | Self::WakeupNew)
    }

    /// The fields that name the threads whom the event concerns.
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
    fn scheduling_is_recorded_of_everybody_and_calls_of_nobody() {
        let Options { tracepoints, only_threads, only_their_scheduling, call_chains, .. } =
            Options::of_scheduling();
        for needed in [Tracepoint::Switch, Tracepoint::Wakeup, Tracepoint::HrtimerExpireEntry] {
            assert!(tracepoints.contains(&needed), "{needed:?}");
        }
        assert!(tracepoints.iter().all(|tracepoint| !tracepoint.is_of_a_thread()));
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
