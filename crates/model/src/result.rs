//! The result of one measurement of a cell.

use std::fmt;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::cpus::CpuList;
use crate::experiment::Turn;
use crate::guest::GuestAccount;
use crate::interrupted::Dirt;
use crate::load::Load;
use crate::origin::Precision;
use crate::policy::Scheduling;
use crate::sample::Sample;
use crate::time::{Instant, Nanos, Realtime};
use crate::traced::{HandedOver, TracedStretch};

/// A histogram of durations, in a form for storage and transmission.
///
/// Each bucket is identified by its lowest value; its width follows from the geometry of
/// `tactus_stats::LatencyHistogram` (1 ns up to 2048 ns, then below 0.1 % of the value). There
/// is no overflow bucket: the highest bucket reaches the end of the range.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    /// The number of values.
    pub count: u64,
    /// Their exact sum in nanoseconds; saturates.
    pub sum: Nanos,
    /// The exact minimum; zero if the histogram is empty.
    pub min: Nanos,
    /// The exact maximum; zero if the histogram is empty.
    pub max: Nanos,
    /// The lowest value and the count of each non-empty bucket, ascending.
    pub buckets: Vec<(Nanos, u64)>,
}

/// The account of every intended wakeup: `intended = observed + missed + dropped`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accounting {
    /// Due times within the window, since the task was ready to sleep for the first.
    pub intended: u64,
    /// Wakeups that were measured and stored.
    pub observed: u64,
    /// Due times that passed while the task was still late for an earlier due time.
    pub missed: u64,
    /// Wakeups that happened but were not stored, because the sample memory was full.
    pub dropped: u64,
    /// Observed wakeups that came before they were due; their latency counts as zero.
    pub early: u64,
}

impl Accounting {
    /// Whether every intended wakeup is accounted for.
    pub const fn balances(self) -> bool {
        // In 128 bits, since figures from a file can have any value.
        self.intended as u128 == self.observed as u128 + self.missed as u128 + self.dropped as u128
    }
}

impl AddAssign for Accounting {
    // Saturates, since figures from a file or a process can have any value.
    fn add_assign(&mut self, other: Self) {
        self.intended = self.intended.saturating_add(other.intended);
        self.observed = self.observed.saturating_add(other.observed);
        self.missed = self.missed.saturating_add(other.missed);
        self.dropped = self.dropped.saturating_add(other.dropped);
        self.early = self.early.saturating_add(other.early);
    }
}

/// One second of a task's window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Second {
    /// When the second began, since the window opened.
    pub at: Nanos,
    /// Samples due in it.
    pub count: u64,
    /// Their median latency.
    pub median: Nanos,
    /// The 99th percentile of their latency.
    pub p99: Nanos,
    /// Their maximum latency.
    pub max: Nanos,
}

/// The times between successive arrivals in a slice of the window: one column of the scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScopeColumn {
    /// When the slice began, since the window opened.
    pub at: Nanos,
    /// The shortest time between two arrivals.
    pub min: Nanos,
    /// The longest time between two arrivals.
    pub max: Nanos,
}

/// A late sample with its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outlier {
    /// Its index among the task's samples, counted from 0.
    pub index: u64,
    /// The sample.
    pub sample: Sample,
}

/// How a task was actually scheduled and prepared, as read back from the kernel. For a task of
/// another program: the policy requested of that program, as far as its cell contains it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Granted {
    /// The scheduling class and its parameters.
    pub scheduling: Scheduling,
    /// The CPUs the task could run on.
    pub cpus: CpuList,
    /// Whether its memory was locked.
    pub memory_locked: bool,
    /// Its timer slack; `None` for real-time tasks, which have none.
    pub timer_slack: Option<Nanos>,
}

/// Resource usage of a task in its window, from getrusage(2) with `RUSAGE_THREAD`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskUsage {
    /// Page faults served without I/O.
    pub minor_faults: u64,
    /// Page faults that waited for I/O.
    pub major_faults: u64,
    /// Voluntary context switches.
    pub voluntary_switches: u64,
    /// Involuntary context switches.
    pub involuntary_switches: u64,
    /// CPU time in user mode and in the kernel.
    pub cpu_time: Nanos,
}

/// The result of one task of a probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskResult {
    /// The task's number, counted from 0.
    pub task: u32,
    /// The CPU it was pinned to, if it was pinned.
    pub cpu: Option<u32>,
    /// How it was scheduled.
    pub granted: Granted,
    /// The account of every intended wakeup.
    pub accounting: Accounting,
    /// Latencies of the observed wakeups (*per wakeup*), separate for each block of
    /// [`Measurement::block_length`]. Their sum is the whole window; the blocks are the basis
    /// of bootstrap intervals.
    pub blocks: Vec<Histogram>,
    /// Latencies of the missed due times, each from its due time to the arrival that ended the
    /// delay. Together with `blocks` they give the *intended schedule*.
    pub missed_latencies: Histogram,
    /// The window second by second.
    pub series: Vec<Second>,
    /// Times between arrivals across the window.
    pub scope: Vec<ScopeColumn>,
    /// The worst samples, the worst first.
    pub worst: Vec<Outlier>,
    /// The task's resource usage.
    pub usage: TaskUsage,
    /// The CPU time that the task used in each interval of its probe, in order; empty unless the
    /// probe measures it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub use_over_time: Vec<Nanos>,
    /// The batches of a measured operation; empty for other probes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub batches: Vec<Batch>,
    /// The clock interrupts of its CPU; `None` if they were not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timer_interrupts: Option<TimerInterrupts>,
    /// What the readings of a measured clock showed besides their cost; `None` for other probes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<Box<ClockFindings>>,
    /// What the messages of a delivery showed besides their lateness; `None` for other probes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Box<MessageFindings>>,
    /// What a whole player showed besides the lateness of its frames; `None` for other probes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub playback: Option<Box<PlaybackFindings>>,
    /// Its wakeups by the dirt of the caches; `None` unless a program prepared them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_dirt: Option<Box<ByDirt>>,
}

/// The clock interrupts of a CPU, its ticks and expired timers, while a task was measured there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimerInterrupts {
    /// How many came, by the kernel's own counter.
    pub count: u64,
    /// The time between the two readings of the counter, slightly more than the window.
    pub over: Nanos,
}

impl TimerInterrupts {
    /// Interrupts per second; `None` if no time passed.
    pub fn rate(self) -> Option<f64> {
        (self.over > Nanos::ZERO).then(|| self.count as f64 / self.over.as_secs_f64())
    }
}

/// What the readings of a clock showed, or sleeping by it: its resolution, and whether it ever ran
/// backwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockFindings {
    /// The resolution according to the kernel, by clock_getres(2); `None` for a counter of the CPU.
    pub resolution: Option<Nanos>,
    /// The smallest difference of successive readings that differed, or the shortest sleep; `None`
    /// if none differed.
    pub step: Option<Nanos>,
    /// Successive readings on one CPU, or sleeps.
    pub on_one_cpu: ClockOrder,
    /// Readings on a CPU after a reading on another; `None` if the clock was read on one CPU only.
    pub across_cpus: Option<ClockOrder>,
}

impl ClockFindings {
    /// The findings of two measurements of one clock together.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.on_one_cpu += other.on_one_cpu;
        Self {
            resolution: self.resolution.or(other.resolution),
            step: [self.step, other.step].into_iter().flatten().min(),
            on_one_cpu: self.on_one_cpu,
            across_cpus: match (self.across_cpus, other.across_cpus) {
                (Some(mut one), Some(other)) => {
                    one += other;
                    Some(one)
                }
                (one, other) => one.or(other),
            },
        }
    }

    /// Whether every reading was in order.
    pub fn is_in_order(&self) -> bool {
        let across = self.across_cpus.unwrap_or_default();
        self.on_one_cpu.earlier == 0 && across.earlier == 0
    }
}

/// Whether readings of a clock came in order: each is compared with the one before it. A sleep is
/// compared with the time until which it was to last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockOrder {
    /// How many readings were compared.
    pub compared: u64,
    /// How many of them were earlier.
    pub earlier: u64,
    /// The most by which one was earlier.
    pub earlier_max: Nanos,
}

impl ClockOrder {
    /// Counts a reading that was earlier than the one before it by this much; zero if it was not.
    pub fn compare(&mut self, earlier_by: Nanos) {
        *self += Self {
            compared: 1,
            earlier: u64::from(earlier_by > Nanos::ZERO),
            earlier_max: earlier_by,
        };
    }
}

impl AddAssign for ClockOrder {
    // Saturates, since figures from a file or a process can have any value.
    fn add_assign(&mut self, other: Self) {
        self.compared = self.compared.saturating_add(other.compared);
        self.earlier = self.earlier.saturating_add(other.earlier);
        self.earlier_max = self.earlier_max.max(other.earlier_max);
    }
}

/// Consecutive samples of an operation, with what was read right before and after them: whether
/// the machine was as fast as usual, and what else had the CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// When its first sample began, since the window opened.
    pub at: Nanos,
    /// The number of its samples.
    pub count: u32,
    /// The shortest of them.
    pub min: Nanos,
    /// Their median.
    pub median: Nanos,
    /// The duration of [`Batch::CALIBRATION_CALLS`] calls of getppid(2) right before it.
    pub calibration: Nanos,
    /// Its duration.
    pub elapsed: Nanos,
    /// The CPU time of the task, and of its partner if it has one, in that time.
    pub ran: Nanos,
    /// How long the task waited for its CPU; `None` if the kernel does not count it.
    pub waited: Option<Nanos>,
    /// How often the task was preempted.
    pub preempted: u64,
    /// Steal time of the task's CPU, counted in steps of 10 ms; `None` if it cannot be read.
    pub steal: Option<Nanos>,
    /// How long the task's CPU was idle, by a thread of the lowest priority that counts; `None`
    /// without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<Nanos>,
    /// What the CPUs of the task and of its partner did, in that order; `None` unless the partner
    /// has a CPU of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sides: Option<[CpuUse; 2]>,
}

/// What a CPU did from the end of one batch to the end of the next, for a side of an operation and
/// for others. The first batch of a window counts from its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuUse {
    /// The time from end to end.
    pub elapsed: Nanos,
    /// The CPU time of the side.
    pub ran: Nanos,
    /// How long the side waited for the CPU; `None` if the kernel does not count it.
    pub waited: Option<Nanos>,
    /// Steal time of the CPU, in steps of 10 ms; `None` if it cannot be read.
    pub steal: Option<Nanos>,
    /// Idle time of the CPU, likewise.
    pub idle: Option<Nanos>,
}

impl Batch {
    /// The number of calls that [`Self::calibration`] times.
    pub const CALIBRATION_CALLS: u32 = 128;
}

/// What the messages of a delivery showed besides their lateness at the receiver.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageFindings {
    /// The times between successive arrivals at the receiver.
    pub intervals: Histogram,
    /// From the due time of a message to the beginning of the call that wrote it: how late the output
    /// thread was.
    pub output: Histogram,
    /// From the beginning of the call that wrote a message to the receiver's stamp: the error of
    /// the stamps is at most that.
    pub receiver: Histogram,
    /// The messages that were handed over after their time.
    pub handed_over_late: u64,
    /// When the output thread wrote each message, for a window whose events are recorded. A result
    /// has it in its [`TracedTask`](crate::traced::TracedTask).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<HandedOver>,
}

/// What a whole player showed besides the lateness of its frames.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaybackFindings {
    /// From the instant at which a frame was to be handed over, which is before it is due, to the
    /// instant at which it was seen.
    pub frame_times: Histogram,
    /// From handing a frame over to when it was seen.
    pub drawing: Histogram,
    /// CPU time of the decoders, with their start.
    pub decoder_cpu: Nanos,
    /// CPU time of the player's own process from the start of its clock to its end.
    pub player_cpu: Nanos,
    /// CPU time of the X server over the same time.
    pub display_cpu: Nanos,
    /// What became of the sound; `None` if none was played.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sound: Option<SoundFindings>,
}

/// What became of the sound of a player.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SoundFindings {
    /// Frames of the sound that were played.
    pub played: u64,
    /// Frames that were cut, because they came too late.
    pub cut: u64,
}

/// The wakeups of a task by the dirt of the caches that they found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByDirt {
    /// The wakeups of each kind of dirt, the least dirt first.
    pub kinds: Vec<OfDirt>,
    /// The due times, since the window opened, of the wakeups for which the caches were not
    /// prepared in time; they are in none of the kinds.
    pub unprepared: Vec<Nanos>,
}

/// The wakeups of a task with one kind of dirt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfDirt {
    /// The dirt.
    pub dirt: Dirt,
    /// Their latencies.
    pub latencies: Histogram,
    /// How long the task then took to read its working set: the effect of the dirt.
    pub first_pass: Histogram,
    /// How long it took to read the same again.
    pub second_pass: Histogram,
}

/// What a load achieved during the window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadResult {
    /// Copies running when the window opened.
    pub copies: u32,
    /// Copies that had exited on their own before it closed.
    pub ended: u32,
    /// The name of operations in the plural (`compiles`, `transfers`, …); empty if operations cannot be counted.
    pub unit: String,
    /// Operations of all copies during the window; `None` if they cannot be counted.
    pub operations: Option<u64>,
    /// Bytes moved by all copies during the window; `None` if they cannot be counted.
    pub bytes: Option<u64>,
    /// CPU time of all copies during the window; `None` if it cannot be read.
    pub cpu_time: Option<Nanos>,
    /// Further counts, for example the frames that a player skipped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Count>,
    /// The results of the individual loads if several run together. Their CPU time is known
    /// only for all of them combined.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartResult>,
}

/// How often something happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// The name of these events in the plural: `frames skipped`.
    pub what: String,
    /// How often.
    pub count: u64,
}

/// What one of several loads achieved during the window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartResult {
    /// The load.
    pub load: Load,
    /// Its result.
    pub achieved: LoadResult,
}

/// How much the machine's counters grew during the window; `None` for a counter that cannot be
/// read.
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
    /// Processes and threads created.
    pub forks: Option<u64>,
    /// Page faults.
    pub page_faults: Option<u64>,
    /// Page faults that needed I/O.
    pub major_faults: Option<u64>,
    /// CPU time not spent idle, summed over all CPUs.
    pub busy: Option<Nanos>,
    /// Steal time, summed over all CPUs.
    pub steal: Option<Nanos>,
    /// Time in which some task waited for a CPU.
    pub cpu_pressure: Option<Nanos>,
    /// Time in which some task waited for I/O.
    pub io_pressure: Option<Nanos>,
    /// Time in which some task waited for memory.
    pub memory_pressure: Option<Nanos>,
    /// Time in which a quota throttled the cgroup of the measuring process or an ancestor.
    #[serde(default)]
    pub throttled: Option<Nanos>,
    /// The one-minute load average when the window closed.
    pub load_average: Option<f64>,
}

/// The overhead of the measured loop, measured in the same process just before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProbeCost {
    /// Nanoseconds to read the clock.
    pub clock_read_ns: f64,
    /// Nanoseconds per iteration of the loop besides the sleep: timestamping, storing the
    /// sample, computing the next due time.
    pub loop_ns: f64,
}

/// A request that the machine did not grant, and what was done instead.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Shortfall {
    /// The request: `policy fifo:90`.
    pub asked: String,
    /// What was done instead: `policy other`.
    pub granted: String,
    /// The reason, in a sentence.
    pub reason: String,
    /// The command or change that would grant it, if there is one.
    #[serde(alias = "mend")]
    pub fix: Option<String>,
}

/// One sentence with the reason, and one with the fix if there is one.
impl fmt::Display for Shortfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { asked, granted: _, reason, fix } = self;
        write!(f, "{asked}: {reason}.")?;
        fix.iter().try_for_each(|fix| write!(f, " fix: {fix}"))
    }
}

/// One cell measured in one round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Which cell, in which round.
    pub turn: Turn,
    /// When the measured window opened, in real time.
    pub started: Instant<Realtime>,
    /// The duration of the window.
    pub window: Nanos,
    /// The duration of the blocks in [`TaskResult::blocks`].
    pub block_length: Nanos,
    /// The result of each task.
    pub tasks: Vec<TaskResult>,
    /// What the load achieved in the window.
    pub load: LoadResult,
    /// What the machine did in the window.
    pub rates: MachineRates,
    /// The overhead of measuring.
    pub cost: ProbeCost,
    /// The requests that the machine did not grant.
    pub shortfalls: Vec<Shortfall>,
    /// The window in which events were recorded, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traced: Option<TracedStretch>,
    /// The precision of another program's result; `None` for measurements by Tactus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
    /// The guest of the measurement; `None` for the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<Box<GuestAccount>>,
}

impl Measurement {
    /// The account of all tasks combined.
    pub fn accounting(&self) -> Accounting {
        let mut total = Accounting::default();
        for task in &self.tasks {
            total += task.accounting;
        }
        total
    }
}

/// A turn without a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Which cell, in which round.
    pub turn: Turn,
    /// What happened, in a sentence.
    pub reason: String,
    /// What to do about it, if known.
    pub hint: Option<String>,
    /// Whether the host of a guest failed, e.g. by a full disk, and not what was measured.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_host: bool,
}
