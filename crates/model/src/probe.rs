//! What a probe measures, and how.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::cost::CostProbe;
use crate::frames::{FramesProbe, PlayerKind, Rate, Tick, TickShift};
use crate::interrupted::{Dirt, Interrupted};
use crate::midi::{MidiProbe, Via};
use crate::net::{NetPath, NetProbe, NetReceive, Packets};
use crate::policy::Scheduling;
use crate::sort::{Numbers, SortProbe};
use crate::text::{UnknownWord, keywords, serde_as_text};
use crate::time::{ClockName, Nanos, NotALength};

keywords! {
    /// The kinds of probe.
    pub enum ProbeKind: "probe" {
        /// Sleeps until a due time and measures how late it wakes.
        Timer = "timer",
        /// Shows frames at a rate, none early, and skips frames that are too late.
        Frames = "frames",
        /// Sorts an array repeatedly and measures how long each sort takes.
        Sort = "sort",
        /// Sends bursts of packets and measures when the kernel received the last of each.
        Net = "net",
        /// Repeats an operation and measures how long it takes.
        Cost = "cost",
        /// Hands over MIDI messages ahead of their time and measures how late they come out.
        Midi = "midi",
    }
}

keywords! {
    /// The system facility with which the timer probe sleeps.
    pub enum SleepMethod: "sleep method" {
        /// clock_nanosleep(2) until an absolute time.
        Nanosleep = "nanosleep",
        /// clock_nanosleep(2) for the remaining time.
        NanosleepRelative = "nanosleep-relative",
        /// A read from a timerfd_create(2) descriptor armed at an absolute time.
        Timerfd = "timerfd",
        /// A timer_create(2) timer whose signal is received by sigwaitinfo(2).
        PosixTimer = "posix-timer",
        /// A timer_create(2) timer whose signal handler timestamps the arrival.
        SignalHandler = "signal-handler",
        /// setitimer(2) with a signal handler; one timer per process.
        Itimer = "itimer",
        /// The timeout of futex(2) `FUTEX_WAIT_BITSET`.
        Futex = "futex",
        /// The timeout of ppoll(2).
        Ppoll = "ppoll",
        /// `IORING_OP_TIMEOUT` of io_uring(7).
        IoUring = "io-uring",
        /// clock_nanosleep(2) until an absolute time, whose arrival is when the kernel handles the
        /// timer: a bpf(2) program in its interrupt takes the time. The wakeup of the task is not
        /// part of the latency.
        KernelHandler = "kernel-handler",
    }
}

impl SleepMethod {
    /// The clocks that the facility supports, according to its man page.
    pub const fn clocks(self) -> &'static [ClockName] {
        use ClockName::{Boottime, Monotonic, Realtime};
        match self {
            Self::Nanosleep | Self::NanosleepRelative | Self::PosixTimer | Self::SignalHandler => {
                ClockName::ALL
            }
            Self::Timerfd | Self::IoUring => &[Monotonic, Realtime, Boottime],
            Self::Futex => &[Monotonic, Realtime],
            // Relative timeouts, which the kernel counts on its monotonic clock; BPF programs read
            // that clock too.
            Self::Ppoll | Self::Itimer | Self::KernelHandler => &[Monotonic],
        }
    }

    /// Whether a signal handler timestamps the wakeup, so that the task may compute while it
    /// waits.
    pub const fn stamps_in_handler(self) -> bool {
        matches!(self, Self::SignalHandler | Self::Itimer)
    }
}

/// The time from one due time to the next.
///
/// As text: `1ms` (fixed), `1ms..1s` (uniform between the two), `1ms~50us`
/// (a fixed grid, each due time shifted by a uniform amount below 50 µs).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Interval {
    /// A fixed interval.
    Fixed(Nanos),
    /// Uniform between two bounds, both inclusive.
    Uniform {
        /// The lower bound.
        min: Nanos,
        /// The upper bound.
        max: Nanos,
    },
    /// A fixed grid; each point is shifted later by a random amount, so that due times do not
    /// lock to the phase of the kernel's tick.
    Dithered {
        /// The spacing of the grid.
        interval: Nanos,
        /// The shift is uniform in `0 ..= spread`; the spread is at most the spacing.
        spread: Nanos,
    },
}

impl Interval {
    /// The average time from one due time to the next.
    pub const fn mean(self) -> Nanos {
        match self {
            Self::Fixed(interval) | Self::Dithered { interval, .. } => interval,
            Self::Uniform { min, max } => {
                Nanos::from_nanos(min.as_nanos() / 2 + max.as_nanos() / 2)
            }
        }
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Fixed(interval) => interval.to_string(),
            Self::Uniform { min, max } => format!("{min}..{max}"),
            Self::Dithered { interval, spread } => format!("{interval}~{spread}"),
        };
        f.pad(&text)
    }
}

/// The error for a text that is not an interval.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAnInterval {
    /// One of its durations is invalid.
    #[error(transparent)]
    Length(#[from] NotALength),
    /// Its durations are out of order or zero.
    #[error(
        "`{0}` is not an interval: write 1ms, 1ms..1s (uniform, the shorter first), or 1ms~50us (dithered, the spread no longer than the interval); at least 1us"
    )]
    Order(String),
}

impl FromStr for Interval {
    type Err = NotAnInterval;

    fn from_str(text: &str) -> Result<Self, NotAnInterval> {
        let (interval, in_order) = if let Some((min, max)) = text.split_once("..") {
            let (min, max) = (min.parse()?, max.parse()?);
            (Self::Uniform { min, max }, min <= max)
        } else if let Some((interval, spread)) = text.split_once('~') {
            let (interval, spread) = (interval.parse()?, spread.parse()?);
            (Self::Dithered { interval, spread }, spread <= interval)
        } else {
            (Self::Fixed(text.parse()?), true)
        };
        let shortest = match interval {
            Self::Fixed(interval) | Self::Dithered { interval, .. } => interval,
            Self::Uniform { min, .. } => min,
        };
        if in_order && shortest >= Nanos::from_micros(1) {
            Ok(interval)
        } else {
            Err(NotAnInterval::Order(text.to_owned()))
        }
    }
}

serde_as_text!(Interval);

/// What a task does between waking and its next due time (Etsion 2003, section 7).
///
/// As text: `none`, `2%`, `continuous`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Work {
    /// No work: the paper's BLK.
    None,
    /// Computes for this share of the time to the next due time: the paper's N %.
    Percent(u8),
    /// Computes all the time, interrupted by the timer: the paper's CONT.
    Continuous,
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.pad("none"),
            Self::Percent(share) => f.pad(&format!("{share}%")),
            Self::Continuous => f.pad("continuous"),
        }
    }
}

impl FromStr for Work {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        let share = text.strip_suffix('%').and_then(|number| number.trim().parse().ok());
        match (text, share) {
            ("none", _) => Ok(Self::None),
            ("continuous", _) => Ok(Self::Continuous),
            (_, Some(share)) if (1..=99).contains(&share) => Ok(Self::Percent(share)),
            _ => Err(UnknownWord::new("work", text, &["none", "1%", "99%", "continuous"])),
        }
    }
}

serde_as_text!(Work);

keywords! {
    /// Whether a probe's tasks are threads or processes.
    pub enum TaskKind: "task kind" {
        /// Threads of one process.
        Threads = "threads",
        /// Processes, each with a single thread.
        Processes = "processes",
    }
}

/// The settings of the timer probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimerProbe {
    /// How a task sleeps.
    pub sleep: SleepMethod,
    /// The clock for sleeping and for the timestamps of due times and arrivals.
    pub clock: ClockName,
    /// The time between due times.
    pub interval: Interval,
    /// Due times start at a multiple of this on the clock; with zero they start at once.
    pub align: Nanos,
    /// The start delay of each further task relative to the task before it.
    pub offset: Nanos,
    /// What a task does between wakeups.
    pub work: Work,
    /// The number of tasks per CPU.
    pub tasks_per_cpu: u32,
    /// Whether the tasks are threads or processes.
    pub tasks: TaskKind,
    /// What its events interrupt.
    #[serde(default)]
    pub interrupted: Interrupted,
    /// The caches that they find.
    #[serde(default)]
    pub dirt: Dirt,
}

/// The settings of a probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Probe {
    /// Wakeup latency.
    Timer(TimerProbe),
    /// Frames shown and frames skipped.
    Frames(FramesProbe),
    /// The duration of a computation.
    Sort(SortProbe),
    /// The delivery of bursts of packets.
    Net(NetProbe),
    /// The duration of an operation.
    Cost(CostProbe),
    /// The delivery of messages.
    Midi(MidiProbe),
}

impl Probe {
    /// What it measures.
    pub const fn kind(&self) -> ProbeKind {
        match self {
            Self::Timer(_) => ProbeKind::Timer,
            Self::Frames(_) => ProbeKind::Frames,
            Self::Sort(_) => ProbeKind::Sort,
            Self::Net(_) => ProbeKind::Net,
            Self::Cost(_) => ProbeKind::Cost,
            Self::Midi(_) => ProbeKind::Midi,
        }
    }

    /// How its tasks sleep; for a player, the interval is the frame period.
    pub const fn timer(&self) -> &TimerProbe {
        match self {
            Self::Timer(timer) => timer,
            Self::Frames(frames) => &frames.timer,
            Self::Sort(sort) => &sort.timer,
            Self::Net(net) => &net.timer,
            Self::Cost(cost) => &cost.timer,
            Self::Midi(midi) => &midi.timer,
        }
    }

    /// Mutable access to [`Self::timer`].
    pub const fn timer_mut(&mut self) -> &mut TimerProbe {
        match self {
            Self::Timer(timer) => timer,
            Self::Frames(frames) => &mut frames.timer,
            Self::Sort(sort) => &mut sort.timer,
            Self::Net(net) => &mut net.timer,
            Self::Cost(cost) => &mut cost.timer,
            Self::Midi(midi) => &mut midi.timer,
        }
    }

    /// The settings of a player; `None` for other probes.
    pub const fn frames(&self) -> Option<&FramesProbe> {
        match self {
            Self::Frames(frames) => Some(frames),
            _ => None,
        }
    }

    /// Mutable access to [`Self::frames`].
    pub const fn frames_mut(&mut self) -> Option<&mut FramesProbe> {
        match self {
            Self::Frames(frames) => Some(frames),
            _ => None,
        }
    }

    /// The settings of a sort; `None` for other probes.
    pub const fn sort(&self) -> Option<&SortProbe> {
        match self {
            Self::Sort(sort) => Some(sort),
            _ => None,
        }
    }

    /// Mutable access to [`Self::sort`].
    pub const fn sort_mut(&mut self) -> Option<&mut SortProbe> {
        match self {
            Self::Sort(sort) => Some(sort),
            _ => None,
        }
    }

    /// The settings of a sender; `None` for other probes.
    pub const fn net(&self) -> Option<&NetProbe> {
        match self {
            Self::Net(net) => Some(net),
            _ => None,
        }
    }

    /// Mutable access to [`Self::net`].
    pub const fn net_mut(&mut self) -> Option<&mut NetProbe> {
        match self {
            Self::Net(net) => Some(net),
            _ => None,
        }
    }

    /// The settings of a measured operation; `None` for other probes.
    pub const fn cost(&self) -> Option<&CostProbe> {
        match self {
            Self::Cost(cost) => Some(cost),
            _ => None,
        }
    }

    /// Mutable access to [`Self::cost`].
    pub const fn cost_mut(&mut self) -> Option<&mut CostProbe> {
        match self {
            Self::Cost(cost) => Some(cost),
            _ => None,
        }
    }

    /// The settings of messages; `None` for other probes.
    pub const fn midi(&self) -> Option<&MidiProbe> {
        match self {
            Self::Midi(midi) => Some(midi),
            _ => None,
        }
    }

    /// Mutable access to [`Self::midi`].
    pub const fn midi_mut(&mut self) -> Option<&mut MidiProbe> {
        match self {
            Self::Midi(midi) => Some(midi),
            _ => None,
        }
    }

    /// Whether its tasks compute all the time instead of sleeping until something is due: its
    /// samples are durations, and nothing can be late.
    pub const fn never_sleeps(&self) -> bool {
        matches!(self, Self::Sort(_) | Self::Cost(_))
    }

    /// Whether a cell has one task, on the first of its CPUs, instead of tasks on each CPU.
    pub const fn has_one_task(&self) -> bool {
        matches!(self, Self::Net(_) | Self::Cost(_) | Self::Midi(_)) || self.is_whole_player()
    }

    /// Whether frames are played by a whole player, which has its own start of time.
    pub const fn is_whole_player(&self) -> bool {
        matches!(self, Self::Frames(frames) if frames.player.is_whole())
    }

    /// A probe of the given kind with the same sleep settings; settings specific to that kind
    /// are placeholders.
    #[must_use]
    pub(crate) fn of_kind(&self, kind: ProbeKind) -> Self {
        let timer = self.timer().clone();
        match kind {
            kind if kind == self.kind() => self.clone(),
            ProbeKind::Timer => Self::Timer(timer),
            ProbeKind::Frames => Self::Frames(FramesProbe {
                frame_rate: Rate::ONE,
                tick: Tick::None,
                tick_shift: TickShift::Sweep,
                player: PlayerKind::HalfSlot,
                timer,
            }),
            ProbeKind::Sort => Self::Sort(SortProbe { timer, numbers: Numbers::OF_THE_PAPER }),
            ProbeKind::Net => Self::Net(NetProbe {
                timer,
                path: NetPath::Socket,
                packets: Packets::OF_THE_PAPER,
                burst_work: Nanos::ZERO,
                rivals: 0,
                relay_policy: Scheduling::ORDINARY,
                receive: NetReceive::Softirq,
                napi_policy: Scheduling::ORDINARY,
            }),
            ProbeKind::Cost => Self::Cost(CostProbe::blank(timer)),
            ProbeKind::Midi => Self::Midi(MidiProbe {
                timer,
                message_rate: Rate::ONE,
                ahead: Nanos::ZERO,
                via: Via::Library,
            }),
        }
    }
}

impl TimerProbe {
    /// Placeholder settings; all of them are set before a measurement.
    pub(crate) const fn blank() -> Self {
        Self {
            sleep: SleepMethod::Nanosleep,
            clock: ClockName::Monotonic,
            interval: Interval::Fixed(Nanos::from_millis(1)),
            align: Nanos::ZERO,
            offset: Nanos::ZERO,
            work: Work::None,
            tasks_per_cpu: 1,
            tasks: TaskKind::Threads,
            interrupted: Interrupted::None,
            dirt: Dirt::Clean,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_parsed_and_formatted() {
        for text in ["1ms", "1ms..1s", "1ms~50us", "5us"] {
            assert_eq!(text.parse::<Interval>().unwrap().to_string(), text);
        }
        for text in ["0ms", "2ms..1ms", "1ms~2ms", "1ms..", "100ns"] {
            assert!(text.parse::<Interval>().is_err(), "{text}");
        }
    }

    #[test]
    fn work_is_parsed_and_formatted() {
        for text in ["none", "8%", "continuous"] {
            assert_eq!(text.parse::<Work>().unwrap().to_string(), text);
        }
        for text in ["0%", "100%", "half"] {
            assert!(text.parse::<Work>().is_err(), "{text}");
        }
    }
}
