//! Round trips between a task and a partner that sleeps until it is woken.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use tactus_model::bytes::Bytes;
use tactus_model::cost::{CostProbe, Partner as Kind, Way};
use tactus_model::cpus::CpuList;
use tactus_model::recording::ThreadId;
use tactus_model::time::{ClockName, Nanos};
use tactus_sys::doorbell::{Doorbell, Side, Signal};
use tactus_sys::fork::Fork;
use tactus_sys::scheduling_record::Seat;
use tactus_sys::shared_memory::SharedWords;
use tactus_sys::{Errno, SysError, affinity, clock, copy, thread};

use super::memory::Block;
use super::partner::place;
use super::{Operation, Unmeasurable};
use crate::facility;

/// Sets up round trips by this doorbell of a task on `cpu`, with a partner there or on the next of
/// `cpus`.
///
/// The partner inherits the policy of the calling thread.
pub(super) fn start(
    doorbell: impl Doorbell + 'static,
    cost: &CostProbe,
    cpu: u32,
    cpus: &CpuList,
) -> Result<Box<dyn Operation>, Unmeasurable> {
    RoundTrips::start(doorbell, cost, place(cost, cpu, cpus)?)
}

/// The task's side.
struct RoundTrips<D: Doorbell> {
    doorbell: Arc<D>,
    memory: WorkingSet,
    arrival: Arrival,
    seat: Seat,
    /// Ended on drop.
    partner: Option<Partner>,
}

enum Partner {
    Thread(ThreadId, JoinHandle<()>),
    Process(Fork),
}

impl Partner {
    fn thread(&self) -> ThreadId {
        match self {
            Self::Thread(thread, _) => *thread,
            Self::Process(process) => process.thread(),
        }
    }
}

impl<D: Doorbell + 'static> RoundTrips<D> {
    fn start(
        doorbell: D,
        cost: &CostProbe,
        place: u32,
    ) -> Result<Box<dyn Operation>, Unmeasurable> {
        let doorbell = Arc::new(doorbell);
        let memory = WorkingSet::take(cost.working_set)?;
        let arrival = Arrival::of(cost)?;
        let theirs = Theirs {
            memory: WorkingSet::take(cost.working_set)?,
            arrival: arrival.clone(),
            cpus: std::iter::once(place).collect(),
        };
        let partner = match cost.partner {
            Kind::Thread => thread_partner(&doorbell, theirs)?,
            Kind::Process => Partner::Process(Fork::start(|| answer(&*doorbell, theirs))?),
        };
        let seat = Seat { thread: partner.thread(), cpu: place };
        let mut trips = Self { doorbell, memory, arrival, seat, partner: Some(partner) };
        // The first is answered once the partner is on its CPU.
        trips.run(1)?;
        Ok(Box::new(trips))
    }
}

/// What the partner has.
struct Theirs {
    memory: WorkingSet,
    arrival: Arrival,
    cpus: CpuList,
}

/// Where the partner writes when it began to run, if samples are one way.
#[derive(Clone)]
struct Arrival(Option<(Arc<SharedWords>, ClockName)>);

impl Arrival {
    fn of(cost: &CostProbe) -> Result<Self, SysError> {
        let words = match cost.sampling.way {
            Way::OneWay => Some(Arc::new(SharedWords::create(1)?)),
            Way::RoundTrip => None,
        };
        Ok(Self(words.map(|words| (words, cost.timer.clock))))
    }

    #[inline]
    fn note(&self) {
        if let Some((words, clock)) = &self.0 {
            // The partner rings after that, which orders it before the task's next step.
            words.words()[0].store(facility::now(*clock), Ordering::Relaxed);
        }
    }

    fn noted(&self) -> Option<u64> {
        self.0.as_ref().map(|(words, _)| words.words()[0].load(Ordering::Relaxed))
    }
}

fn thread_partner<D: Doorbell + 'static>(
    doorbell: &Arc<D>,
    theirs: Theirs,
) -> Result<Partner, SysError> {
    let (sender, thread) = std::sync::mpsc::sync_channel(1);
    let doorbell = doorbell.clone();
    let started = std::thread::Builder::new().name("partner".to_owned()).spawn(move || {
        let _ = sender.send(thread::current_id());
        answer(&*doorbell, theirs);
    });
    let refused = SysError::new("pthread_create", Errno::AGAIN);
    let handle = started.map_err(|_| refused)?;
    let thread = thread.recv().map_err(|_| refused)?;
    Ok(Partner::Thread(thread, handle))
}

/// The partner's side. It allocates nothing: it may be a copy of a process.
fn answer(doorbell: &impl Doorbell, Theirs { mut memory, arrival, cpus }: Theirs) {
    let mut placed = affinity::set(&cpus).is_ok();
    while doorbell.wait(Side::Second) == Ok(Signal::Go) && placed {
        arrival.note();
        memory.read();
        placed = doorbell.ring(Side::First, Signal::Go).is_ok();
    }
    // A task that waits for an answer learns that there is none.
    if !placed {
        let _ = doorbell.ring(Side::First, Signal::Stop);
    }
}

impl<D: Doorbell> Operation for RoundTrips<D> {
    fn run(&mut self, times: u32) -> Result<(), SysError> {
        for _ in 0..times {
            self.memory.read();
            self.doorbell.ring(Side::Second, Signal::Go)?;
            if self.doorbell.wait(Side::First)? == Signal::Stop {
                return Err(SysError::new("sched_setaffinity", Errno::INVAL));
            }
        }
        Ok(())
    }

    fn handed_over(&self) -> Option<u64> {
        self.arrival.noted()
    }

    fn time_of_others(&self) -> Nanos {
        match &self.partner {
            Some(Partner::Thread(thread, _)) => clock::cpu_time_of_thread(*thread),
            Some(Partner::Process(process)) => process.cpu_time(),
            None => Nanos::ZERO,
        }
    }

    fn partner(&self) -> Option<Seat> {
        Some(self.seat)
    }
}

impl<D: Doorbell> Drop for RoundTrips<D> {
    fn drop(&mut self) {
        let rung = self.doorbell.ring(Side::Second, Signal::Stop);
        // A process is killed when it is dropped.
        if let (Ok(()), Some(Partner::Thread(_, handle))) = (rung, self.partner.take()) {
            let _ = handle.join();
        }
    }
}

/// Memory that a side reads before it hands over, as other work would.
struct WorkingSet(Option<Block>);

impl WorkingSet {
    fn take(size: Bytes) -> Result<Self, Unmeasurable> {
        match size.get() {
            0 => Ok(Self(None)),
            bytes => Ok(Self(Some(Block::take(bytes as usize, false)?))),
        }
    }

    #[inline]
    fn read(&mut self) {
        if let Some(block) = &mut self.0 {
            std::hint::black_box(copy::read(block.bytes()));
        }
    }
}
