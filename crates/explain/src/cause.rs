//! What can delay a thread, in words.

use std::fmt;

use serde::{Deserialize, Serialize};
use tactus_model::recording::{InterruptVector, Priority, Softirq, ThreadId};

use crate::thread_time::SleepReason;

/// Something that delayed a sample.
///
/// `Display` gives the phrase that tables of causes show. Two delays have the same
/// cause if the values are equal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "cause", rename_all = "kebab-case")]
pub enum Cause {
    /// The host paused all CPUs of this guest.
    HostPause,
    /// Steal time: the host ran something else on this vCPU's CPU.
    Steal {
        /// The CPU.
        cpu: u32,
    },
    /// The timer was allowed to expire later than its due time (prctl(2),
    /// `PR_SET_TIMERSLACK`).
    TimerSlack,
    /// A device's interrupt handler.
    Interrupt {
        /// The handler's name.
        name: String,
        /// The CPU that served it.
        cpu: u32,
    },
    /// An interrupt of the CPU itself other than its timer.
    Vector {
        /// The interrupt vector.
        vector: InterruptVector,
        /// The CPU that served it.
        cpu: u32,
    },
    /// A softirq.
    Softirq {
        /// The softirq.
        softirq: Softirq,
        /// The CPU that served it.
        cpu: u32,
    },
    /// The timer interrupt: the tick and the functions of timers.
    TimerWork {
        /// The function that ran; `None` for the interrupt around it.
        function: Option<String>,
        /// The CPU that served it.
        cpu: u32,
    },
    /// The kernel serves timers only at ticks (no high-resolution timers); the thread
    /// waited for the first tick after the due time, at most one tick period.
    AwaitedTick,
    /// C-state exit: the CPU had to leave an idle state.
    IdleExit {
        /// The CPU.
        cpu: u32,
        /// The number of the idle state, if it was recorded.
        state: Option<u32>,
    },
    /// C-state exit and the switch to the thread. The sched_switch event is missing, so
    /// the two cannot be separated.
    #[serde(alias = "untold-switch")]
    MissingSwitch {
        /// The CPU.
        cpu: u32,
    },
    /// The scheduler let another thread run.
    OtherThread {
        /// The thread.
        thread: Culprit,
    },
    /// A thread of the recorder or of the program that requested the measurement: an effect of the
    /// observation, which reports show apart from the causes.
    Observer {
        /// The thread.
        thread: Culprit,
    },
    /// A thread ran a section of kernel code with interrupts or preemption off.
    KernelSection {
        /// The thread.
        thread: Culprit,
        /// What the section held off.
        hold: Hold,
        /// The kernel function, if call chains were recorded.
        site: Option<String>,
    },
    /// The scheduler throttled the runnable thread.
    Throttling {
        /// The throttling rule.
        rule: Throttle,
    },
    /// A page fault of the probe.
    PageFault,
    /// The late thread itself ran: its own work.
    OwnWork,
    /// The late thread itself ran, and freed memory before it got some.
    Reclaim,
    /// The late thread slept until an interrupt or a timer of the kernel ended the sleep.
    Blocked {
        /// What it waited for.
        on: SleepReason,
    },
    /// A thread that had to act first was stopped by a signal.
    Stopped {
        /// The thread.
        thread: Culprit,
    },
    /// A thread that had to act first slept until its own timer.
    Asleep {
        /// The thread.
        thread: Culprit,
    },
    /// An interrupt that had to come first.
    AwaitedInterrupt {
        /// Its name.
        name: String,
    },
    /// The kernel's own path to the thread: the wakeup, the context switch, the return
    /// to user mode.
    Switch,
    /// A vCPU stall by the hypervisor, or an SMI of the firmware: an interrupt came
    /// late although interrupts were on in the code that it found, usually user mode.
    BelowKernel {
        /// The CPU.
        cpu: u32,
    },
    /// Time without events before an interrupt that came late in kernel code: either an
    /// IRQ-off section or a vCPU stall.
    GapInKernel {
        /// The function that the interrupt found; `None` if several are combined.
        site: Option<String>,
    },
    /// Time of a thread without events, before an interrupt without a call chain
    /// although call chains were recorded: some kernels record no call chains for some
    /// threads.
    GapInThread {
        /// The thread.
        thread: Culprit,
    },
    /// Time without events.
    UnexplainedGap,
    /// The kernel's stopper thread moved the runnable thread to another CPU: its affinity
    /// changed, or the load balancer moved the running thread.
    #[doc(alias = "migration")]
    Moved,
}

/// A thread that delayed another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Culprit {
    /// Its name.
    pub name: String,
    /// The name of its process, if that is known and differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<String>,
    /// Its thread id; `None` if threads with one name are combined.
    pub thread: Option<ThreadId>,
    /// Its priority; the highest if it changed at an unknown time.
    pub priority: Priority,
    /// Its lower priority if it was raised: before a change of its class, or without the
    /// priority that it inherits through a lock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Priority>,
    /// Whether `priority` is only the least that it can have been: its class changed while it
    /// ran, and no event shows to what.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub or_higher: bool,
}

impl Culprit {
    /// The same thread, which ran although one with priority `least` waited.
    pub(crate) fn of_rank(self, least: Priority) -> Self {
        Self { priority: least, base: Some(self.priority), or_higher: true, ..self }
    }
}

impl fmt::Display for Culprit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(process) = &self.process {
            write!(f, " of {process}")?;
        }
        f.write_str(" (")?;
        if let Some(thread) = self.thread {
            write!(f, "{thread}, ")?;
        }
        if let Some(base) = self.base {
            write!(f, "{} raised to ", base.class())?;
        }
        write!(f, "{}", self.priority.class())?;
        f.write_str(if self.or_higher { " or higher)" } else { ")" })
    }
}

/// What a section of kernel code holds off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hold {
    /// Interrupts.
    Interrupts,
    /// Preemption.
    Preemption,
}

/// The rule by which the scheduler throttles a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Throttle {
    /// Real-time threads used up their share (sched(7), `sched_rt_runtime_us`).
    #[doc(alias = "sched_rt_runtime_us")]
    Realtime,
    /// Ordinary threads got the share that the scheduler keeps for them (the fair server of
    /// Linux 6.12).
    #[doc(alias = "fair_server")]
    FairServer,
    /// The control group used up its quota (`cpu.max`, cgroups(7)).
    #[doc(alias = "cpu.max")]
    Cgroup,
    /// The thread used up its runtime of the period (sched(7), `SCHED_DEADLINE`).
    #[doc(alias = "SCHED_DEADLINE")]
    Deadline,
}

/// How much a cause explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CauseKind {
    /// It is an explanation.
    Explanation,
    /// It is an explanation, but an effect of the observation.
    Observer,
    /// It is a part of the remainder, of which the place is known.
    PlacedGap,
    /// It is the rest of the remainder.
    Gap,
}

impl Cause {
    /// How much the cause explains.
    pub const fn kind(&self) -> CauseKind {
        match self {
            Self::HostPause
            | Self::Steal { .. }
            | Self::TimerSlack
            | Self::Interrupt { .. }
            | Self::Vector { .. }
            | Self::Softirq { .. }
            | Self::TimerWork { .. }
            | Self::AwaitedTick
            | Self::IdleExit { .. }
            | Self::MissingSwitch { .. }
            | Self::OtherThread { .. }
            | Self::KernelSection { .. }
            | Self::Throttling { .. }
            | Self::PageFault
            | Self::OwnWork
            | Self::Reclaim
            | Self::Blocked { .. }
            | Self::Stopped { .. }
            | Self::Asleep { .. }
            | Self::AwaitedInterrupt { .. }
            | Self::Switch
            | Self::Moved
            | Self::BelowKernel { .. } => CauseKind::Explanation,
            Self::Observer { .. } => CauseKind::Observer,
            Self::GapInKernel { .. } | Self::GapInThread { .. } => CauseKind::PlacedGap,
            Self::UnexplainedGap => CauseKind::Gap,
        }
    }

    /// Whether the cause is an explanation, not an unexplained remainder.
    pub const fn explains(&self) -> bool {
        matches!(self.kind(), CauseKind::Explanation | CauseKind::Observer)
    }

    /// The cause to report if the threads for which `observes` is true are the observer.
    pub(crate) fn with_observers(self, observes: impl Fn(ThreadId) -> bool) -> Self {
        match self {
            Self::OtherThread { thread } | Self::KernelSection { thread, .. }
                if thread.thread.is_some_and(&observes) =>
            {
                Self::Observer { thread }
            }
            other => other,
        }
    }

    /// The same cause without thread ids and without the function of a gap, so that
    /// threads with one name and gaps anywhere in the kernel count together.
    #[must_use]
    pub fn by_name(&self) -> Self {
        let mut cause = self.clone();
        match &mut cause {
            Self::OtherThread { thread }
            | Self::Observer { thread }
            | Self::KernelSection { thread, .. }
            | Self::Stopped { thread }
            | Self::GapInThread { thread }
            | Self::Asleep { thread } => thread.thread = None,
            Self::GapInKernel { site } => *site = None,
            Self::HostPause
            | Self::Steal { .. }
            | Self::TimerSlack
            | Self::Interrupt { .. }
            | Self::Vector { .. }
            | Self::Softirq { .. }
            | Self::TimerWork { .. }
            | Self::AwaitedTick
            | Self::IdleExit { .. }
            | Self::MissingSwitch { .. }
            | Self::Throttling { .. }
            | Self::PageFault
            | Self::OwnWork
            | Self::Reclaim
            | Self::Blocked { .. }
            | Self::AwaitedInterrupt { .. }
            | Self::Switch
            | Self::Moved
            | Self::BelowKernel { .. }
            | Self::UnexplainedGap => {}
        }
        cause
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HostPause => f.write_str("the host paused the whole machine"),
            Self::Steal { cpu } => write!(f, "steal time on CPU {cpu}"),
            Self::TimerSlack => f.write_str("timer slack"),
            Self::Interrupt { name, cpu } => write!(f, "interrupt {name} on CPU {cpu}"),
            Self::Vector { vector, cpu } => write!(f, "interrupt {vector} on CPU {cpu}"),
            Self::Softirq { softirq, cpu } => write!(f, "softirq {softirq} on CPU {cpu}"),
            Self::TimerWork { function: Some(function), cpu } => {
                write!(f, "timer {function} on CPU {cpu}")
            }
            Self::TimerWork { function: None, cpu } => {
                write!(f, "timer interrupt on CPU {cpu}")
            }
            Self::AwaitedTick => {
                f.write_str("waiting for the next tick (no high-resolution timers)")
            }
            Self::IdleExit { cpu, state: Some(state) } => {
                write!(f, "C-state exit of CPU {cpu} (idle state {state})")
            }
            Self::IdleExit { cpu, state: None } => write!(f, "C-state exit of CPU {cpu}"),
            Self::MissingSwitch { cpu } => {
                write!(f, "C-state exit of CPU {cpu} and switch (missing sched_switch event)")
            }
            Self::OtherThread { thread } => write!(f, "thread {thread}"),
            Self::Observer { thread } => write!(f, "observer: thread {thread}"),
            Self::KernelSection { thread, hold, site } => {
                let held = match hold {
                    Hold::Interrupts => "IRQ-off section",
                    Hold::Preemption => "preemption-off section",
                };
                match site {
                    Some(site) => write!(f, "{held} in {site}, thread {thread}"),
                    None => write!(f, "{held}, thread {thread}"),
                }
            }
            Self::Throttling { rule } => f.write_str(match rule {
                Throttle::Realtime => "real-time throttling (sched_rt_runtime_us)",
                Throttle::FairServer => "fair server running ordinary threads",
                Throttle::Cgroup => "control group throttling (cpu.max)",
                Throttle::Deadline => "throttling of a SCHED_DEADLINE thread",
            }),
            Self::PageFault => f.write_str("page fault of the late thread"),
            Self::OwnWork => f.write_str("work of the late thread itself"),
            Self::Reclaim => f.write_str("memory reclaim by the late thread itself"),
            Self::Blocked { on } => write!(f, "blocked: {on}"),
            Self::Stopped { thread } => write!(f, "thread {thread} was stopped"),
            Self::Asleep { thread } => write!(f, "thread {thread} slept until its own timer"),
            Self::AwaitedInterrupt { name } => write!(f, "waiting for interrupt {name}"),
            Self::Switch => f.write_str("switch to the late thread and return to user mode"),
            Self::BelowKernel { cpu } => {
                write!(f, "vCPU stall of CPU {cpu} (hypervisor or SMI)")
            }
            Self::GapInKernel { site: Some(site) } => write!(f, "unexplained gap in {site}"),
            Self::GapInKernel { site: None } => f.write_str("unexplained gap in kernel code"),
            Self::GapInThread { thread } => write!(f, "unexplained gap in thread {thread}"),
            Self::UnexplainedGap => f.write_str("unexplained gap"),
            Self::Moved => f.write_str("moved to another CPU (affinity or balance)"),
        }
    }
}
