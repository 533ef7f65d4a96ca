//! The probe: a thread that sleeps from one due time to the next.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::{Duration, Instant as StdInstant};

use rtrb::{Consumer, Producer, RingBuffer};
use tactus_model::cpus::CpuList;
use tactus_model::policy::Scheduling;
use tactus_model::probe::SleepMethod;
use tactus_model::recording::LateWakeup;
use tactus_model::result::Shortfall;
use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_prepare::{Preparation, touch_stack};
use tactus_sys::SysError;
use tactus_sys::memory::Lock;
use tactus_sys::sleep::{Nanosleep, Sleeper};

use crate::histogram::LiveHistogram;

/// How the probe runs.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) interval: Nanos,
    pub(crate) policy: Scheduling,
    /// Where it may run; anywhere if `None`.
    pub(crate) cpus: Option<CpuList>,
    /// A longer latency is late.
    pub(crate) late: Nanos,
    /// Whether memory is locked.
    pub(crate) locks_memory: bool,
}

/// What the probe counts, for other threads to read.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) latency: LiveHistogram,
    /// Due times that had passed before the thread could sleep for them.
    missed: AtomicU64,
    /// Late wakeups.
    late: AtomicU64,
    /// The interval in nanoseconds.
    interval: AtomicU64,
    ended: AtomicBool,
}

const RELAXED: Ordering = Ordering::Relaxed;

impl Counts {
    pub(crate) fn missed(&self) -> u64 {
        self.missed.load(RELAXED)
    }

    pub(crate) fn late(&self) -> u64 {
        self.late.load(RELAXED)
    }

    pub(crate) fn interval(&self) -> Nanos {
        Nanos::from_nanos(self.interval.load(RELAXED))
    }
}

/// The late wakeups that may wait for the watcher, which looks twice a second. More are
/// counted but not passed on.
const WAITING: usize = 1024;

/// The stack that is touched before the thread is measured.
const STACK: usize = 32 << 10;

/// How long its end is waited for.
const PATIENCE: Duration = Duration::from_millis(300);

/// The running probe. Its drop ends it.
#[derive(Debug)]
pub(crate) struct Probe {
    pub(crate) counts: Arc<Counts>,
    pub(crate) shortfalls: Vec<Shortfall>,
    late: Consumer<LateWakeup>,
    handle: Option<JoinHandle<Result<(), SysError>>>,
}

impl Probe {
    /// Starts the thread.
    ///
    /// # Errors
    /// A thread cannot be started, or prepared as far as every thread may be.
    pub(crate) fn start(plan: Plan) -> Result<Self, SysError> {
        let counts = Arc::new(Counts::default());
        counts.interval.store(plan.interval.as_nanos(), RELAXED);
        let (late, lates) = RingBuffer::new(WAITING);
        let (ready, prepared) = channel();
        let shared = Arc::clone(&counts);
        let body = move || {
            let prepared = prepare(&plan);
            let is_ready = prepared.is_ok();
            // The starter waits for it.
            let _ = ready.send(prepared);
            if is_ready { run(&shared, plan.late, late) } else { Ok(()) }
        };
        let spawned = std::thread::Builder::new().name("tactus-probe".to_owned()).spawn(body);
        let handle = Some(spawned.map_err(SysError::of_io("clone"))?);
        let ended = || SysError::new("clone", tactus_sys::Errno::SRCH);
        let shortfalls = prepared.recv().map_err(|_| ended())??;
        Ok(Self { counts, shortfalls, late: lates, handle })
    }

    /// The next late wakeup that was not taken yet.
    pub(crate) fn next_late(&mut self) -> Option<LateWakeup> {
        self.late.pop().ok()
    }

    /// Changes the interval from the next wakeup on.
    pub(crate) fn set_interval(&self, interval: Nanos) {
        self.counts.interval.store(interval.as_nanos(), RELAXED);
    }

    /// Fails as the thread did, if it did.
    pub(crate) fn check(&mut self) -> Result<(), SysError> {
        match self.handle.take_if(|handle| handle.is_finished()) {
            None => Ok(()),
            Some(handle) => handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        }
    }

    fn is_over(&self) -> bool {
        self.handle.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        // It ends at its next wakeup. A thread of higher priority may keep it from its CPU, and is
        // not waited for.
        self.counts.ended.store(true, RELAXED);
        let until = StdInstant::now() + PATIENCE;
        while !self.is_over() && StdInstant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

fn prepare(plan: &Plan) -> Result<Vec<Shortfall>, SysError> {
    let mut preparation = Preparation::new();
    if !plan.policy.is_realtime() {
        preparation.set_timer_slack(Nanos::from_nanos(1))?;
    }
    let cpus = match &plan.cpus {
        Some(cpus) => cpus.clone(),
        None => tactus_sys::affinity::get()?,
    };
    preparation.place(&cpus, plan.policy)?;
    touch_stack(STACK);
    if plan.locks_memory {
        preparation.lock_memory(Lock::OnceTouched);
    }
    Ok(preparation.finish()?.shortfalls)
}

/// The measured loop: allocates nothing, takes no lock, and makes no system call but its sleep.
fn run(counts: &Counts, late_after: Nanos, mut late: Producer<LateWakeup>) -> Result<(), SysError> {
    let thread = tactus_sys::thread::current_id();
    let mut due = tactus_sys::clock::now::<Monotonic>() + counts.interval();
    loop {
        let came: Instant<Monotonic> = Nanosleep.sleep_until(due)?;
        if counts.ended.load(RELAXED) {
            return Ok(());
        }
        let latency = came - due;
        counts.latency.record(latency);
        if latency > late_after {
            counts.late.store(counts.late() + 1, RELAXED);
            let wakeup = LateWakeup { thread, sleep: SleepMethod::Nanosleep, due, came };
            // A full ring is seen in the counts.
            let _ = late.push(wakeup);
        }
        let (next, missed) = next_due(due, came, counts.interval());
        counts.missed.store(counts.missed() + missed, RELAXED);
        due = next;
    }
}

/// The next due time after an arrival, and the number of due times that had passed by then.
fn next_due(
    due: Instant<Monotonic>,
    came: Instant<Monotonic>,
    interval: Nanos,
) -> (Instant<Monotonic>, u64) {
    let next = due + interval;
    if next > came {
        return (next, 0);
    }
    let missed = (came - next).div_floor(interval) + 1;
    (next + interval.saturating_mul(missed), missed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn due_times_that_have_passed_are_missed() {
        let at = Instant::from_nanos;
        let check = |came, next, missed| {
            assert_eq!(next_due(at(100), at(came), Nanos::from_nanos(10)), (at(next), missed));
        };
        check(100, 110, 0);
        check(109, 110, 0);
        check(110, 120, 1);
        check(139, 140, 3);
    }

    #[test]
    fn every_due_time_is_a_wakeup_or_missed() {
        let interval = Nanos::from_millis(1);
        let plan = Plan {
            interval,
            policy: Scheduling::Other { nice: 0 },
            cpus: None,
            late: Nanos::ZERO,
            locks_memory: false,
        };
        let mut probe = Probe::start(plan).unwrap();
        let count = |probe: &Probe| probe.counts.latency.snapshot().count;
        while count(&probe) < 50 {
            probe.check().unwrap();
            std::thread::sleep(interval.into());
        }
        let mut lates = std::iter::from_fn(|| probe.next_late());
        let mut last = lates.next().unwrap();
        let mut intended = 0;
        for late in lates {
            assert!(late.due > last.due && late.came >= late.due);
            intended += (late.due - last.due).div_floor(interval);
            last = late;
        }
        assert!(intended >= 40);
        probe.set_interval(Nanos::from_millis(2));
        assert_eq!(probe.counts.interval(), Nanos::from_millis(2));
    }
}
