//! The measured loop of the cost probe: an operation, repeated without sleep.
//!
//! Samples follow one another in *batches* of about a millisecond. Right before a batch, calls of
//! getppid(2) are timed: they show how fast the machine is at the moment, which on some hosts
//! changes between two modes. Before and after it, the kernel's counters of the thread are read:
//! they show what else had the CPU. Nothing is discarded for what they show; the result keeps both
//! beside the figures of the batch.

use tactus_model::cost::{CostProbe, Operation};
use tactus_model::cpus::CpuList;
use tactus_model::result::{Batch, CpuUse};
use tactus_model::sample::Sample;
use tactus_model::time::{Clock, Instant, Monotonic, Nanos};
use tactus_prepare::TouchedVec;
use tactus_sys::scheduling_record::{Reading, SchedulingRecord, Seat};
use tactus_sys::sleep::{Nanosleep, Sleeper};
use tactus_sys::{Errno, SysError, clock, process, thread, usage};

use super::idle::IdleCounter;
use super::{Noted, Repeatable, Site, Unmeasurable, run};
use crate::apparatus::Measured;
use crate::timer::{SampleMemory, SampleSink, TakenSamples};

/// The shortest sample for which there is memory: no operation is faster. Two threads that yield to
/// each other, or spin on two CPUs, take less than a microsecond.
const SAMPLE_MIN: Nanos = Nanos::from_nanos(250);
/// The shortest batch.
const BATCH_MIN: Nanos = Nanos::from_millis(1);
/// The samples of a batch whose task sleeps between samples.
const PAUSES: u64 = 16;
/// The most batches of a window, which are then longer.
const BATCHES_MAX: u64 = 10_000;

/// An operation with the window in which it is measured.
#[derive(Clone, Copy, Debug)]
struct Repetition {
    window: Nanos,
    per_sample: u32,
    batch: Nanos,
    pause: Nanos,
}

impl Repetition {
    /// Repeats as `cost` requests; batches begin within the window.
    fn new(cost: &CostProbe, window: Nanos) -> Self {
        let pause = cost.sampling.pause;
        let shortest = BATCH_MIN.max(pause.saturating_mul(PAUSES));
        let batch = Nanos::from_nanos(window.as_nanos() / BATCHES_MAX).max(shortest);
        Self { window, per_sample: cost.per_sample(), batch, pause }
    }

    /// The most samples there can be.
    fn at_most(self) -> u64 {
        self.window.as_nanos() / SAMPLE_MIN.as_nanos() + 1
    }

    /// The most batches there can be, unless passes over a file end some of them early.
    fn batches_at_most(self) -> usize {
        (self.window.as_nanos() / self.batch.as_nanos() + 1) as usize
    }
}

/// What an operation needs, ready before the window opens.
pub(crate) struct Bench {
    repetition: Repetition,
    /// `None` for the sleeps of the task's own facility.
    operation: Option<Box<dyn Repeatable>>,
    record: SchedulingRecord,
    /// Whether the partner has a CPU of its own.
    has_sides: bool,
    batches: TouchedVec<TakenBatch>,
    /// The most batches; the window ends early when there is no room for another.
    room: usize,
    idle: Option<IdleCounter>,
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
    /// The CPU time of the task and of its partner.
    ran: [Nanos; 2],
    preempted: u64,
    /// Of the task, and of its partner on another CPU.
    readings: [Reading; 2],
    idle: Option<Nanos>,
}

impl Bench {
    /// Sets up the operation of `cost` at its `site` in the calling thread, which runs on `cpu`; a
    /// partner runs there or on the next of `cpus`.
    pub(crate) fn open(
        cost: &CostProbe,
        mut site: Site,
        window: Nanos,
        cpu: u32,
        cpus: &CpuList,
    ) -> Result<Self, Unmeasurable> {
        let operation = match cost.operation {
            Operation::ClockSleep => None,
            _ => Some(super::open(cost, &mut site, cpu, cpus)?),
        };
        let repetition = Repetition::new(cost, window);
        let no_memory = |_| SysError::new("mmap", Errno::NOMEM);
        // The passes over a cold file end batches early.
        let most = match cost.is_cold() {
            true => BATCHES_MAX as usize,
            false => repetition.batches_at_most(),
        };
        let batches = TouchedVec::take(most).map_err(no_memory)?;
        let own = Seat { thread: thread::current_id(), cpu };
        let partner = operation.as_ref().and_then(|operation| operation.partner());
        let partner = partner.filter(|partner| partner.cpu != cpu);
        Ok(Self {
            repetition,
            operation,
            record: SchedulingRecord::of(own, partner),
            has_sides: partner.is_some(),
            batches,
            room: most,
            idle: site.idle,
        })
    }

    /// The most samples there can be.
    pub(crate) fn samples_at_most(&self) -> u64 {
        self.repetition.at_most()
    }

    /// Repeats the operation in a window that begins at `start`, or as soon as the task runs after
    /// that; times are relative to that moment.
    ///
    /// Samples begin within the window, and there is one, however slow the operation is.
    ///
    /// A sample is due when its operations begin and comes when they are done, so its latency is
    /// their duration, plus that of one clock reading. Within a batch, the loop allocates nothing,
    /// takes no lock, and makes no system call but those of the operation. `sleeps` is the operation
    /// of a bench that has none of its own.
    pub(crate) fn measure<C: Clock>(
        &mut self,
        start: Instant<C>,
        mut memory: SampleMemory,
        sleeps: &mut dyn Repeatable,
    ) -> Result<Measured, Unmeasurable> {
        let Repetition { window, per_sample, batch, pause } = self.repetition;
        let operation: &mut dyn Repeatable = match &mut self.operation {
            Some(operation) => operation.as_mut(),
            None => sleeps,
        };
        let idle = self.idle.as_ref();
        while clock::now::<C>() < start {
            std::hint::spin_loop();
        }
        // Nothing is due, so on a busy machine the window begins when the task has its CPU.
        let start = clock::now::<C>();
        let (mut taken, mut dropped, mut ended) = (0, 0, Nanos::ZERO);
        while ended < window && self.batches.len() < self.room {
            operation.prepare_batch()?;
            let calibration = calibrate::<C>();
            let before = Counters::read(&mut self.record, operation, idle, start)?;
            if operation.left().is_none() {
                // Brings back what reading the counters has displaced from the caches.
                operation.prepare()?;
                run(operation, per_sample)?;
            }
            let first = taken;
            let until = (before.at + batch).min(window);
            loop {
                operation.prepare()?;
                if pause > Nanos::ZERO {
                    Nanosleep.sleep_until(clock::now::<C>() + pause)?;
                }
                let due = clock::now::<C>() - start;
                // A pause, or a wait for the CPU, may end after the window.
                if due >= window && taken > 0 {
                    break;
                }
                run(operation, per_sample)?;
                let done = clock::now::<C>() - start;
                let (due, came) = match operation.noted() {
                    Some(Noted::Arrival(at)) => (due, Instant::<C>::from_nanos(at) - start),
                    Some(Noted::Answer(at)) => (Instant::<C>::from_nanos(at) - start, done),
                    None => (due, done),
                };
                match memory.keep(Sample { due, came }) {
                    true => taken += 1,
                    false => dropped += 1,
                }
                if came >= until || operation.left() == Some(0) {
                    break;
                }
            }
            let after = Counters::read(&mut self.record, operation, idle, start)?;
            ended = after.at;
            if taken > first {
                let found = TakenBatch { samples: [first, taken], calibration, before, after };
                let _ = self.batches.try_push(found);
            }
        }
        let clock = operation.findings();
        let samples = memory.into_vec();
        let batches = self.evaluated(&samples);
        let taken = TakenSamples {
            samples,
            skipped: Vec::new(),
            missed: 0,
            dropped,
            ended,
            passes: Vec::new(),
        };
        Ok(Measured { batches, clock, ..taken.into() })
    }

    fn evaluated(&self, samples: &[Sample]) -> Vec<Batch> {
        let mut previous = None;
        let evaluated = self.batches.iter().map(|taken| {
            let since = previous.replace(taken.after).unwrap_or(taken.before);
            let sides = self.has_sides.then(|| taken.after.sides_since(&since));
            Batch { sides, ..taken.evaluated(samples) }
        });
        evaluated.collect()
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

/// The duration of a system call, in nanoseconds: the median of some calibrations.
pub fn system_call_ns() -> f64 {
    const TRIALS: usize = 51;
    let mut trials: Vec<Nanos> = (0..TRIALS).map(|_| calibrate::<Monotonic>()).collect();
    trials.sort_unstable();
    trials[TRIALS / 2].as_nanos() as f64 / f64::from(Batch::CALIBRATION_CALLS)
}

impl Counters {
    fn read<C: Clock>(
        record: &mut SchedulingRecord,
        operation: &dyn Repeatable,
        idle: Option<&IdleCounter>,
        start: Instant<C>,
    ) -> Result<Self, SysError> {
        let readings = record.read();
        let preempted = usage::of_this_thread()?.involuntary_switches;
        let ran = [clock::thread_cpu_time(), operation.time_of_others()];
        let idle = idle.map(IdleCounter::idle);
        Ok(Self { at: clock::now::<C>() - start, ran, preempted, readings, idle })
    }

    /// What the CPUs of both sides did since an earlier reading.
    fn sides_since(&self, earlier: &Self) -> [CpuUse; 2] {
        [0, 1].map(|side| {
            let (before, after) = (&earlier.readings[side], &self.readings[side]);
            CpuUse {
                elapsed: self.at - earlier.at,
                ran: self.ran[side].saturating_sub(earlier.ran[side]),
                waited: increase(before.waited, after.waited),
                steal: increase(before.steal, after.steal),
                idle: increase(before.idle, after.idle),
            }
        })
    }
}

/// By how much a counter has grown.
fn increase(before: Option<Nanos>, after: Option<Nanos>) -> Option<Nanos> {
    Some(after?.saturating_sub(before?))
}

impl TakenBatch {
    fn evaluated(&self, samples: &[Sample]) -> Batch {
        let Self { samples: [first, end], calibration, before, after } = *self;
        let samples = samples.get(first..end).unwrap_or_default();
        let mut durations: Vec<Nanos> = samples.iter().map(|sample| sample.latency()).collect();
        durations.sort_unstable();
        let (first, last) = (&before.readings[0], &after.readings[0]);
        let both = |counters: Counters| counters.ran.into_iter().sum::<Nanos>();
        Batch {
            at: before.at,
            count: durations.len() as u32,
            min: durations.first().copied().unwrap_or_default(),
            median: durations.get(durations.len() / 2).copied().unwrap_or_default(),
            calibration,
            elapsed: after.at - before.at,
            ran: both(after).saturating_sub(both(before)),
            waited: increase(first.waited, last.waited),
            preempted: after.preempted.saturating_sub(before.preempted),
            steal: increase(first.steal, last.steal),
            idle: increase(before.idle, after.idle),
            sides: None,
        }
    }
}

#[cfg(test)]
mod tests;
