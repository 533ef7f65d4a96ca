//! One combination of probe, load, policy and target.

use serde::{Deserialize, Serialize};

use crate::block_requests::BlockRequests;
use crate::frames::Rate;
use crate::guest::Guest;
use crate::load::{LoadPlan, NotInGuest};
use crate::origin::ImportedCell;
use crate::policy::{Policy, Quanta};
use crate::probe::{Interval, Probe, SleepMethod, TaskKind, Work};
use crate::quantum::Quantum;
use crate::time::Nanos;
use crate::traced::TracedEvents;

/// Where a cell runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Target {
    /// The machine that runs the plan.
    Host,
    /// A kernel that is booted to measure in.
    Guest(Guest),
}

impl Target {
    /// The guest, where it is one.
    pub const fn guest(&self) -> Option<&Guest> {
        match self {
            Self::Host => None,
            Self::Guest(guest) => Some(guest),
        }
    }
}

/// One combination of probe, load, policy and target, and for how long it is measured.
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
    /// How long a second window is in which the kernel's events are recorded; zero for none.
    /// Plans that were kept before there was such a window lack it.
    #[serde(default)]
    pub traced: Nanos,
    /// Which events are recorded there.
    #[serde(default = "all_events")]
    pub traced_events: TracedEvents,
    /// How much block devices move at one request meanwhile.
    #[serde(default)]
    pub block_requests: BlockRequests,
    /// How long its tasks may run before another of their class has its turn.
    #[serde(default)]
    pub quantum: Quantum,
    /// The most samples that a task keeps; those beyond it are counted as dropped.
    pub sample_limit: u64,
    /// What is known of the cell when another program measured it; `None` for our own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<ImportedCell>,
}

/// What was recorded before there was a choice.
const fn all_events() -> TracedEvents {
    TracedEvents::All
}

/// Why a cell's settings do not go together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Inconsistent {
    /// The sleeping call knows other clocks only.
    #[error("sleep = \"{sleep}\" cannot sleep by clock = \"{clock}\"; it can by: {choices}")]
    Clock {
        /// The sleeping call.
        sleep: SleepMethod,
        /// The clock asked for.
        clock: crate::time::ClockName,
        /// The clocks it knows.
        choices: String,
    },
    /// A task that computes all the time cannot also block.
    #[error(
        "work = \"continuous\" needs a timer that interrupts it, and sleep = \"{0}\" blocks; use sleep = \"signal-handler\""
    )]
    ContinuousBlocks(SleepMethod),
    /// setitimer(2) gives one timer to a process.
    #[error("sleep = \"itimer\" has one timer a process; add tasks = \"processes\"")]
    ItimerThreads,
    /// A measurement of no length.
    #[error("duration = \"{0}\" is shorter than one interval; make it at least {1}")]
    TooShort(Nanos, Nanos),
    /// A player's interval is not the slot of its frames.
    #[error("interval = \"{interval}\" is not the slot of {frame_rate} frames a second, {slot}")]
    Slot {
        /// The interval that was given.
        interval: Interval,
        /// The rate that was given.
        frame_rate: Rate,
        /// The slot that follows from it.
        slot: Nanos,
    },
    /// A sort is all the work there is.
    #[error("work = \"{0}\" is for tasks that sleep, and `sort` never does; leave it out")]
    SortsWork(Work),
    /// The load cannot run where the cell does.
    #[error(transparent)]
    NotInGuest(#[from] NotInGuest),
    /// Neither the probe nor the load is of a class that has quanta.
    #[error(
        "quantum = \"{0}\" is for tasks that take turns: of the rr class or an ordinary one; leave it out"
    )]
    NoQuanta(Quantum),
    /// More tasks than can be meant.
    #[error("tasks-per-cpu = {0} is out of range; write 1 to 256")]
    TaskCount(u32),
}

impl Cell {
    /// The same cell as it is measured while events are recorded; none when it is not.
    ///
    /// Its window is as long as [`Self::traced`], but at least one interval, since
    /// nothing is due in a shorter one. A sort waits for nothing that could be late, so it
    /// is not measured again.
    pub fn while_traced(&self) -> Option<Self> {
        let probe = self.probe.timer();
        let duration = self.traced.max(probe.interval.mean());
        let is_traced = self.traced > Nanos::ZERO && self.probe.sort().is_none();
        is_traced.then(|| Self { duration, ..self.clone() })
    }

    /// The quanta by which the tasks of the probe and those of the load share processors.
    pub fn quanta(&self) -> impl Iterator<Item = Quanta> + use<> {
        let is_loaded = !self.load.load.is_idle();
        let load = self.load.scheduling.quanta().filter(|_| is_loaded);
        self.policy.scheduling.quanta().into_iter().chain(load)
    }

    /// How long the load runs in a turn at least: both windows and what precedes them.
    pub fn length(&self) -> Nanos {
        let traced = self.while_traced().map_or(Nanos::ZERO, |cell| cell.duration);
        self.warmup + self.duration + traced
    }

    /// Checks that the settings go together.
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
        if self.duration < probe.interval.mean() {
            return Err(Inconsistent::TooShort(self.duration, probe.interval.mean()));
        }
        if let Some(frames) = self.probe.frames() {
            let (interval, frame_rate) = (probe.interval, frames.frame_rate);
            let slot = frame_rate.period();
            if interval != Interval::Fixed(slot) {
                return Err(Inconsistent::Slot { interval, frame_rate, slot });
            }
        }
        if self.probe.sort().is_some() && probe.work != Work::None {
            return Err(Inconsistent::SortsWork(probe.work));
        }
        if self.target.guest().is_some() {
            self.load.load.check_in_guest()?;
        }
        if self.quantum != Quantum::Untouched && self.quanta().next().is_none() {
            return Err(Inconsistent::NoQuanta(self.quantum));
        }
        if !(1..=256).contains(&probe.tasks_per_cpu) {
            return Err(Inconsistent::TaskCount(probe.tasks_per_cpu));
        }
        Ok(())
    }
}
