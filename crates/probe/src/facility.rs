//! The measured loop for each sleep method and each clock, behind one trait.
//!
//! The loop is compiled for every pair of sleeper and clock, so it contains no decisions about
//! them. Outside the loop, tasks handle all pairs alike.

use tactus_model::probe::{Probe, SleepMethod, TimerProbe, Work};
use tactus_model::result::{Batch, ProbeCost};
use tactus_model::time::{Boottime, Clock, ClockName, Instant, Monotonic, Nanos, Realtime, Tai};
use tactus_sys::sleep::{
    Alarm, Futex, IoUring, Itimer, Nanosleep, NanosleepRelative, PosixTimer, Ppoll, SignalHandler,
    Sleeper, Timerfd,
};
use tactus_sys::{SysError, clock};

use crate::cost::{cost_of_loop, cost_of_playing};
use crate::frames::{Player, play};
use crate::live::RingWriter;
use crate::net::{Bursts, NetError, Sent, Site};
use crate::operations::{Bench, Repetition};
use crate::schedule::Schedule;
use crate::sort::{Sorts, sort_repeatedly};
use crate::timer::{Rest, SampleMemory, TakenSamples, keep_measuring, measure};
use crate::work::{Computing, Pace, Share};

/// What a task does in its window.
#[derive(Clone, Debug)]
pub(crate) enum Course {
    /// Wakes at the due times of a schedule.
    Wakeups(Schedule),
    /// Plays frames.
    Frames(Player),
    /// Sorts repeatedly.
    Sorts(Sorts),
    /// Sends bursts of packets.
    Bursts(Bursts),
    /// Repeats an operation.
    Operations(Repetition),
}

impl Course {
    /// Passes over the due times before a task is ready to sleep for the first, `late` after its
    /// window opened. Frames decide themselves what is too late, and where nothing is due nothing is.
    pub(crate) fn pass_until_ready(&mut self, late: Nanos) {
        if let (Self::Wakeups(schedule), true) = (self, late > Nanos::ZERO) {
            schedule.skip_until(late);
        }
    }

    /// The most samples there can be: one for each due time, or as many as the fastest machine can
    /// do.
    pub(crate) fn at_most(&self) -> u64 {
        match self {
            Self::Wakeups(schedule) => schedule.remaining(),
            Self::Frames(player) => player.intended(),
            Self::Sorts(sorts) => sorts.at_most(),
            Self::Bursts(bursts) => bursts.count(),
            Self::Operations(repetition) => repetition.at_most(),
        }
    }

    /// How many samples were intended. Due times are counted independently of the samples, so
    /// that the sum checks the loop; what began without a due time was intended.
    pub(crate) fn intended(&self, taken: &TakenSamples) -> u64 {
        match self {
            Self::Wakeups(_) | Self::Frames(_) | Self::Bursts(_) => self.at_most(),
            Self::Sorts(_) | Self::Operations(_) => taken.samples.len() as u64 + taken.dropped,
        }
    }
}

/// A timer facility of the calling thread, ready to measure.
///
/// Instants are plain nanoseconds of the probe's clock here, because a task and the process
/// that starts it agree on the clock beforehand.
pub(crate) trait Facility {
    /// Runs the measured loop of `course`.
    fn measure(
        &mut self,
        course: Course,
        start: u64,
        memory: SampleMemory,
    ) -> Result<TakenSamples, SysError>;

    /// Runs the measured loop; its samples go into `ring`, where a viewer reads them meanwhile.
    fn measure_live(
        &mut self,
        schedule: Schedule,
        start: u64,
        ring: &mut RingWriter,
    ) -> Result<(), SysError>;

    /// Sends the bursts of `site` in a window that opens at `start`.
    fn send(&mut self, site: &mut Site, start: u64) -> Result<Sent, NetError>;

    /// Repeats the operation of `bench` in a window that opens at `start`.
    fn repeat(
        &mut self,
        bench: &mut Bench,
        start: u64,
        memory: SampleMemory,
    ) -> Result<(TakenSamples, Vec<Batch>), SysError>;

    /// Sleeps until `instant`, by clock_nanosleep(2) whatever the facility is.
    fn sleep_until(&self, instant: u64) -> Result<(), SysError>;
}

/// Sets up the facility that `probe` requests, in the calling thread.
///
/// # Errors
/// The facility does not exist here, or is not permitted.
pub(crate) fn open(probe: &TimerProbe) -> Result<Box<dyn Facility>, SysError> {
    match probe.clock {
        ClockName::Monotonic => match probe.sleep {
            // These two know only the monotonic clock.
            SleepMethod::Ppoll => Ok(by_sleeping::<Monotonic>(probe.work, Ppoll)),
            SleepMethod::Itimer => Ok(by_alarm::<Monotonic>(probe.work, Itimer::new()?)),
            _ => open_by::<Monotonic>(probe),
        },
        ClockName::Realtime => open_by::<Realtime>(probe),
        ClockName::Tai => open_by::<Tai>(probe),
        ClockName::Boottime => open_by::<Boottime>(probe),
    }
}

fn open_by<C: Clock>(probe: &TimerProbe) -> Result<Box<dyn Facility>, SysError> {
    let work = probe.work;
    Ok(match probe.sleep {
        SleepMethod::Nanosleep => by_sleeping::<C>(work, Nanosleep),
        SleepMethod::NanosleepRelative => by_sleeping::<C>(work, NanosleepRelative),
        SleepMethod::Timerfd => by_sleeping::<C>(work, Timerfd::new()?),
        SleepMethod::PosixTimer => by_sleeping::<C>(work, PosixTimer::new()?),
        SleepMethod::SignalHandler => by_alarm::<C>(work, SignalHandler::new()?),
        SleepMethod::Futex => by_sleeping::<C>(work, Futex::new()?),
        SleepMethod::IoUring => by_sleeping::<C>(work, IoUring::new()?),
        // `Cell::check` refuses these before anything starts.
        SleepMethod::Ppoll => return Err(SysError::new("ppoll", tactus_sys::Errno::INVAL)),
        SleepMethod::Itimer => return Err(SysError::new("setitimer", tactus_sys::Errno::INVAL)),
    })
}

fn by_sleeping<C: Clock>(work: Work, sleeper: impl Sleeper<C> + 'static) -> Box<dyn Facility> {
    Box::new(Loop::<C, _> { sleeper, share: share::<C>(work), clock: std::marker::PhantomData })
}

fn by_alarm<C: Clock>(work: Work, alarm: impl Alarm<C> + 'static) -> Box<dyn Facility> {
    if work == Work::Continuous {
        by_sleeping::<C>(work, Computing::new(alarm, Pace::calibrate::<C>()))
    } else {
        by_sleeping::<C>(work, alarm)
    }
}

fn share<C: Clock>(work: Work) -> Option<Share> {
    match work {
        Work::Percent(percent) => Some(Share::new(percent, Pace::calibrate::<C>())),
        Work::None | Work::Continuous => None,
    }
}

struct Loop<C, S> {
    sleeper: S,
    share: Option<Share>,
    clock: std::marker::PhantomData<C>,
}

impl<C: Clock, S: Sleeper<C>> Facility for Loop<C, S> {
    fn measure(
        &mut self,
        course: Course,
        start: u64,
        memory: SampleMemory,
    ) -> Result<TakenSamples, SysError> {
        let start = Instant::<C>::from_nanos(start);
        let sleeper = &mut self.sleeper;
        match (course, &mut self.share) {
            (Course::Wakeups(schedule), Some(share)) => {
                measure(sleeper, share, schedule, start, memory)
            }
            (Course::Wakeups(schedule), None) => {
                measure(sleeper, &mut Rest, schedule, start, memory)
            }
            (Course::Frames(player), Some(share)) => play(sleeper, share, &player, start, memory),
            (Course::Frames(player), None) => play(sleeper, &mut Rest, &player, start, memory),
            (Course::Sorts(sorts), _) => sort_repeatedly(sorts, start, memory),
            // A sender needs a path: see `Self::send`.
            (Course::Bursts(_), _) => Err(SysError::new("sendto", tactus_sys::Errno::DESTADDRREQ)),
            // An operation needs a bench: see `Self::repeat`.
            (Course::Operations(_), _) => Err(SysError::new("getppid", tactus_sys::Errno::NOSYS)),
        }
    }

    fn send(&mut self, site: &mut Site, start: u64) -> Result<Sent, NetError> {
        site.send::<C>(&mut self.sleeper, Instant::from_nanos(start))
    }

    fn repeat(
        &mut self,
        bench: &mut Bench,
        start: u64,
        memory: SampleMemory,
    ) -> Result<(TakenSamples, Vec<Batch>), SysError> {
        bench.measure::<C>(Instant::from_nanos(start), memory)
    }

    fn measure_live(
        &mut self,
        schedule: Schedule,
        start: u64,
        ring: &mut RingWriter,
    ) -> Result<(), SysError> {
        let start = Instant::<C>::from_nanos(start);
        match &mut self.share {
            Some(share) => keep_measuring(&mut self.sleeper, share, schedule, start, ring),
            None => keep_measuring(&mut self.sleeper, &mut Rest, schedule, start, ring),
        }
        .map(drop)
    }

    fn sleep_until(&self, instant: u64) -> Result<(), SysError> {
        Nanosleep.sleep_until(Instant::<C>::from_nanos(instant)).map(drop)
    }
}

/// Reads the clock, in nanoseconds.
pub(crate) fn now(clock: ClockName) -> u64 {
    match clock {
        ClockName::Monotonic => clock::now::<Monotonic>().as_nanos(),
        ClockName::Realtime => clock::now::<Realtime>().as_nanos(),
        ClockName::Tai => clock::now::<Tai>().as_nanos(),
        ClockName::Boottime => clock::now::<Boottime>().as_nanos(),
    }
}

/// Measures the cost of the loop of `probe` on the CPU of the calling thread.
pub(crate) fn cost(probe: &Probe) -> ProbeCost {
    match probe.timer().clock {
        ClockName::Monotonic => cost_by::<Monotonic>(probe),
        ClockName::Realtime => cost_by::<Realtime>(probe),
        ClockName::Tai => cost_by::<Tai>(probe),
        ClockName::Boottime => cost_by::<Boottime>(probe),
    }
}

fn cost_by<C: Clock>(probe: &Probe) -> ProbeCost {
    match probe {
        Probe::Timer(timer) => cost_of_loop::<C>(timer.interval),
        Probe::Frames(frames) => cost_of_playing::<C>(frames),
        // A turn reads the clock and stores a sample, like a turn of the timer probe.
        Probe::Sort(sort) => cost_of_loop::<C>(sort.timer.interval),
        // Only its sleep is a loop of ours.
        Probe::Net(net) => cost_of_loop::<C>(net.timer.interval),
        Probe::Cost(cost) => cost_of_loop::<C>(cost.timer.interval),
    }
}
