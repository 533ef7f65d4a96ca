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
use tactus_sys::fork::{Fork, Halt};
use tactus_sys::scheduling_record::Seat;
use tactus_sys::shared_memory::SharedWords;
use tactus_sys::{Errno, SysError, affinity, clock, copy, thread};

use super::memory::Block;
use super::partner::{halt_of, place};
use super::{Noted, Repeatable, Unmeasurable, run};
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
) -> Result<Box<dyn Repeatable>, Unmeasurable> {
    RoundTrips::start(doorbell, cost, place(cost, cpu, cpus)?)
}

/// The task's side.
struct RoundTrips<D: Doorbell> {
    doorbell: Arc<D>,
    memory: WorkingSet,
    notice: Option<Notice>,
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
    ) -> Result<Box<dyn Repeatable>, Unmeasurable> {
        Ok(Box::new(Self::begin(doorbell, cost, place)?))
    }

    fn begin(doorbell: D, cost: &CostProbe, place: u32) -> Result<Self, Unmeasurable> {
        let doorbell = Arc::new(doorbell);
        let memory = WorkingSet::take(cost.working_set)?;
        let notice = Notice::of(cost)?;
        let theirs = Theirs {
            memory: WorkingSet::take(cost.working_set)?,
            notice: notice.clone(),
            cpus: std::iter::once(place).collect(),
        };
        let partner = match cost.partner {
            Kind::Thread => thread_partner(&doorbell, theirs)?,
            Kind::Process => {
                let process = Fork::start(|| answer(&*doorbell, theirs))?;
                let bell = doorbell.clone();
                // Nobody else rings for a task whose partner was killed.
                process.when_halted(move || {
                    let _ = bell.ring(Side::First, Signal::Stop);
                })?;
                Partner::Process(process)
            }
        };
        let seat = Seat { thread: partner.thread(), cpu: place };
        let mut trips = Self { doorbell, memory, notice, seat, partner: Some(partner) };
        // The first is answered once the partner is on its CPU.
        run(&mut trips, 1)?;
        Ok(trips)
    }
}

/// What the partner has.
struct Theirs {
    memory: WorkingSet,
    notice: Option<Notice>,
    cpus: CpuList,
}

/// Where the partner notes a time, if samples are one way or back.
#[derive(Clone)]
struct Notice {
    words: Arc<SharedWords>,
    clock: ClockName,
    way: Way,
}

impl Notice {
    fn of(cost: &CostProbe) -> Result<Option<Self>, SysError> {
        let notice = |way| {
            let words = Arc::new(SharedWords::create(1)?);
            Ok(Self { words, clock: cost.timer.clock, way })
        };
        match cost.sampling.way {
            Way::RoundTrip => Ok(None),
            way @ (Way::OneWay | Way::Back) => notice(way).map(Some),
        }
    }

    /// Notes that the partner is where samples of this way begin or end.
    #[inline]
    fn note(notice: Option<&Self>, way: Way) {
        if let Some(notice) = notice.filter(|notice| notice.way == way) {
            // The partner rings after that, which orders it before the task's next step.
            notice.words.words()[0].store(facility::now(notice.clock), Ordering::Relaxed);
        }
    }

    fn noted(&self) -> Noted {
        let at = self.words.words()[0].load(Ordering::Relaxed);
        match self.way {
            Way::Back => Noted::Answer(at),
            Way::OneWay | Way::RoundTrip => Noted::Arrival(at),
        }
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
fn answer(doorbell: &impl Doorbell, Theirs { mut memory, notice, cpus }: Theirs) {
    let mut placed = affinity::set(&cpus).is_ok();
    while doorbell.wait(Side::Second) == Ok(Signal::Go) && placed {
        Notice::note(notice.as_ref(), Way::OneWay);
        memory.read();
        Notice::note(notice.as_ref(), Way::Back);
        placed = doorbell.ring(Side::First, Signal::Go).is_ok();
    }
    // A task that waits for an answer learns that there is none.
    if !placed {
        let _ = doorbell.ring(Side::First, Signal::Stop);
    }
}

impl<D: Doorbell> Repeatable for RoundTrips<D> {
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

    fn noted(&self) -> Option<Noted> {
        self.notice.as_ref().map(Notice::noted)
    }

    fn halt_of_others(&mut self) -> Option<Halt> {
        match &mut self.partner {
            Some(Partner::Process(process)) => halt_of(process),
            Some(Partner::Thread(..)) | None => None,
        }
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

#[cfg(test)]
mod tests {
    use tactus_model::cost::Operation;
    use tactus_model::experiment::{Experiment, Overrides};
    use tactus_sys::doorbell::{EventfdPair, FutexPair, PipePair, YieldPair};
    use tactus_sys::pidfd::PidFd;

    use super::*;

    fn check_killed<D: Doorbell + 'static>(doorbell: D, operation: Operation) {
        let text = format!(
            "[settings]\nprobe = \"cost\"\noperation = \"{operation}\"\npartner = \"process\""
        );
        let plan = Experiment::parse(&text).unwrap().plan(&Overrides::default()).unwrap();
        let cost = plan.cells[0].probe.cost().unwrap();
        let cpu = affinity::get().unwrap().iter().next().unwrap();
        let mut trips = RoundTrips::begin(doorbell, cost, cpu).unwrap();
        let Some(Partner::Process(partner)) = &trips.partner else { panic!("{operation}") };
        PidFd::of_process(partner.id()).unwrap().send(9).unwrap();
        // The partner may still have answered.
        let failure = (0..2).find_map(|_| run(&mut trips, 1).err());
        assert_eq!(failure, Some(Unmeasurable::PartnerHalted(Halt::Killed(9))), "{operation}");
    }

    #[test]
    fn a_partner_that_is_killed_is_named_as_the_cause() {
        check_killed(PipePair::new().unwrap(), Operation::Pipe);
        check_killed(FutexPair::new().unwrap(), Operation::Futex);
        check_killed(EventfdPair::new().unwrap(), Operation::Eventfd);
        check_killed(YieldPair::new().unwrap(), Operation::Yield);
    }
}
