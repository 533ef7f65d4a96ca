//! Reading clocks and sleeping by them: the cost, and whether the clock keeps what it promises.

use std::hint::{black_box, spin_loop};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use tactus_model::cost::ReadClock;
use tactus_model::cpus::CpuList;
use tactus_model::recording::ThreadId;
use tactus_model::result::{ClockFindings, ClockOrder};
use tactus_model::time::{Clock, Instant, Monotonic, Nanos};
use tactus_sys::clock::ClockReader;
use tactus_sys::sleep::Sleeper;
use tactus_sys::{Errno, SysError, affinity, clock, process, thread};

use super::{Repeatable, Unmeasurable};

/// How long a clock is read for its resolution: more than the longest tick, which is the step of
/// coarse clocks.
const WATCHED: Nanos = Nanos::from_millis(25);
/// How long two CPUs hand readings to each other.
const EXCHANGED: Nanos = Nanos::from_millis(5);
/// How long the task waits for the partner to get the other CPU, which may be busy.
const AWAITED: Nanos = Nanos::from_millis(100);
/// The most other CPUs with which the task's CPU is compared.
const OTHERS_MAX: usize = 64;

/// Readings of a clock.
pub(super) struct Readings {
    clock: ReadClock,
    reader: ClockReader,
    cpu: u32,
    cpus: CpuList,
    /// The thread whose CPU time is read.
    _other: Option<Sleeping>,
}

impl Readings {
    pub(super) fn open(clock: ReadClock, cpu: u32, cpus: &CpuList) -> Result<Self, Unmeasurable> {
        let sleeping = matches!(clock, ReadClock::OtherThreadCpu).then(Sleeping::start);
        let sleeping = sleeping.transpose()?;
        let parent = || ThreadId(process::parent_id() as i32);
        let other = sleeping.as_ref().map_or_else(parent, |sleeping| sleeping.id);
        let reader = ClockReader::open(clock, other).map_err(|_| Unmeasurable::NoClock(clock))?;
        Ok(Self { clock, reader, cpu, cpus: cpus.clone(), _other: sleeping })
    }

    /// Compares successive readings on this CPU; returns the smallest step as well.
    fn watch(&self) -> (ClockOrder, Option<Nanos>) {
        let (mut order, mut step) = (ClockOrder::default(), u64::MAX);
        let until = clock::now::<Monotonic>() + WATCHED;
        let mut last = self.reader.read();
        let mut is_over = false;
        while !is_over {
            // Readings follow the end, in case the task had no CPU until then.
            is_over = clock::now::<Monotonic>() >= until;
            for _ in 0..64 {
                let next = self.reader.read();
                order.compare(earlier_by(self.reader, last, next));
                if next > last {
                    step = step.min(next - last);
                }
                last = next;
            }
        }
        (order, (step < u64::MAX).then(|| self.reader.length(step)))
    }

    /// Compares readings here with readings on other CPUs, one after another; `None` if no other
    /// CPU answered.
    fn exchange(&self) -> Option<ClockOrder> {
        let others = self.cpus.iter().filter(|other| *other != self.cpu).take(OTHERS_MAX);
        let mut all = ClockOrder::default();
        others.for_each(|other| all += Exchange::with(self.reader, other));
        (all.compared > 0).then_some(all)
    }
}

impl Repeatable for Readings {
    fn run(&mut self, times: u32) -> Result<(), SysError> {
        let reader = self.reader;
        for _ in 0..times {
            black_box(reader.read());
        }
        Ok(())
    }

    fn findings(&mut self) -> Option<ClockFindings> {
        let (on_one_cpu, step) = self.watch();
        let across_cpus = if self.clock.is_shared() { self.exchange() } else { None };
        Some(ClockFindings { resolution: self.reader.resolution(), step, on_one_cpu, across_cpus })
    }
}

/// By how much the second reading is earlier than the first.
fn earlier_by(reader: ClockReader, first: u64, second: u64) -> Nanos {
    reader.length(first.saturating_sub(second))
}

/// A thread that sleeps until this is dropped.
struct Sleeping {
    id: ThreadId,
    /// Dropped before the thread is joined, which wakes it.
    wake: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Sleeping {
    fn start() -> Result<Self, SysError> {
        let ((wake, asleep), (sender, receiver)) = (channel::<()>(), channel());
        let started = std::thread::Builder::new().name("sleeping".to_owned()).spawn(move || {
            let _ = sender.send(thread::current_id());
            let _ = asleep.recv();
        });
        let refused = SysError::new("pthread_create", Errno::AGAIN);
        let thread = started.map_err(|_| refused)?;
        let id = receiver.recv().map_err(|_| refused)?;
        Ok(Self { id, wake: Some(wake), thread: Some(thread) })
    }
}

impl Drop for Sleeping {
    fn drop(&mut self) {
        drop(self.wake.take());
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Two CPUs that hand a reading to each other, so that each reads after the other.
#[derive(Default)]
struct Exchange {
    turn: AtomicU32,
    reading: AtomicU64,
}

/// Whose turn it is.
const NOBODY: u32 = 0;
const TASK: u32 = 1;
const PARTNER: u32 = 2;
const OVER: u32 = 3;

impl Exchange {
    /// Exchanges readings of a clock with a thread on the CPU `other`. A thread that cannot be
    /// started or gets no CPU in time gives none.
    fn with(reader: ClockReader, other: u32) -> ClockOrder {
        let exchange = Self::default();
        std::thread::scope(|scope| {
            let cpus: CpuList = std::iter::once(other).collect();
            let partner = std::thread::Builder::new().name("partner".to_owned());
            let theirs = &exchange;
            let partner = partner.spawn_scoped(scope, move || match affinity::set(&cpus) {
                Ok(()) => theirs.answer(reader),
                Err(_) => ClockOrder::default(),
            });
            let Ok(partner) = partner else { return ClockOrder::default() };
            let mut order = exchange.lead(reader);
            order += partner.join().unwrap_or_default();
            order
        })
    }

    /// The side of the task, which ends the exchange.
    fn lead(&self, reader: ClockReader) -> ClockOrder {
        let mut order = ClockOrder::default();
        let awaited = clock::now::<Monotonic>() + AWAITED;
        while self.turn.load(Ordering::Acquire) == NOBODY && clock::now::<Monotonic>() < awaited {
            spin_loop();
        }
        let until = clock::now::<Monotonic>() + EXCHANGED;
        while clock::now::<Monotonic>() < until {
            match self.turn.load(Ordering::Acquire) {
                TASK => self.take_turn(reader, &mut order, [TASK, PARTNER]),
                _ => spin_loop(),
            }
        }
        self.turn.store(OVER, Ordering::Release);
        order
    }

    /// The side of the partner.
    fn answer(&self, reader: ClockReader) -> ClockOrder {
        let mut order = ClockOrder::default();
        self.reading.store(reader.read(), Ordering::Relaxed);
        // Nobody else waits yet; the exchange may be over already.
        let _ = self.turn.compare_exchange(NOBODY, TASK, Ordering::Release, Ordering::Relaxed);
        loop {
            match self.turn.load(Ordering::Acquire) {
                PARTNER => self.take_turn(reader, &mut order, [PARTNER, TASK]),
                OVER => return order,
                _ => spin_loop(),
            }
        }
    }

    fn take_turn(&self, reader: ClockReader, order: &mut ClockOrder, [mine, next]: [u32; 2]) {
        let now = reader.read();
        order.compare(earlier_by(reader, self.reading.load(Ordering::Relaxed), now));
        self.reading.store(now, Ordering::Relaxed);
        // The task may have ended the exchange meanwhile, and it must stay over.
        let _ = self.turn.compare_exchange(mine, next, Ordering::AcqRel, Ordering::Relaxed);
    }
}

/// How far ahead the due time of the shortest sleep is.
const LEAST: Nanos = Nanos::from_micros(1);

/// The shortest sleeps by a facility: each until [`LEAST`] from now.
pub(crate) struct ShortestSleeps<'s, C, S> {
    sleeper: &'s mut S,
    order: ClockOrder,
    shortest: Option<Nanos>,
    clock: PhantomData<C>,
}

impl<'s, C: Clock, S: Sleeper<C>> ShortestSleeps<'s, C, S> {
    pub(crate) fn by(sleeper: &'s mut S) -> Self {
        Self { sleeper, order: ClockOrder::default(), shortest: None, clock: PhantomData }
    }
}

impl<C: Clock, S: Sleeper<C>> Repeatable for ShortestSleeps<'_, C, S> {
    fn run(&mut self, times: u32) -> Result<(), SysError> {
        for _ in 0..times {
            let began: Instant<C> = clock::now();
            let due = began + LEAST;
            let came = self.sleeper.sleep_until(due)?;
            self.order.compare(due - came);
            let slept = came - began;
            self.shortest = Some(self.shortest.map_or(slept, |shortest| shortest.min(slept)));
        }
        Ok(())
    }

    fn findings(&mut self) -> Option<ClockFindings> {
        Some(ClockFindings {
            resolution: Some(clock::resolution::<C>()),
            step: self.shortest,
            on_one_cpu: self.order,
            across_cpus: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(clock: ReadClock) -> ClockFindings {
        let cpus = affinity::get().unwrap();
        let cpu = cpus.iter().next().unwrap();
        Readings::open(clock, cpu, &cpus).unwrap().findings().unwrap()
    }

    #[test]
    fn the_monotonic_clock_never_runs_backwards_and_a_coarse_one_steps_by_a_tick() {
        let fine = findings(ReadClock::Monotonic);
        assert_eq!(fine.on_one_cpu.earlier, 0, "{fine:?}");
        assert!(fine.across_cpus.is_none_or(|order| order.earlier == 0), "{fine:?}");
        let coarse = findings(ReadClock::MonotonicCoarse);
        assert!(coarse.step > fine.step, "{coarse:?}, {fine:?}");
        assert_eq!(coarse.resolution, Some(clock::tick()));
    }

    #[test]
    fn a_clock_that_differs_between_cpus_is_found() {
        // The CPU time of a thread is its own: exchanged as if it were shared, the partner's is
        // earlier than that of the task, which has computed for a while.
        let cpus = affinity::get().unwrap();
        if cpus.len() < 2 {
            return tactus_testing::skip(tactus_testing::Need::Machine, "there is only one CPU");
        }
        let cpu = cpus.iter().next().unwrap();
        affinity::set(&std::iter::once(cpu).collect()).unwrap();
        let readings = Readings::open(ReadClock::ThreadCpu, cpu, &cpus).unwrap();
        readings.watch();
        // On a busy machine, the partner may get no CPU in the time of an exchange, or may have
        // computed for longer than the task.
        let exchanges: Vec<_> = (0..200).filter_map(|_| readings.exchange()).collect();
        affinity::set(&cpus).unwrap();
        let is_found =
            exchanges.iter().any(|found| found.earlier > 0 && found.earlier_max > Nanos::ZERO);
        assert!(is_found, "{exchanges:?}");
    }

    #[test]
    fn a_cpu_that_is_not_there_gives_no_exchange() {
        let cpus: CpuList = [0, 4095].into_iter().collect();
        let readings = Readings::open(ReadClock::Monotonic, 0, &cpus).unwrap();
        assert_eq!(readings.exchange(), None);
    }
}
