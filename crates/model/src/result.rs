//! What one measurement of a cell found.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::cpus::CpuList;
use crate::experiment::Turn;
use crate::guest::GuestAccount;
use crate::load::Load;
use crate::origin::Precision;
use crate::policy::Scheduling;
use crate::sample::Sample;
use crate::time::{Instant, Nanos, Realtime};
use crate::traced::TracedStretch;

/// How many lengths fell into each bucket, in a form to keep and to send.
///
/// A bucket is told by its lowest value; its width follows from the geometry of
/// `tactus_stats::LatencyHistogram` (1 ns up to 2048 ns, then below 0.1 % of the
/// value). There is no overflow: the highest bucket reaches the end of the range.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    /// How many values were counted.
    pub count: u64,
    /// Their exact sum in nanoseconds; saturates.
    pub sum: Nanos,
    /// The exact least value; zero when nothing was counted.
    pub min: Nanos,
    /// The exact greatest value; zero when nothing was counted.
    pub max: Nanos,
    /// The lowest value of each bucket that is not empty and its count, ascending.
    pub buckets: Vec<(Nanos, u64)>,
}

/// What became of every wakeup that was intended: `intended = observed + missed + dropped`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accounting {
    /// Due times within the window.
    pub intended: u64,
    /// Wakeups that were measured and kept.
    pub observed: u64,
    /// Due times that passed while the task had not yet come from an earlier one.
    pub missed: u64,
    /// Wakeups that took place and were not kept, because the memory taken for samples was full.
    pub dropped: u64,
    /// Of those observed, wakeups that came before they were due; their latency counts as zero.
    pub early: u64,
}

impl Accounting {
    /// Whether every intended wakeup is accounted for.
    pub const fn balances(self) -> bool {
        // In 128 bits, since figures that were read from a file may be anything.
        self.intended as u128 == self.observed as u128 + self.missed as u128 + self.dropped as u128
    }
}

impl AddAssign for Accounting {
    fn add_assign(&mut self, other: Self) {
        self.intended += other.intended;
        self.observed += other.observed;
        self.missed += other.missed;
        self.dropped += other.dropped;
        self.early += other.early;
    }
}

/// A second of a task's window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Second {
    /// When the second began, since the window opened.
    pub at: Nanos,
    /// Samples that were due in it.
    pub count: u64,
    /// Their median latency.
    pub median: Nanos,
    /// The latency that 99 % of them did not exceed.
    pub p99: Nanos,
    /// Their greatest latency.
    pub max: Nanos,
}

/// The times between successive arrivals in a slice of the window: a column of the scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScopeColumn {
    /// When the slice began, since the window opened.
    pub at: Nanos,
    /// The shortest time between two arrivals.
    pub min: Nanos,
    /// The longest.
    pub max: Nanos,
}

/// A late sample that is kept with its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outlier {
    /// Its number among the task's samples, counted from 0.
    pub index: u64,
    /// The sample.
    pub sample: Sample,
}

/// How a task was in fact scheduled and prepared, as read back from the kernel; of a
/// task of another program, what that program was asked for, as far as its cell knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Granted {
    /// The scheduling class and its parameters.
    pub scheduling: Scheduling,
    /// The processors the task could run on.
    pub cpus: CpuList,
    /// Whether its memory was locked.
    pub memory_locked: bool,
    /// Its timer slack; `None` for real-time tasks, which have none.
    pub timer_slack: Option<Nanos>,
}

/// What a task used in its window, after getrusage(2) with `RUSAGE_THREAD`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskUsage {
    /// Page faults served without I/O.
    pub minor_faults: u64,
    /// Page faults that had to wait for I/O.
    pub major_faults: u64,
    /// Times the task gave the processor up.
    pub voluntary_switches: u64,
    /// Times the processor was taken from it.
    pub involuntary_switches: u64,
    /// Processor time in user mode and in the kernel.
    pub cpu_time: Nanos,
}

/// What one task of a probe found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskResult {
    /// The task's number, counted from 0.
    pub task: u32,
    /// The processor it was pinned to, if it was.
    pub cpu: Option<u32>,
    /// How it was scheduled.
    pub granted: Granted,
    /// What became of every intended wakeup.
    pub accounting: Accounting,
    /// Latencies of the wakeups that took place (*per wakeup*), apart for each
    /// stretch of [`Measurement::block_length`]. Their sum is the whole window;
    /// the stretches are what intervals are bootstrapped from.
    pub blocks: Vec<Histogram>,
    /// Latencies of the missed due times, each from its due time to the arrival
    /// that ended the delay. Added to `blocks` they give the *intended schedule*.
    pub missed_latencies: Histogram,
    /// The window second by second.
    pub series: Vec<Second>,
    /// Times between arrivals across the window.
    pub scope: Vec<ScopeColumn>,
    /// The slowest samples, the slowest first.
    pub worst: Vec<Outlier>,
    /// What the task used.
    pub usage: TaskUsage,
}

/// What a load did during the window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadResult {
    /// Copies that were running when the window opened.
    pub copies: u32,
    /// Copies that had ended by themselves before it closed.
    pub ended: u32,
    /// What one operation is (`compile`, `write`, …); empty where operations cannot be counted.
    pub unit: String,
    /// Operations of all copies during the window; `None` where they cannot be counted.
    pub operations: Option<u64>,
    /// Bytes moved by all copies during the window; `None` where they cannot be counted.
    pub bytes: Option<u64>,
    /// Processor time of all copies during the window; `None` where it cannot be read.
    pub cpu_time: Option<Nanos>,
    /// What else of theirs is counted, as frames that a player skipped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Count>,
    /// Of several loads side by side what each did. Their processor time is told of all
    /// together alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartResult>,
}

/// How often something happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// What it is, for one of it: `frame skipped`.
    pub what: String,
    /// How often.
    pub count: u64,
}

/// What one of several loads side by side did during the window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartResult {
    /// The load.
    pub load: Load,
    /// What it did.
    pub achieved: LoadResult,
}

/// How much the machine's counters grew during the window; `None` where one cannot be read.
///
/// From `/proc/stat`, `/proc/vmstat` and `/proc/pressure/*` (proc(5)), and `cpu.stat` of the
/// cgroup (cgroups(7)).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineRates {
    /// The time over which they grew.
    pub over: Nanos,
    /// Context switches.
    pub context_switches: Option<u64>,
    /// Interrupts.
    pub interrupts: Option<u64>,
    /// Softirqs.
    pub softirqs: Option<u64>,
    /// Processes and threads made.
    pub forks: Option<u64>,
    /// Page faults.
    pub page_faults: Option<u64>,
    /// Page faults that needed I/O.
    pub major_faults: Option<u64>,
    /// Processor time not spent idle, of all processors together.
    pub busy: Option<Nanos>,
    /// Processor time that the hypervisor gave to others, of all processors together.
    pub steal: Option<Nanos>,
    /// Time in which some task waited for a processor.
    pub cpu_pressure: Option<Nanos>,
    /// Time in which some task waited for I/O.
    pub io_pressure: Option<Nanos>,
    /// Time in which some task waited for memory.
    pub memory_pressure: Option<Nanos>,
    /// Time in which a quota held back the cgroup of the measuring process, or one above it.
    #[serde(default)]
    pub throttled: Option<Nanos>,
    /// The load average over a minute when the window closed.
    pub load_average: Option<f64>,
}

/// What the measured loop itself costs, measured in the same process just before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProbeCost {
    /// Nanoseconds to read the clock.
    pub clock_read_ns: f64,
    /// Nanoseconds a turn of the loop takes besides the sleep: stamping, keeping
    /// the sample, finding the next due time.
    pub loop_ns: f64,
}

/// Something asked for that the machine did not grant, and what was done instead.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Shortfall {
    /// What was asked for: `policy fifo:90`.
    pub asked: String,
    /// What was done instead: `policy other`.
    pub granted: String,
    /// Why, in a sentence.
    pub reason: String,
    /// The command or change that would grant it, where there is one.
    pub mend: Option<String>,
}

/// One cell measured in one round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Which cell, in which round.
    pub turn: Turn,
    /// When the measured window opened.
    pub started: Instant<Realtime>,
    /// How long it was.
    pub window: Nanos,
    /// The length of the stretches in [`TaskResult::blocks`].
    pub block_length: Nanos,
    /// What each task found.
    pub tasks: Vec<TaskResult>,
    /// What the load did meanwhile.
    pub load: LoadResult,
    /// What the machine did meanwhile.
    pub rates: MachineRates,
    /// What measuring cost.
    pub cost: ProbeCost,
    /// What the machine did not grant.
    pub shortfalls: Vec<Shortfall>,
    /// The window in which events were recorded, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traced: Option<TracedStretch>,
    /// How well another program told what it measured; `None` for our own measurements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
    /// The guest it was measured in; `None` for the machine that ran the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<Box<GuestAccount>>,
}

impl Measurement {
    /// The accounting of all tasks together.
    pub fn accounting(&self) -> Accounting {
        let mut total = Accounting::default();
        for task in &self.tasks {
            total += task.accounting;
        }
        total
    }
}

/// A turn that yielded no result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Which cell, in which round.
    pub turn: Turn,
    /// What happened, in a sentence.
    pub reason: String,
    /// What to do about it, where that is known.
    pub hint: Option<String>,
}
