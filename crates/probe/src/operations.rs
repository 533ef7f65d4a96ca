//! The measured loop of the cost probe: an operation, repeated without sleep.
//!
//! Samples follow one another in *batches* of about a millisecond. Right before a batch, calls of
//! getppid(2) are timed: they show how fast the machine is at the moment, which on some hosts
//! changes between two modes. Before and after it, the kernel's counters of the thread are read:
//! they show what else had the CPU. Nothing is discarded for what they show; the result keeps both
//! beside the figures of the batch.

mod clocks;
mod memory;
mod switch;
mod trap;

use tactus_model::cost::{CostProbe, Operation as Word, Pages, ReadClock};
use tactus_model::cpus::CpuList;
use tactus_model::result::{Batch, ClockFindings};
use tactus_model::sample::Sample;
use tactus_model::time::{Clock, Instant, Nanos};
use tactus_prepare::TouchedVec;
use tactus_sys::scheduling_record::{Reading, SchedulingRecord};
use tactus_sys::{Errno, SysError, clock, process, usage};

pub(crate) use clocks::ShortestSleeps;

use crate::timer::{SampleMemory, SampleSink, TakenSamples};

/// An operation that can be repeated.
///
/// It has taken its memory and started its partner before the window opens.
pub(crate) trait Operation {
    /// Does what must precede a sample and is not part of it.
    fn prepare(&mut self) -> Result<(), SysError> {
        Ok(())
    }

    /// Does the operation this number of times.
    fn run(&mut self, times: u32) -> Result<(), SysError>;

    /// What its clock showed, found after the window; `None` if it measures no clock.
    fn findings(&mut self) -> Option<ClockFindings> {
        None
    }

    /// The CPU time that others have used for the operation: its partner.
    fn time_of_others(&self) -> Nanos {
        Nanos::ZERO
    }
}

/// Why an operation cannot be measured here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unmeasurable {
    /// The partner has no CPU of its own.
    #[error("the partner needs another CPU, and this process may use only one")]
    OneCpu,
    /// There is no such clock.
    #[error("this machine does not have the clock {0}")]
    NoClock(ReadClock),
    /// The kernel gave normal pages.
    #[error("the kernel gave normal pages instead of huge ones")]
    NoHugePages,
    /// The memory is not there.
    #[error("the operation needs {needed} MB of memory, and {available} MB are available")]
    NoMemory {
        /// What it needs, in megabytes.
        needed: u64,
        /// What is available, in megabytes.
        available: u64,
    },
    /// A call failed.
    #[error(transparent)]
    System(#[from] SysError),
}

impl Unmeasurable {
    /// What the user can do about it.
    pub(crate) const fn hint(self) -> Option<&'static str> {
        match self {
            Self::OneCpu => Some("use partner-cpu = \"same\", or more CPUs"),
            Self::NoClock(_) => Some(
                "the alarm clocks need a real-time clock that wakes the machine, tsc an x86 CPU with \
                 an invariant counter; use another read-clock",
            ),
            Self::NoHugePages => Some(
                "write madvise or always to /sys/kernel/mm/transparent_hugepage/enabled, or use \
                 pages = \"normal\"",
            ),
            Self::NoMemory { .. } => Some("use a smaller size"),
            Self::System(_) => None,
        }
    }
}

/// The shortest sample for which there is memory: no operation is faster.
const SAMPLE_MIN: Nanos = Nanos::from_micros(1);
/// The shortest batch.
const BATCH_MIN: Nanos = Nanos::from_millis(1);
/// The most batches of a window, which are then longer.
const BATCHES_MAX: u64 = 10_000;

/// An operation with the window in which it is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Repetition {
    window: Nanos,
    per_sample: u32,
    batch: Nanos,
}

impl Repetition {
    /// Repeats as `cost` requests; batches begin within the window.
    pub(crate) fn new(cost: &CostProbe, window: Nanos) -> Self {
        let batch = Nanos::from_nanos(window.as_nanos() / BATCHES_MAX).max(BATCH_MIN);
        Self { window, per_sample: cost.per_sample(), batch }
    }

    /// The most samples there can be.
    pub(crate) fn at_most(self) -> u64 {
        self.window.as_nanos() / SAMPLE_MIN.as_nanos() + 1
    }

    /// The most batches there can be.
    fn batches_at_most(self) -> usize {
        (self.window.as_nanos() / self.batch.as_nanos() + 1) as usize
    }
}

/// What an operation needs, ready before the window opens.
pub(crate) struct Bench {
    repetition: Repetition,
    /// `None` for the sleeps of the task's own facility.
    operation: Option<Box<dyn Operation>>,
    record: SchedulingRecord,
    batches: TouchedVec<TakenBatch>,
}

/// What a repeated operation gave.
pub(crate) struct Repeated {
    pub(crate) taken: TakenSamples,
    pub(crate) batches: Vec<Batch>,
    pub(crate) clock: Option<ClockFindings>,
}

/// A batch before its samples are evaluated.
#[derive(Clone, Copy, Debug, Default)]
struct TakenBatch {
    /// Its samples: the index of the first, and that after the last.
    samples: [usize; 2],
    calibration: Nanos,
    before: Counters,
    after: Counters,
}

/// What is read before and after a batch.
#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    at: Nanos,
    ran: Nanos,
    preempted: u64,
    reading: Reading,
}

impl Bench {
    /// Sets up the operation of `cost` in the calling thread, which runs on `cpu`; a partner runs
    /// there or on the next of `cpus`.
    pub(crate) fn open(
        cost: &CostProbe,
        window: Nanos,
        cpu: u32,
        cpus: &CpuList,
    ) -> Result<Self, Unmeasurable> {
        require_memory(cost)?;
        let operation: Box<dyn Operation> = match cost.operation {
            Word::ClockRead => Box::new(clocks::Readings::open(cost.read_clock, cpu, cpus)?),
            Word::Getppid => Box::new(trap::Getppid),
            Word::ReadByte => Box::new(trap::ReadByte::open()?),
            Word::Gettime => Box::new(trap::Gettime),
            Word::GettimeSyscall => Box::new(trap::GettimeSyscall),
            Word::Fault => Box::new(trap::Fault::open(cost)?),
            Word::Pipe | Word::Futex | Word::Eventfd | Word::Yield => {
                switch::open(cost, cpu, cpus)?
            }
            Word::MemoryRead
            | Word::MemoryWrite
            | Word::MemoryCopy
            | Word::MemoryCopyUnaligned
            | Word::MemoryCopyStreaming
            | Word::FirstTouch
            | Word::Recycled => memory::open(cost)?,
            Word::ClockSleep => return Self::of(cost, window, cpu, None),
        };
        Self::of(cost, window, cpu, Some(operation))
    }

    fn of(
        cost: &CostProbe,
        window: Nanos,
        cpu: u32,
        operation: Option<Box<dyn Operation>>,
    ) -> Result<Self, Unmeasurable> {
        let repetition = Repetition::new(cost, window);
        let no_memory = |_| SysError::new("mmap", Errno::NOMEM);
        let batches = TouchedVec::take(repetition.batches_at_most()).map_err(no_memory)?;
        Ok(Self { repetition, operation, record: SchedulingRecord::open(cpu), batches })
    }

    /// Repeats the operation in a window that begins at `start`, or as soon as the task runs after
    /// that; times are relative to that moment.
    ///
    /// Batches begin within the window, and each has a sample, however slow the operation is.
    ///
    /// A sample is due when its operations begin and comes when they are done, so its latency is
    /// their duration, plus that of one clock reading. Within a batch, the loop allocates nothing,
    /// takes no lock, and makes no system call but those of the operation. `sleeps` is the operation
    /// of a bench that has none of its own.
    pub(crate) fn measure<C: Clock>(
        &mut self,
        start: Instant<C>,
        mut memory: SampleMemory,
        sleeps: &mut dyn Operation,
    ) -> Result<Repeated, SysError> {
        let Repetition { window, per_sample, batch } = self.repetition;
        let operation: &mut dyn Operation = match &mut self.operation {
            Some(operation) => operation.as_mut(),
            None => sleeps,
        };
        while clock::now::<C>() < start {
            std::hint::spin_loop();
        }
        // Nothing is due, so on a busy machine the window begins when the task has its CPU.
        let start = clock::now::<C>();
        let (mut taken, mut dropped, mut ended) = (0, 0, Nanos::ZERO);
        while ended < window {
            let calibration = calibrate::<C>();
            let before = Counters::read(&mut self.record, operation, start)?;
            // Brings back what reading the counters has displaced from the caches.
            operation.prepare()?;
            operation.run(per_sample)?;
            let first = taken;
            let until = (before.at + batch).min(window);
            loop {
                operation.prepare()?;
                let due = clock::now::<C>() - start;
                operation.run(per_sample)?;
                let came = clock::now::<C>() - start;
                match memory.keep(Sample { due, came }) {
                    true => taken += 1,
                    false => dropped += 1,
                }
                if came >= until {
                    break;
                }
            }
            let after = Counters::read(&mut self.record, operation, start)?;
            ended = after.at;
            // There is room for as many batches as fit into the window.
            let found = TakenBatch { samples: [first, taken], calibration, before, after };
            let _ = self.batches.try_push(found);
        }
        let samples = memory.into_vec();
        let batches = self.batches.iter().map(|batch| batch.evaluated(&samples)).collect();
        let taken = TakenSamples {
            samples,
            skipped: Vec::new(),
            missed: 0,
            dropped,
            ended,
            passes: Vec::new(),
        };
        Ok(Repeated { taken, batches, clock: operation.findings() })
    }
}

/// Times [`Batch::CALIBRATION_CALLS`] system calls.
fn calibrate<C: Clock>() -> Nanos {
    // Once for the caches.
    process::parent_id();
    let begin = clock::now::<C>();
    for _ in 0..Batch::CALIBRATION_CALLS {
        std::hint::black_box(process::parent_id());
    }
    clock::now::<C>() - begin
}

impl Counters {
    fn read<C: Clock>(
        record: &mut SchedulingRecord,
        operation: &dyn Operation,
        start: Instant<C>,
    ) -> Result<Self, SysError> {
        let reading = record.read();
        let preempted = usage::of_this_thread()?.involuntary_switches;
        let ran = clock::thread_cpu_time() + operation.time_of_others();
        Ok(Self { at: clock::now::<C>() - start, ran, preempted, reading })
    }
}

impl TakenBatch {
    fn evaluated(&self, samples: &[Sample]) -> Batch {
        let Self { samples: [first, end], calibration, before, after } = *self;
        let samples = samples.get(first..end).unwrap_or_default();
        let mut durations: Vec<Nanos> = samples.iter().map(|sample| sample.latency()).collect();
        durations.sort_unstable();
        let more = |of: fn(&Reading) -> Option<Nanos>| {
            Some(of(&after.reading)?.saturating_sub(of(&before.reading)?))
        };
        Batch {
            at: before.at,
            count: durations.len() as u32,
            min: durations.first().copied().unwrap_or_default(),
            median: durations.get(durations.len() / 2).copied().unwrap_or_default(),
            calibration,
            elapsed: after.at - before.at,
            ran: after.ran.saturating_sub(before.ran),
            waited: more(|reading| reading.waited),
            preempted: after.preempted.saturating_sub(before.preempted),
            steal: more(|reading| reading.steal),
        }
    }
}

/// Refuses blocks that the machine has no memory for, since touching them would end some process.
fn require_memory(cost: &CostProbe) -> Result<(), Unmeasurable> {
    let arrays = match cost.operation.has_partner() {
        true => cost.working_set.get().saturating_mul(2),
        // A source and a destination, each with room to align huge pages.
        false if cost.operation.takes("size") => cost.size.get().saturating_mul(2),
        false => 0,
    };
    let available = tactus_sys::memory::available();
    match available {
        Some(available) if available.get() / 2 < arrays => {
            let megabytes = |bytes: u64| bytes / 1_000_000;
            let (needed, available) = (megabytes(arrays), megabytes(available.get()));
            Err(Unmeasurable::NoMemory { needed, available })
        }
        _ => Ok(()),
    }
}

/// Whether the pages are huge.
const fn is_huge(cost: &CostProbe) -> bool {
    matches!(cost.pages, Pages::Huge)
}

#[cfg(test)]
mod tests {
    use tactus_model::bytes::Bytes;
    use tactus_model::cost::{Family, Partner, PartnerCpu, ReadClock};
    use tactus_model::experiment::{Experiment, Overrides};
    use tactus_model::time::Monotonic;
    use tactus_sys::affinity;
    use tactus_sys::sleep::Nanosleep;

    use super::*;

    fn cost(settings: &str) -> CostProbe {
        let text = format!("[settings]\nprobe = \"cost\"\n{settings}");
        let plan = Experiment::parse(&text).unwrap().plan(&Overrides::default()).unwrap();
        plan.cells[0].probe.cost().unwrap().clone()
    }

    const WINDOW: Nanos = Nanos::from_millis(8);

    fn measure(cost: &CostProbe) -> Result<Repeated, Unmeasurable> {
        let cpus = affinity::get()?;
        let cpu = cpus.iter().next().unwrap();
        let mut bench = Bench::open(cost, WINDOW, cpu, &cpus)?;
        let memory = SampleMemory::take(bench.repetition.at_most() as usize).unwrap();
        let (mut sleeper, now) = (Nanosleep, clock::now::<Monotonic>());
        let mut sleeps = ShortestSleeps::<Monotonic, _>::by(&mut sleeper);
        Ok(bench.measure(now, memory, &mut sleeps)?)
    }

    fn check(cost: &CostProbe) {
        let Repeated { taken, batches, clock } = match measure(cost) {
            Err(Unmeasurable::OneCpu | Unmeasurable::NoHugePages) => return,
            // Some machines lack the alarm clocks or the counter.
            Err(Unmeasurable::NoClock(_)) if cost.read_clock != ReadClock::Monotonic => return,
            found => found.unwrap_or_else(|error| panic!("{cost:?}: {error}")),
        };
        let in_batches: u64 = batches.iter().map(|batch| u64::from(batch.count)).sum();
        assert_eq!(in_batches, taken.samples.len() as u64);
        assert!(!batches.is_empty() && taken.dropped == 0, "{cost:?}");
        for batch in &batches {
            assert!(batch.count > 0 && batch.min <= batch.median, "{cost:?}: {batch:?}");
            assert!(batch.median <= batch.elapsed && batch.calibration > Nanos::ZERO);
        }
        assert!(taken.samples.is_sorted_by(|a, b| a.came <= b.due), "{cost:?}");
        let is_of_clock = cost.operation.traits().family == Family::Clock;
        assert_eq!(clock.is_some(), is_of_clock, "{cost:?}");
        assert!(clock.is_none_or(|clock| clock.on_one_cpu.compared > 0), "{cost:?}: {clock:?}");
    }

    #[test]
    fn every_operation_is_measured_in_batches() {
        for operation in Word::ALL {
            let base = cost(&format!("operation = \"{operation}\""));
            let base = CostProbe { size: Bytes::new(8 << 10), ..base };
            check(&base);
            if operation.takes("pages") {
                check(&CostProbe { pages: Pages::Huge, size: Bytes::new(2 << 20), ..base.clone() });
            }
            if operation.takes("working-set") {
                check(&CostProbe { working_set: Bytes::new(10_000), ..base.clone() });
                check(&CostProbe { partner: Partner::Thread, ..base.clone() });
            }
            if operation.takes("read-clock") {
                let of = |&read_clock| check(&CostProbe { read_clock, ..base.clone() });
                let some = [ReadClock::Monotonic, ReadClock::OtherThreadCpu, ReadClock::Tsc];
                some.iter().for_each(of);
            }
            if operation.takes("partner-cpu") {
                check(&CostProbe { partner_cpu: PartnerCpu::Other, ..base });
            }
        }
    }

    #[test]
    fn a_long_window_has_no_more_batches_than_memory_was_taken_for() {
        let getppid = cost("operation = \"getppid\"");
        assert_eq!(Repetition::new(&getppid, WINDOW).batches_at_most(), 9);
        let long = Repetition::new(&getppid, Nanos::from_secs(3600));
        assert!(long.batches_at_most() <= BATCHES_MAX as usize + 1);
    }

    #[test]
    fn a_partner_needs_a_cpu_of_its_own_only_on_another_cpu() {
        let pipe = cost("operation = \"pipe\"\npartner-cpu = \"other\"");
        let cpu = affinity::get().unwrap().iter().next().unwrap();
        let only: CpuList = std::iter::once(cpu).collect();
        assert_eq!(Bench::open(&pipe, WINDOW, cpu, &only).err(), Some(Unmeasurable::OneCpu));
    }
}
