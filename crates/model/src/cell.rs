//! One combination of probe, load, policy and target.

use serde::{Deserialize, Serialize};

use crate::block_requests::BlockRequests;
use crate::bytes::Bytes;
use crate::cost::{CostProbe, Family, Operation, Parameter, PartnerCpu};
use crate::frames::{FramesProbe, PlayerKind, Rate, TickShift};
use crate::guest::Guest;
use crate::interrupted::{Dirt, Interrupted};
use crate::load::{LoadPlan, NotInGuest};
use crate::midi::{MidiProbe, Via};
use crate::net::NetProbe;
use crate::origin::ImportedCell;
use crate::policy::{Policy, Quanta, Scheduling};
use crate::probe::{Interval, Probe, SleepMethod, TaskKind, TimerProbe, Work};
use crate::quantum::Quantum;
use crate::time::{ClockName, Nanos};
use crate::traced::TracedEvents;

/// Where a cell runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Target {
    /// The host: the machine that runs the plan.
    Host,
    /// A guest: a kernel booted for the measurement.
    Guest(Guest),
}

impl Target {
    /// The guest; `None` for the host.
    pub const fn guest(&self) -> Option<&Guest> {
        match self {
            Self::Host => None,
            Self::Guest(guest) => Some(guest),
        }
    }
}

/// One combination of probe, load, policy and target, with the duration of its measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// The measured loop.
    pub probe: Probe,
    /// The competing work.
    pub load: LoadPlan,
    /// How the probe is scheduled and prepared.
    pub policy: Policy,
    /// Where it runs.
    pub target: Target,
    /// How long the load runs before the measured window opens.
    pub warmup: Nanos,
    /// How long the measured window is.
    pub duration: Nanos,
    /// The duration of a second window in which the kernel's events are recorded; zero for
    /// none. Plans stored before this window existed lack it.
    #[serde(default)]
    pub traced: Nanos,
    /// Which events are recorded in that window.
    #[serde(default = "all_events")]
    pub traced_events: TracedEvents,
    /// How much data block devices transfer per request during the measurement.
    #[serde(default)]
    pub block_requests: BlockRequests,
    /// How long its tasks may run before another task of their class runs.
    #[serde(default)]
    pub quantum: Quantum,
    /// Clock interrupts per second on the measured CPUs in addition to the kernel's own; 0 for none.
    #[serde(default)]
    pub extra_interrupts: u32,
    /// The most samples a task keeps; further samples are counted as dropped.
    pub sample_limit: u64,
    /// What is known of the cell if another program measured it; `None` for a measurement by
    /// Tactus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<ImportedCell>,
}

/// The value for plans stored before this setting existed.
const fn all_events() -> TracedEvents {
    TracedEvents::All
}

/// Why a cell's settings contradict each other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Inconsistent {
    /// The sleep method does not support the clock.
    #[error("sleep = \"{sleep}\" does not support clock = \"{clock}\"; it supports: {choices}")]
    Clock {
        /// The sleep method.
        sleep: SleepMethod,
        /// The requested clock.
        clock: ClockName,
        /// The clocks it supports.
        choices: String,
    },
    /// A task that computes all the time cannot block.
    #[error(
        "work = \"continuous\" needs a timer that interrupts the task, but sleep = \"{0}\" blocks; use sleep = \"signal-handler\""
    )]
    ContinuousBlocks(SleepMethod),
    /// setitimer(2) provides one timer per process.
    #[error("sleep = \"itimer\" has one timer per process; add tasks = \"processes\"")]
    ItimerThreads,
    /// Nothing dirties the caches.
    #[error(
        "dirt = \"{0}\" needs a program that dirties the caches; add interrupted = \"thread\", \"process\" or \"idle\""
    )]
    NobodyDirties(Dirt),
    /// Only one task at a time can have its CPU prepared, between wakeups of its own.
    #[error(
        "interrupted = \"{0}\" needs clock = \"monotonic\", work = \"none\" and tasks-per-cpu = 1"
    )]
    NotPrepared(Interrupted),
    /// The window is shorter than one interval.
    #[error("duration = \"{0}\" is shorter than one interval; make it at least {1}")]
    TooShort(Nanos, Nanos),
    /// The interval of a player differs from its frame period.
    #[error(
        "interval = \"{interval}\" is not the frame period at {frame_rate} frames/s; use {slot}"
    )]
    Slot {
        /// The interval that was given.
        interval: Interval,
        /// The rate that was given.
        frame_rate: Rate,
        /// The frame period at that rate.
        slot: Nanos,
    },
    /// A sort task computes all the time and takes no further work.
    #[error(
        "work = \"{0}\" applies to tasks that sleep, and probe = \"sort\" never sleeps; remove it"
    )]
    SortsWork(Work),
    /// A task of the cost probe does nothing but its operation.
    #[error("work = \"{0}\" does not apply to probe = \"cost\", which never sleeps; remove it")]
    OperationsWork(Work),
    /// The cost probe has a single task.
    #[error("tasks-per-cpu = {0} does not apply to probe = \"cost\", which has one task; use 1")]
    OneOperator(u32),
    /// The operation has no such size.
    #[error("size = \"{size}\" is out of range for operation = \"{operation}\"; use {} to {}",
        operation.traits().sizes[0], operation.traits().sizes[1])]
    OperationSize {
        /// The size.
        size: Bytes,
        /// The operation.
        operation: Operation,
    },
    /// The window ends before the first sample begins.
    #[error(
        "pause = \"{pause}\" leaves no time for a sample in duration = \"{duration}\"; use a shorter pause or a longer duration"
    )]
    Pause {
        /// The pause before each sample.
        pause: Nanos,
        /// The window.
        duration: Nanos,
    },
    /// On one CPU, a side that spins keeps the other from answering.
    #[error(
        "wait = \"spin\" cannot be used with partner-cpu = \"same\"; use partner-cpu = \"other\""
    )]
    SpinsOnOneCpu,
    /// The file is smaller than a sample.
    #[error("file-size = \"{file_size}\" is too small for size = \"{size}\"; use at least {least}")]
    FileSize {
        /// The size of the file.
        file_size: Bytes,
        /// The size of a block.
        size: Bytes,
        /// The bytes of a sample.
        least: Bytes,
    },
    /// Messages are sent in turn.
    #[error(
        "times = {times} does not apply to operation = \"{operation}\", whose messages are answered; write an even number"
    )]
    OddMessages {
        /// The number of messages.
        times: u32,
        /// The operation.
        operation: Operation,
    },
    /// The kernel neither pins a deadline thread nor lets it start another.
    #[error(
        "policy = \"{scheduling}\" cannot be used with operation = \"{operation}\", whose partner has the same policy; use fifo:N, rr:N or other"
    )]
    PartnerPolicy {
        /// The policy.
        scheduling: Scheduling,
        /// The operation.
        operation: Operation,
    },
    /// The net probe needs network namespaces.
    #[error("probe = \"net\" runs on the host only; remove the guest kernel")]
    NetInGuest,
    /// The kernel stamps packets by the realtime clock.
    #[error(
        "clock = \"{0}\" cannot be compared with the stamps of packets; use clock = \"realtime\""
    )]
    StampClock(ClockName),
    /// The net probe has a single sender.
    #[error("tasks-per-cpu = {0} does not apply to probe = \"net\", which has one sender; use 1")]
    OneSender(u32),
    /// A sender computes a fixed amount before each burst.
    #[error("work = \"{0}\" does not apply to probe = \"net\"; use net-work")]
    SendersWork(Work),
    /// A burst takes longer than the time to the next.
    #[error("net-work = \"{0}\" leaves no time in net-period = \"{1}\"; use less")]
    BurstWork(Nanos, Nanos),
    /// The receiver stamps messages by the monotonic clock.
    #[error(
        "clock = \"{0}\" cannot be compared with the stamps of messages; use clock = \"monotonic\""
    )]
    MessageClock(ClockName),
    /// The midi probe has a single output thread.
    #[error(
        "tasks-per-cpu = {0} does not apply to probe = \"midi\", which has one output thread; use 1"
    )]
    OneOutput(u32),
    /// An output thread has nothing to compute.
    #[error("work = \"{0}\" does not apply to probe = \"midi\"; use work = \"none\"")]
    OutputsWork(Work),
    /// Messages come too fast.
    #[error(
        "message-rate = \"{0}\" is more than a MIDI cable carries; the limit is 1000 per second"
    )]
    MessageRate(Rate),
    /// Messages are handed over too far ahead.
    #[error("message-ahead = \"{0}\" is too long; the limit is {max}", max = MidiProbe::AHEAD_MAX)]
    MessageAhead(Nanos),
    /// A guest has no X server and no decoder.
    #[error("player = \"{0}\" runs on the host only; use player = \"latest\" in a guest")]
    PlayerInGuest(PlayerKind),
    /// A whole player has a loop of its own.
    #[error(
        "player = \"{0}\" is a process with one loop of its own; use sleep = \"nanosleep\", clock = \"monotonic\", work = \"none\", tasks = \"threads\" and tasks-per-cpu = 1"
    )]
    PlayersLoop(PlayerKind),
    /// A whole player starts when it is ready.
    #[error(
        "tick-shift cannot be chosen for player = \"{0}\", which starts when it is ready; use \"sweep\""
    )]
    PlayersShift(PlayerKind),
    /// The clip of a whole player is too large.
    #[error(
        "the window has {0} frames, and the clip of a player has at most {max}; use a shorter duration",
        max = FramesProbe::CLIP_FRAMES_MAX
    )]
    LongClip(u64),
    /// A guest has no delivery server.
    #[error("via = \"server\" runs on the host only; use via = \"library\" in a guest")]
    ServerInGuest,
    /// The number of rivals is out of range.
    #[error("net-rivals = {0} is out of range; write 0 to {max}", max = NetProbe::RIVALS_MAX)]
    Rivals(u32),
    /// The stamps of the packets do not fit into a socket.
    #[error(
        "the window has {0} packets; the limit is {max}: use a shorter duration, a longer net-period or fewer net-packets",
        max = NetProbe::PACKETS_MAX
    )]
    TooManyPackets(u64),
    /// The load cannot run on the target.
    #[error(transparent)]
    NotInGuest(#[from] NotInGuest),
    /// Neither the probe nor the load runs in a scheduling class with a quantum.
    #[error(
        "quantum = \"{0}\" applies only to tasks of the rr class or of an ordinary class; remove it"
    )]
    NoQuanta(Quantum),
    /// The number of additional clock interrupts is out of range.
    #[error(
        "extra-interrupts = {0} is out of range; write 0 to {max} per second",
        max = Cell::EXTRA_INTERRUPTS_MAX
    )]
    ExtraInterrupts(u32),
    /// The number of tasks is out of range.
    #[error("tasks-per-cpu = {0} is out of range; write 1 to 256")]
    TaskCount(u32),
    /// A task keeps no sample, or more than memory can hold.
    #[error("sample-limit = {0} is out of range; write 1 to {max}", max = Cell::SAMPLE_LIMIT_MAX)]
    SampleLimit(u64),
    /// The measurement takes too long.
    #[error(
        "warmup, duration and traced are {0} together; the limit for a cell is {max}",
        max = Cell::LENGTH_MAX
    )]
    TooLong(Nanos),
}

impl Cell {
    /// The maximum number of samples that a task keeps: 160 GB.
    pub const SAMPLE_LIMIT_MAX: u64 = 10_000_000_000;

    /// The most additional clock interrupts per second: the highest tick rate of the paper of 2003.
    /// Each takes microseconds, so that most of the CPU's time is left.
    pub const EXTRA_INTERRUPTS_MAX: u32 = 20_000;

    /// The maximum duration of a cell in a round: a year.
    pub const LENGTH_MAX: Nanos = Nanos::from_secs(366 * 24 * 3600);

    /// The cell as measured while events are recorded; `None` if it is not.
    ///
    /// Its window lasts [`Self::traced`], but at least one interval, since nothing is due in a
    /// shorter window. A probe that never sleeps cannot be late and is measured again only for
    /// accounts of CPU time ([`TracedEvents::Scheduling`]); arrivals in the kernel are not, since
    /// there the recorder itself takes time.
    pub fn while_traced(&self) -> Option<Self> {
        let probe = self.probe.timer();
        let duration = self.traced.max(probe.interval.mean());
        let is_traced = self.traced > Nanos::ZERO
            && (!self.probe.never_sleeps() || self.traced_events == TracedEvents::Scheduling)
            && !self.probe.is_whole_player()
            && probe.sleep != SleepMethod::KernelHandler;
        is_traced.then(|| Self { duration, ..self.clone() })
    }

    /// The quanta by which the tasks of the probe and of the load share CPUs.
    pub fn quanta(&self) -> impl Iterator<Item = Quanta> + use<> {
        let is_loaded = !self.load.load.is_idle();
        let load = self.load.scheduling.quanta().filter(|_| is_loaded);
        self.policy.scheduling.quanta().into_iter().chain(load)
    }

    /// The minimum duration of the load in a turn: both windows and the time before them.
    pub fn length(&self) -> Nanos {
        let traced = self.while_traced().map_or(Nanos::ZERO, |cell| cell.duration);
        self.warmup + self.duration + traced
    }

    fn check_net(&self, net: &NetProbe) -> Result<(), Inconsistent> {
        if self.target.guest().is_some() {
            return Err(Inconsistent::NetInGuest);
        }
        if net.timer.clock != ClockName::Realtime {
            return Err(Inconsistent::StampClock(net.timer.clock));
        }
        if net.timer.tasks_per_cpu != 1 {
            return Err(Inconsistent::OneSender(net.timer.tasks_per_cpu));
        }
        if net.timer.work != Work::None {
            return Err(Inconsistent::SendersWork(net.timer.work));
        }
        if net.burst_work >= net.period() {
            return Err(Inconsistent::BurstWork(net.burst_work, net.period()));
        }
        if net.rivals > NetProbe::RIVALS_MAX {
            return Err(Inconsistent::Rivals(net.rivals));
        }
        let packets = net.bursts(self.duration).saturating_mul(net.packets.get().into());
        if packets > NetProbe::PACKETS_MAX {
            return Err(Inconsistent::TooManyPackets(packets));
        }
        Ok(())
    }

    fn check_midi(&self, midi: &MidiProbe) -> Result<(), Inconsistent> {
        let TimerProbe { clock, work, tasks_per_cpu, .. } = midi.timer;
        if clock != ClockName::Monotonic {
            return Err(Inconsistent::MessageClock(clock));
        }
        if tasks_per_cpu != 1 {
            return Err(Inconsistent::OneOutput(tasks_per_cpu));
        }
        if work != Work::None {
            return Err(Inconsistent::OutputsWork(work));
        }
        if midi.interval() < MidiProbe::INTERVAL_MIN {
            return Err(Inconsistent::MessageRate(midi.message_rate));
        }
        if midi.ahead > MidiProbe::AHEAD_MAX {
            return Err(Inconsistent::MessageAhead(midi.ahead));
        }
        if midi.via == Via::Server && self.target.guest().is_some() {
            return Err(Inconsistent::ServerInGuest);
        }
        Ok(())
    }

    /// A whole player is a process of this machine that has its own clock, sleep and start.
    fn check_player(&self, frames: &FramesProbe) -> Result<(), Inconsistent> {
        let player = frames.player;
        if !player.is_whole() {
            return Ok(());
        }
        if self.target.guest().is_some() {
            return Err(Inconsistent::PlayerInGuest(player));
        }
        let timer = &frames.timer;
        let is_its_own = timer.sleep == SleepMethod::Nanosleep
            && timer.clock == ClockName::Monotonic
            && timer.work == Work::None
            && timer.tasks_per_cpu == 1
            && timer.tasks == TaskKind::Threads;
        if !is_its_own {
            return Err(Inconsistent::PlayersLoop(player));
        }
        if frames.tick_shift != TickShift::Sweep {
            return Err(Inconsistent::PlayersShift(player));
        }
        let frames = frames.frames().within(self.duration);
        if frames > FramesProbe::CLIP_FRAMES_MAX {
            return Err(Inconsistent::LongClip(frames));
        }
        Ok(())
    }

    fn check_cost(&self, cost: &CostProbe) -> Result<(), Inconsistent> {
        if cost.timer.work != Work::None {
            return Err(Inconsistent::OperationsWork(cost.timer.work));
        }
        if cost.timer.tasks_per_cpu != 1 {
            return Err(Inconsistent::OneOperator(cost.timer.tasks_per_cpu));
        }
        let (scheduling, operation, size) = (self.policy.scheduling, cost.operation, cost.size);
        let [least, most] = operation.traits().sizes;
        if operation.takes(Parameter::Size) && !(least..=most).contains(&size) {
            return Err(Inconsistent::OperationSize { size, operation });
        }
        let (pause, duration) = (cost.sampling.pause, self.duration);
        if pause >= duration {
            return Err(Inconsistent::Pause { pause, duration });
        }
        if cost.spins() && cost.partner_cpu == PartnerCpu::Same {
            return Err(Inconsistent::SpinsOnOneCpu);
        }
        let times = cost.per_sample();
        if operation.traits().family == Family::Ipc && !times.is_multiple_of(2) {
            return Err(Inconsistent::OddMessages { times, operation });
        }
        let file_size = cost.file.file_size;
        let block = cost.touched().unwrap_or_default();
        let least = Bytes::new(block.get().saturating_mul(cost.per_sample().into()));
        if cost.reads_file() && file_size < least {
            return Err(Inconsistent::FileSize { file_size, size: block, least });
        }
        if matches!(scheduling, Scheduling::Deadline { .. }) && operation.has_partner() {
            return Err(Inconsistent::PartnerPolicy { scheduling, operation });
        }
        Ok(())
    }

    fn check_interrupted(&self, probe: &TimerProbe) -> Result<(), Inconsistent> {
        if probe.interrupted == Interrupted::None {
            return match probe.dirt {
                Dirt::Clean => Ok(()),
                dirt => Err(Inconsistent::NobodyDirties(dirt)),
            };
        }
        let is_alone = probe.work == Work::None && probe.tasks_per_cpu == 1;
        match is_alone && probe.clock == ClockName::Monotonic {
            true => Ok(()),
            false => Err(Inconsistent::NotPrepared(probe.interrupted)),
        }
    }

    /// Checks that the settings do not contradict each other.
    pub fn check(&self) -> Result<(), Inconsistent> {
        let probe = self.probe.timer();
        let clocks = probe.sleep.clocks();
        if !clocks.contains(&probe.clock) {
            let choices: Vec<&str> = clocks.iter().map(|clock| clock.word()).collect();
            return Err(Inconsistent::Clock {
                sleep: probe.sleep,
                clock: probe.clock,
                choices: choices.join(", "),
            });
        }
        if probe.work == Work::Continuous && !probe.sleep.stamps_in_handler() {
            return Err(Inconsistent::ContinuousBlocks(probe.sleep));
        }
        if probe.sleep == SleepMethod::Itimer && probe.tasks == TaskKind::Threads {
            return Err(Inconsistent::ItimerThreads);
        }
        self.check_interrupted(probe)?;
        if self.duration < probe.interval.mean() {
            return Err(Inconsistent::TooShort(self.duration, probe.interval.mean()));
        }
        if let Some(frames) = self.probe.frames() {
            let (interval, frame_rate) = (probe.interval, frames.frame_rate);
            let slot = frame_rate.period();
            if interval != Interval::Fixed(slot) {
                return Err(Inconsistent::Slot { interval, frame_rate, slot });
            }
            self.check_player(frames)?;
        }
        if self.probe.sort().is_some() && probe.work != Work::None {
            return Err(Inconsistent::SortsWork(probe.work));
        }
        if let Some(cost) = self.probe.cost() {
            self.check_cost(cost)?;
        }
        if let Some(net) = self.probe.net() {
            self.check_net(net)?;
        }
        if let Some(midi) = self.probe.midi() {
            self.check_midi(midi)?;
        }
        if self.target.guest().is_some() {
            self.load.load.check_in_guest()?;
        }
        if self.quantum != Quantum::Untouched && self.quanta().next().is_none() {
            return Err(Inconsistent::NoQuanta(self.quantum));
        }
        if self.extra_interrupts > Self::EXTRA_INTERRUPTS_MAX {
            return Err(Inconsistent::ExtraInterrupts(self.extra_interrupts));
        }
        if !(1..=256).contains(&probe.tasks_per_cpu) {
            return Err(Inconsistent::TaskCount(probe.tasks_per_cpu));
        }
        if !(1..=Self::SAMPLE_LIMIT_MAX).contains(&self.sample_limit) {
            return Err(Inconsistent::SampleLimit(self.sample_limit));
        }
        Ok(())
    }
}
