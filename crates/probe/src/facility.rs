//! The measured loop for each sleep method and each clock, behind one trait.
//!
//! The loop is compiled for every pair of sleeper and clock, so it contains no decisions about
//! them. Outside the loop, tasks handle all pairs alike.

use tactus_model::probe::{Probe, SleepMethod, TimerProbe, Work};
use tactus_model::result::ProbeCost;
use tactus_model::time::{Boottime, Clock, ClockName, Instant, Monotonic, Realtime, Tai};
use tactus_sys::sleep::{
    Alarm, Futex, IoUring, Itimer, KernelHandler, Nanosleep, NanosleepRelative, PosixTimer, Ppoll,
    SignalHandler, Sleeper, Timerfd,
};
use tactus_sys::{SysError, clock};

use crate::apparatus::{Apparatus, Destination, Evaluation, Measured};
use crate::cost::{cost_of_loop, cost_of_playing};
use crate::frames::{Player, play};
use crate::interrupted::Preparing;
use crate::live::RingWriter;
use crate::operations::ShortestSleeps;
use crate::schedule::Schedule;
use crate::sort::sort_repeatedly;
use crate::task::Unable;
use crate::timer::{Rest, SampleMemory, TakenSamples, Tally, keep_measuring, measure};
use crate::work::{Computing, Pace, Share};

/// A timer facility of the calling thread, ready to measure.
///
/// Instants are plain nanoseconds of the probe's clock here, because a task and the process
/// that starts it agree on the clock beforehand.
pub(crate) trait Facility {
    /// Runs the measured loop of `apparatus` in a window that opens at `start`. Returns what
    /// evaluates it.
    fn perform(&mut self, apparatus: Apparatus, start: u64) -> Result<Evaluation, Unable>;

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

impl<C: Clock, S: Sleeper<C>> Loop<C, S> {
    fn wake(
        &mut self,
        schedule: Schedule,
        start: Instant<C>,
        memory: SampleMemory,
    ) -> Result<TakenSamples, SysError> {
        let sleeper = &mut self.sleeper;
        match &mut self.between {
            Acting::Sharing(share) => measure(sleeper, share, schedule, start, memory),
            Acting::Preparing(preparing) => {
                preparing.begin(start.as_nanos());
                let taken = measure(sleeper, preparing, schedule, start, memory)?;
                Ok(TakenSamples { passes: preparing.passes(), ..taken })
            }
            Acting::Resting => measure(sleeper, &mut Rest, schedule, start, memory),
        }
    }

    /// Wakes like [`Self::wake`]; a viewer reads the samples from `ring` meanwhile.
    fn wake_live(
        &mut self,
        schedule: Schedule,
        start: Instant<C>,
        mut ring: RingWriter,
    ) -> Result<Tally, SysError> {
        let (sleeper, ring) = (&mut self.sleeper, &mut ring);
        match &mut self.between {
            Acting::Sharing(share) => keep_measuring(sleeper, share, schedule, start, ring),
            Acting::Preparing(preparing) => {
                preparing.begin(start.as_nanos());
                keep_measuring(sleeper, preparing, schedule, start, ring)
            }
            Acting::Resting => keep_measuring(sleeper, &mut Rest, schedule, start, ring),
        }
    }

    fn play(
        &mut self,
        player: &Player,
        start: Instant<C>,
        memory: SampleMemory,
    ) -> Result<TakenSamples, SysError> {
        match &mut self.between {
            Acting::Sharing(share) => play(&mut self.sleeper, share, player, start, memory),
            _ => play(&mut self.sleeper, &mut Rest, player, start, memory),
        }
    }
}

/// The evaluation of what needs none.
fn at_once(measured: impl Into<Measured>) -> Evaluation {
    let measured = measured.into();
    Box::new(move || Ok(Some(measured)))
}

impl<C: Clock, S: Sleeper<C>> Facility for Loop<C, S> {
    fn perform(&mut self, apparatus: Apparatus, at: u64) -> Result<Evaluation, Unable> {
        let start = Instant::<C>::from_nanos(at);
        Ok(match apparatus {
            Apparatus::Wakeups { schedule, kept: Destination::Memory(memory) } => {
                at_once(self.wake(schedule, start, memory)?)
            }
            Apparatus::Wakeups { schedule, kept: Destination::Ring(ring) } => {
                self.wake_live(schedule, start, ring)?;
                Box::new(|| Ok(None))
            }
            Apparatus::Frames { player, memory } => {
                let taken = self.play(&player, start, memory)?;
                Box::new(move || Ok(Some(player.judged(taken).into())))
            }
            Apparatus::Playback(stage) => at_once(stage.play()?),
            Apparatus::Sorts { sorts, memory } => at_once(sort_repeatedly(sorts, start, memory)?),
            Apparatus::Bursts(mut site) => {
                let sent = site.send::<C>(&mut self.sleeper, start)?;
                Box::new(move || Ok(Some(site.delivered(sent, at)?)))
            }
            Apparatus::Operation { mut bench, memory } => {
                let mut sleeps = ShortestSleeps::by(&mut self.sleeper);
                let measured = bench.measure::<C>(start, memory, &mut sleeps)?;
                Box::new(move || {
                    // Its partner, which sleeps, ends only now.
                    drop(bench);
                    Ok(Some(measured))
                })
            }
            Apparatus::Messages { mut port, .. } => {
                port.deliver::<C>(&mut self.sleeper)?;
                Box::new(move || Ok(port.received()?))
            }
        })
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
