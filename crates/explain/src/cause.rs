//! What can delay a thread, in words.

use std::fmt;

use serde::{Deserialize, Serialize};
use tactus_model::recording::{InterruptVector, Priority, Softirq, ThreadId};

/// Something that delayed a sample.
///
/// Shown (`Display`) it is the phrase that stands in a table of causes. Two
/// delays have the same cause when these are equal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "cause", rename_all = "kebab-case")]
pub enum Cause {
    /// The host let no processor of this guest run.
    HostPause,
    /// The host gave this processor's time to others.
    Steal {
        /// The processor.
        cpu: u32,
    },
    /// The timer was allowed to expire later than its due time (prctl(2),
    /// `PR_SET_TIMERSLACK`).
    TimerSlack,
    /// A device's interrupt handler.
    Interrupt {
        /// The handler's name.
        name: String,
        /// The processor that served it.
        cpu: u32,
    },
    /// An interrupt of the processor itself other than its timer.
    Vector {
        /// Which.
        vector: InterruptVector,
        /// The processor that served it.
        cpu: u32,
    },
    /// A softirq.
    Softirq {
        /// Which.
        softirq: Softirq,
        /// The processor that served it.
        cpu: u32,
    },
    /// The timer interrupt: the tick and the functions of timers.
    TimerWork {
        /// The function that ran; none for the interrupt around it.
        function: Option<String>,
        /// The processor that served it.
        cpu: u32,
    },
    /// The kernel serves timers at its ticks alone, and the first after the due time was
    /// awaited, up to a tick's length.
    AwaitedTick,
    /// The processor had to leave idle.
    IdleExit {
        /// The processor.
        cpu: u32,
        /// The idle state's number, where it was recorded.
        state: Option<u32>,
    },
    /// The processor left idle and went to the thread it was to run; the kernel
    /// told no event of the switch, so the two are not told apart.
    UntoldSwitch {
        /// The processor.
        cpu: u32,
    },
    /// The scheduler let another thread run.
    OtherThread {
        /// Which.
        thread: Culprit,
    },
    /// A thread ran kernel code that could not be interrupted or preempted.
    KernelSection {
        /// Which.
        thread: Culprit,
        /// What was held off.
        hold: Hold,
        /// The kernel function, where call chains were recorded.
        site: Option<String>,
    },
    /// The scheduler held the thread back though it could run.
    Throttling {
        /// By which rule.
        rule: Throttle,
    },
    /// A page that the probe touched was not there.
    PageFault,
    /// A thread that had to act first was stopped by a signal.
    Stopped {
        /// Which.
        thread: Culprit,
    },
    /// A thread that had to act first slept until a time of its own.
    Asleep {
        /// Which.
        thread: Culprit,
    },
    /// An interrupt that had to come first came.
    AwaitedInterrupt {
        /// Its name.
        name: String,
    },
    /// The kernel's way to the thread: the wakeup, the switch, the return to user mode.
    Switch,
    /// The processor was held below the kernel, by a hypervisor or by firmware: an
    /// interrupt came late, and found code that ran with interrupts on, in user mode
    /// above all.
    BelowKernel {
        /// The processor.
        cpu: u32,
    },
    /// Time that no event accounts for before an interrupt that came late in kernel
    /// code: interrupts were off there, or the processor was held below the kernel.
    GapInKernel {
        /// The function that the interrupt found; none where several are taken together.
        site: Option<String>,
    },
    /// Time of a thread that no event accounts for, before an interrupt of which no
    /// call chain tells though chains were recorded: of some threads some kernels
    /// tell none.
    GapInThread {
        /// Which.
        thread: Culprit,
    },
    /// Time that no event accounts for.
    UnexplainedGap,
}

/// A thread that delayed another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Culprit {
    /// Its name.
    pub name: String,
    /// Its number; none where threads of one name are taken together.
    pub thread: Option<ThreadId>,
    /// Its priority.
    pub priority: Priority,
}

impl fmt::Display for Culprit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.thread {
            Some(thread) => write!(f, "{} ({thread}, {})", self.name, self.priority.class()),
            None => write!(f, "{} ({})", self.name, self.priority.class()),
        }
    }
}

/// What a section of kernel code held off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hold {
    /// Interrupts.
    Interrupts,
    /// Preemption.
    Preemption,
}

/// By which rule the scheduler held a thread back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Throttle {
    /// Real-time threads had used their share (sched(7), `sched_rt_runtime_us`).
    #[doc(alias = "sched_rt_runtime_us")]
    Realtime,
    /// Ordinary threads got the share that is kept for them (the fair server of Linux 6.12).
    #[doc(alias = "fair_server")]
    FairServer,
    /// The control group had used its quota (`cpu.max`, cgroups(7)).
    #[doc(alias = "cpu.max")]
    Cgroup,
    /// The thread had used its runtime of the period (sched(7), `SCHED_DEADLINE`).
    #[doc(alias = "SCHED_DEADLINE")]
    Deadline,
}

/// How much a cause explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CauseKind {
    /// It is an explanation.
    Explanation,
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
            | Self::UntoldSwitch { .. }
            | Self::OtherThread { .. }
            | Self::KernelSection { .. }
            | Self::Throttling { .. }
            | Self::PageFault
            | Self::Stopped { .. }
            | Self::Asleep { .. }
            | Self::AwaitedInterrupt { .. }
            | Self::Switch
            | Self::BelowKernel { .. } => CauseKind::Explanation,
            Self::GapInKernel { .. } | Self::GapInThread { .. } => CauseKind::PlacedGap,
            Self::UnexplainedGap => CauseKind::Gap,
        }
    }

    /// Whether the cause is a real explanation, not the remainder.
    pub const fn explains(&self) -> bool {
        matches!(self.kind(), CauseKind::Explanation)
    }

    /// The same cause with threads of one name taken together, and gaps wherever
    /// in the kernel they were.
    #[must_use]
    pub fn by_name(&self) -> Self {
        let mut cause = self.clone();
        match &mut cause {
            Self::OtherThread { thread }
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
            | Self::UntoldSwitch { .. }
            | Self::Throttling { .. }
            | Self::PageFault
            | Self::AwaitedInterrupt { .. }
            | Self::Switch
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
            Self::Steal { cpu } => write!(f, "steal: the host took processor {cpu}"),
            Self::TimerSlack => f.write_str("timer slack"),
            Self::Interrupt { name, cpu } => write!(f, "interrupt {name} on processor {cpu}"),
            Self::Vector { vector, cpu } => write!(f, "interrupt {vector} on processor {cpu}"),
            Self::Softirq { softirq, cpu } => write!(f, "softirq {softirq} on processor {cpu}"),
            Self::TimerWork { function: Some(function), cpu } => {
                write!(f, "timer {function} on processor {cpu}")
            }
            Self::TimerWork { function: None, cpu } => {
                write!(f, "timer interrupt on processor {cpu}")
            }
            Self::AwaitedTick => {
                f.write_str("waiting for a tick, at which alone this kernel serves timers")
            }
            Self::IdleExit { cpu, state: Some(state) } => {
                write!(f, "processor {cpu} leaving idle state {state}")
            }
            Self::IdleExit { cpu, state: None } => write!(f, "processor {cpu} leaving idle"),
            Self::UntoldSwitch { cpu } => {
                write!(f, "processor {cpu} from idle to its thread, the switch not told")
            }
            Self::OtherThread { thread } => write!(f, "thread {thread}"),
            Self::KernelSection { thread, hold, site } => {
                let held = match hold {
                    Hold::Interrupts => "interrupts off",
                    Hold::Preemption => "a kernel section not preempted",
                };
                match site {
                    Some(site) => write!(f, "{held} in {site}, thread {thread}"),
                    None => write!(f, "{held}, thread {thread}"),
                }
            }
            Self::Throttling { rule } => f.write_str(match rule {
                Throttle::Realtime => "throttling of real-time threads",
                Throttle::FairServer => "the share kept for ordinary threads (fair server)",
                Throttle::Cgroup => "throttling by the control group's quota",
                Throttle::Deadline => "throttling of a deadline thread",
            }),
            Self::PageFault => f.write_str("a page fault of the late thread"),
            Self::Stopped { thread } => write!(f, "thread {thread} was stopped"),
            Self::Asleep { thread } => write!(f, "thread {thread} slept until its own timer"),
            Self::AwaitedInterrupt { name } => write!(f, "waiting for interrupt {name}"),
            Self::Switch => {
                f.write_str("the switch to the late thread and its return to user mode")
            }
            Self::BelowKernel { cpu } => {
                write!(f, "processor {cpu} held below the kernel, by hypervisor or firmware")
            }
            Self::GapInKernel { site: Some(site) } => write!(f, "unexplained gap in {site}"),
            Self::GapInKernel { site: None } => f.write_str("unexplained gap in kernel code"),
            Self::GapInThread { thread } => write!(f, "unexplained gap in thread {thread}"),
            Self::UnexplainedGap => f.write_str("unexplained gap"),
        }
    }
}
