//! Which threads ran where in the window of a late sample, as data for drawing.

use std::fmt;

use serde::{Deserialize, Serialize};
use tactus_model::recording::{Dictionary, InterruptVector, Softirq, ThreadId};
use tactus_model::time::{Instant, Monotonic, Nanos};

use crate::blame::{Carved, Scene, carve};
use crate::cause::Culprit;
use crate::machine::{Absence, Activity, Slice, TimerFire, Waker};

/// The resolution of a timeline as a share of its duration. A wide drawing has fewer
/// points than this.
const RESOLUTION: u64 = 1000;

/// What every CPU did in the window of one sample.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeline {
    /// The duration of the window; times below count from its beginning, the due time.
    pub length: Nanos,
    /// A lane for each CPU, by number.
    pub lanes: Vec<Lane>,
    /// What happened to the sample's own thread, in the order of time.
    pub marks: Vec<Mark>,
}

/// What one CPU did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lane {
    /// The CPU.
    pub cpu: u32,
    /// The CPU's activities in the order of time, without overlaps; a gap means that
    /// nothing is known.
    pub bars: Vec<Bar>,
}

/// A stretch in which a CPU had one activity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bar {
    /// When it began.
    pub from: Nanos,
    /// When it ended.
    pub to: Nanos,
    /// The activity.
    pub occupant: Occupant,
}

/// What occupies a CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum Occupant {
    /// Nothing.
    Idle,
    /// The sample's own thread.
    Probe,
    /// Another thread.
    Thread {
        /// The thread.
        thread: Culprit,
        /// Whether it had been asked to reschedule.
        asked: bool,
    },
    /// An interrupt of the CPU itself.
    Vector {
        /// The vector.
        vector: InterruptVector,
    },
    /// A device's interrupt.
    Interrupt {
        /// The handler's name.
        name: String,
    },
    /// A softirq.
    Softirq {
        /// The softirq.
        softirq: Softirq,
    },
    /// The function of a timer.
    Timer {
        /// Its name.
        function: String,
    },
    /// The host paused the whole machine, whatever ran there before.
    HostPause,
    /// Several activities, each too short to be drawn.
    Several {
        /// The number of activities.
        count: u64,
    },
}

/// An instant in the life of the sample's own thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The time since the due time.
    pub at: Nanos,
    /// What happened.
    pub moment: Moment,
}

/// What happens to a sample's thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Moment {
    /// The interrupt that serves its timer was entered.
    Irq,
    /// The timer's function began.
    Timer,
    /// The thread was woken.
    Wakeup,
    /// A CPU switched to it.
    SwitchedIn,
    /// It left a CPU.
    SwitchedOut,
    /// A page fault began.
    Fault,
    /// It arrived in user mode.
    Came,
}

impl fmt::Display for Occupant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Idle => f.pad("idle"),
            Self::Probe => f.pad("probe"),
            Self::Thread { thread, asked: false } => write!(f, "{thread}"),
            Self::Thread { thread, asked: true } => write!(f, "{thread}, asked to reschedule"),
            Self::Vector { vector } => write!(f, "interrupt {vector}"),
            Self::Interrupt { name } => write!(f, "interrupt {name}"),
            Self::Softirq { softirq } => write!(f, "softirq {softirq}"),
            Self::Timer { function } => write!(f, "timer {function}"),
            Self::HostPause => f.pad("the host paused the whole machine"),
            Self::Several { count } => write!(f, "{count} short stretches"),
        }
    }
}

/// Draws the timeline of a window.
pub(crate) fn draw(
    scene: &Scene<'_>,
    due: Instant<Monotonic>,
    came: Instant<Monotonic>,
    probe: ThreadId,
    marks: Vec<Mark>,
) -> Timeline {
    let length = came - due;
    let finest = Nanos::from_nanos(length.as_nanos() / RESOLUTION);
    let cpus = 0..scene.machine.cpus().len() as u32;
    let pauses = scene.pauses(due, came);
    let lanes = cpus.map(|cpu| {
        let mut lane = Lane { cpu, bars: Vec::new() };
        for piece in scene.pieces(cpu, due, came) {
            for part in carve((piece.from, piece.to), &pauses) {
                let ((from, to), occupant) = match (part, &piece.slice) {
                    (Carved::Inside(paused), _) => (paused, Occupant::HostPause),
                    (Carved::Outside(part), Some(slice)) => (part, occupant(slice, probe, scene)),
                    (Carved::Outside(_), None) => continue,
                };
                lane.append(Bar { from: from - due, to: to - due, occupant }, finest);
            }
        }
        lane
    });
    let lanes = lanes.filter(|lane| !lane.bars.is_empty()).collect();
    Timeline { length, lanes, marks }
}

/// What happened to a sample's thread in its window, in the order of time: absences,
/// timers that it had armed and that were served, page faults.
pub(crate) fn marks(
    due: Instant<Monotonic>,
    came: Instant<Monotonic>,
    absences: &[Absence],
    fires: &[TimerFire],
    faults: &[Instant<Monotonic>],
) -> Vec<Mark> {
    let mut moments: Vec<(Instant<Monotonic>, Moment)> = vec![(came, Moment::Came)];
    let serve = |moments: &mut Vec<_>, fire: &TimerFire| {
        moments.extend([(fire.irq_at, Moment::Irq), (fire.entered_at, Moment::Timer)]);
    };
    for absence in absences {
        moments.push((absence.left_at, Moment::SwitchedOut));
        moments.push((absence.back_at, Moment::SwitchedIn));
        if let Some(waking) = absence.waking {
            moments.push((waking.at, Moment::Wakeup));
            if let Waker::Timer(fire) = waking.by {
                serve(&mut moments, &fire);
            }
        }
    }
    fires.iter().for_each(|fire| serve(&mut moments, fire));
    moments.extend(faults.iter().map(|fault| (*fault, Moment::Fault)));
    moments.retain(|(at, _)| *at >= due && *at <= came);
    moments.sort_by_key(|(at, moment)| (*at, *moment as u8));
    moments.dedup();
    moments.into_iter().map(|(at, moment)| Mark { at: at - due, moment }).collect()
}

impl Lane {
    /// Appends a bar, or merges it into the one before it if both are equal or both are
    /// shorter than `finest`.
    fn append(&mut self, bar: Bar, finest: Nanos) {
        if let Some(last) = self.bars.last_mut()
            && last.to == bar.from
        {
            if last.occupant == bar.occupant {
                last.to = bar.to;
                return;
            }
            let short = |bar: &Bar| bar.to - bar.from < finest;
            let together = match last.occupant {
                Occupant::Several { count } if short(&bar) => Some(count + 1),
                _ if short(last) && short(&bar) => Some(2),
                _ => None,
            };
            if let Some(count) = together {
                last.occupant = Occupant::Several { count };
                last.to = bar.to;
                return;
            }
        }
        self.bars.push(bar);
    }
}

fn occupant(slice: &Slice, probe: ThreadId, scene: &Scene<'_>) -> Occupant {
    let names: &Dictionary = scene.names;
    match slice.activity {
        Activity::Idle { .. } => Occupant::Idle,
        Activity::Thread | Activity::Reclaim if slice.thread == probe => Occupant::Probe,
        Activity::Thread | Activity::Reclaim => {
            Occupant::Thread { thread: scene.culprit(slice), asked: slice.need_resched }
        }
        Activity::Vector(vector) => Occupant::Vector { vector },
        Activity::Irq { name, .. } => Occupant::Interrupt { name: names.name(name).to_owned() },
        Activity::Softirq(softirq) => Occupant::Softirq { softirq },
        Activity::Timer { function } | Activity::JiffyTimer { function } => {
            Occupant::Timer { function: names.function_name(function).to_owned() }
        }
    }
}
