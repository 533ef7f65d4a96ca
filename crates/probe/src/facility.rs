//! The measured loop for each sleep method and each clock, behind one trait.
//!
//! The loop is compiled for every pair of sleeper and clock, so it contains no decisions about
//! them. Outside the loop, tasks handle all pairs alike.

use tactus_model::probe::{Probe, SleepMethod, TimerProbe, Work};
use tactus_model::result::ProbeCost;
use tactus_model::time::{Boottime, Clock, ClockName, Instant, Monotonic, Nanos, Realtime, Tai};
use tactus_sys::sleep::{
    Alarm, Futex, IoUring, Itimer, KernelHandler, Nanosleep, NanosleepRelative, PosixTimer, Ppoll,
    SignalHandler, Sleeper, Timerfd,
};
use tactus_sys::{SysError, clock};

use crate::cost::{cost_of_loop, cost_of_playing};
use crate::frames::{Player, play};
use crate::interrupted::Preparing;
use crate::live::RingWriter;
use crate::midi::{self, MidiError};
use crate::net::{Bursts, NetError, Sent, Site};
use crate::operations::{Bench, Repeated, Repetition, ShortestSleeps, Unmeasurable};
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
    /// Delivers messages at the due times of a schedule.
    Messages(Schedule),
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
            Self::Wakeups(schedule) | Self::Messages(schedule) => schedule.remaining(),
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
            Self::Wakeups(_) | Self::Frames(_) | Self::Bursts(_) | Self::Messages(_) => {
                self.at_most()
            }
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

    /// Delivers the messages that were announced to `site`.
    fn deliver(&mut self, site: &mut midi::Site) -> Result<(), MidiError>;

    /// Repeats the operation of `bench` in a window that opens at `start`.
    fn repeat(
        &mut self,
        bench: &mut Bench,
        start: u64,
        memory: SampleMemory,
    ) -> Result<Repeated, Unmeasurable>;

    /// Sleeps until `instant`, by clock_nanosleep(2) whatever the facility is.
    fn sleep_until(&self, instant: u64) -> Result<(), SysError>;
}

/// Sets up the facility that `probe` requests, in the calling thread. The caches are prepared by
/// `preparing` for each event, if given.
///
/// # Errors
/// The facility does not exist here, or is not permitted.
pub(crate) fn open(
    probe: &TimerProbe,
    preparing: Option<Preparing>,
) -> Result<Box<dyn Facility>, SysError> {
    let between = preparing.map_or(Between::Work(probe.work), Between::Preparing);
    match probe.clock {
        ClockName::Monotonic => match probe.sleep {
            // These three know only the monotonic clock.
            SleepMethod::Ppoll => Ok(by_sleeping::<Monotonic>(between, Ppoll)),
            SleepMethod::Itimer => Ok(by_alarm::<Monotonic>(between, Itimer::new()?)),
            SleepMethod::KernelHandler => {
                Ok(by_sleeping::<Monotonic>(between, KernelHandler::new()?))
            }
            _ => open_by::<Monotonic>(probe.sleep, between),
        },
        ClockName::Realtime => open_by::<Realtime>(probe.sleep, between),
        ClockName::Tai => open_by::<Tai>(probe.sleep, between),
        ClockName::Boottime => open_by::<Boottime>(probe.sleep, between),
    }
}

/// What a task does between its wakeups.
enum Between {
    Work(Work),
    Preparing(Preparing),
}

fn open_by<C: Clock>(sleep: SleepMethod, between: Between) -> Result<Box<dyn Facility>, SysError> {
    // `Cell::check` refuses these before anything starts.
    let refused = |call| Err(SysError::new(call, tactus_sys::Errno::INVAL));
    Ok(match sleep {
        SleepMethod::Nanosleep => by_sleeping::<C>(between, Nanosleep),
        SleepMethod::NanosleepRelative => by_sleeping::<C>(between, NanosleepRelative),
        SleepMethod::Timerfd => by_sleeping::<C>(between, Timerfd::new()?),
        SleepMethod::PosixTimer => by_sleeping::<C>(between, PosixTimer::new()?),
        SleepMethod::SignalHandler => by_alarm::<C>(between, SignalHandler::new()?),
        SleepMethod::Futex => by_sleeping::<C>(between, Futex::new()?),
        SleepMethod::IoUring => by_sleeping::<C>(between, IoUring::new()?),
        SleepMethod::Ppoll => return refused("ppoll"),
        SleepMethod::Itimer => return refused("setitimer"),
        SleepMethod::KernelHandler => return refused("bpf"),
    })
}

fn by_sleeping<C: Clock>(
    between: Between,
    sleeper: impl Sleeper<C> + 'static,
) -> Box<dyn Facility> {
    let between = match between {
        Between::Work(Work::Percent(percent)) => {
            Acting::Sharing(Share::new(percent, Pace::calibrate::<C>()))
        }
        Between::Work(Work::None | Work::Continuous) => Acting::Resting,
        Between::Preparing(preparing) => Acting::Preparing(preparing),
    };
    Box::new(Loop::<C, _> { sleeper, between, clock: std::marker::PhantomData })
}

fn by_alarm<C: Clock>(between: Between, alarm: impl Alarm<C> + 'static) -> Box<dyn Facility> {
    if matches!(between, Between::Work(Work::Continuous)) {
        by_sleeping::<C>(between, Computing::new(alarm, Pace::calibrate::<C>()))
    } else {
        by_sleeping::<C>(between, alarm)
    }
}

/// What a task does between its wakeups, ready to be done.
enum Acting {
    Resting,
    Sharing(Share),
    Preparing(Preparing),
}

struct Loop<C, S> {
    sleeper: S,
    between: Acting,
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
        match (course, &mut self.between) {
            (Course::Wakeups(schedule), Acting::Sharing(share)) => {
                measure(sleeper, share, schedule, start, memory)
            }
            (Course::Wakeups(schedule), Acting::Preparing(preparing)) => {
                preparing.begin(start.as_nanos());
                let taken = measure(sleeper, preparing, schedule, start, memory)?;
                Ok(TakenSamples { passes: preparing.passes(), ..taken })
            }
            (Course::Wakeups(schedule), Acting::Resting) => {
                measure(sleeper, &mut Rest, schedule, start, memory)
            }
            (Course::Frames(player), Acting::Sharing(share)) => {
                play(sleeper, share, &player, start, memory)
            }
            (Course::Frames(player), _) => play(sleeper, &mut Rest, &player, start, memory),
            (Course::Sorts(sorts), _) => sort_repeatedly(sorts, start, memory),
            // A sender needs a path: see `Self::send`.
            (Course::Bursts(_), _) => Err(SysError::new("sendto", tactus_sys::Errno::DESTADDRREQ)),
            // An output thread needs a line: see `Self::deliver`.
            (Course::Messages(_), _) => Err(SysError::new("write", tactus_sys::Errno::NOTCONN)),
            // An operation needs a bench: see `Self::repeat`.
            (Course::Operations(_), _) => Err(SysError::new("getppid", tactus_sys::Errno::NOSYS)),
        }
    }

    fn send(&mut self, site: &mut Site, start: u64) -> Result<Sent, NetError> {
        site.send::<C>(&mut self.sleeper, Instant::from_nanos(start))
    }

    fn deliver(&mut self, site: &mut midi::Site) -> Result<(), MidiError> {
        site.deliver::<C>(&mut self.sleeper)
    }

    fn repeat(
        &mut self,
        bench: &mut Bench,
        start: u64,
        memory: SampleMemory,
    ) -> Result<Repeated, Unmeasurable> {
        let mut sleeps = ShortestSleeps::by(&mut self.sleeper);
        bench.measure::<C>(Instant::from_nanos(start), memory, &mut sleeps)
    }

    fn measure_live(
        &mut self,
        schedule: Schedule,
        start: u64,
        ring: &mut RingWriter,
    ) -> Result<(), SysError> {
        let start = Instant::<C>::from_nanos(start);
        let sleeper = &mut self.sleeper;
        match &mut self.between {
            Acting::Sharing(share) => keep_measuring(sleeper, share, schedule, start, ring),
            Acting::Preparing(preparing) => {
                preparing.begin(start.as_nanos());
                keep_measuring(sleeper, preparing, schedule, start, ring)
            }
            Acting::Resting => keep_measuring(sleeper, &mut Rest, schedule, start, ring),
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
        Probe::Midi(midi) => cost_of_loop::<C>(midi.timer.interval),
    }
}
