//! What to record and how.

use std::path::PathBuf;
use std::sync::Arc;

use tactus_model::cpus::{CpuChoice, CpuList};
use tactus_model::policy::RealtimePriority;
use tactus_model::recording::{SleepingCall, ThreadId};
use tactus_model::time::Nanos;

use super::symbols::Symbols;
use crate::decode::Tracepoint;

/// What to record and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The processors to record.
    pub cpus: CpuChoice,
    /// The tracepoints to record; those that cannot be had are told as absent.
    pub tracepoints: Vec<Tracepoint>,
    /// System calls, page faults and signals are recorded of these threads
    /// only; of all when empty.
    pub only_threads: Vec<ThreadId>,
    /// Whether the kernel's call chain is recorded with each event.
    pub call_chains: bool,
    /// The size of each processor's ring in bytes, a power of two; halved until
    /// it is granted.
    pub ring_size: usize,
    /// The thread that empties the rings.
    pub drainer: DrainerOptions,
    /// Where the events go.
    pub keep: Keep,
    /// The kernel's symbols, when they were read before; otherwise they are read now.
    pub symbols: Option<Arc<Symbols>>,
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
            cpus: CpuChoice::All,
            tracepoints: Tracepoint::of_the_system(),
            only_threads: Vec::new(),
            call_chains: false,
            ring_size: Self::RING_SIZE,
            drainer: DrainerOptions::default(),
            keep: Keep::Memory { limit: 256 << 20 },
            symbols: None,
        }
    }
}

impl Options {
    /// The usual size of a ring: at 200 000 events a second of 70 bytes, the
    /// drainer may be kept from running for half a second.
    pub const RING_SIZE: usize = 8 << 20;

    /// Also records every sleeping call, page fault and signal of these threads.
    pub fn of_threads(threads: &[ThreadId]) -> Self {
        Self { tracepoints: Tracepoint::all(), only_threads: threads.to_vec(), ..Self::default() }
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
}
