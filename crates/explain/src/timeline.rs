//! Who ran where in the window of one late sample, as data for drawing.

use std::fmt;

use serde::{Deserialize, Serialize};
use tactus_model::recording::{Dictionary, InterruptVector, Softirq, ThreadId};
use tactus_model::time::{Instant, Monotonic, Nanos};

use crate::blame::Scene;
use crate::cause::Culprit;
use crate::machine::{Absence, Activity, Slice, TimerFire, Waker};

/// The finest that a timeline shows: this share of its length. A wide drawing
/// has fewer points than this.
const RESOLUTION: u64 = 1000;

/// What every processor did in the window of one sample.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeline {
    /// How long the window is; times below are since its beginning, the due time.
    pub length: Nanos,
    /// A lane for each processor, by number.
    pub lanes: Vec<Lane>,
    /// What happened to the sample's own thread, in the order of time.
    pub marks: Vec<Mark>,
}

/// What one processor did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lane {
    /// The processor.
    pub cpu: u32,
    /// What it did, in the order of time, without overlap; where there is a gap,
    /// nothing is known.
    pub bars: Vec<Bar>,
}

/// A stretch in which a processor did one thing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bar {
    /// From when.
    pub from: Nanos,
    /// Until when.
    pub to: Nanos,
    /// What it did.
    pub occupant: Occupant,
}

/// What occupies a processor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum Occupant {
    /// Nothing.
    Idle,
    /// The sample's own thread.
    Probe,
    /// Another thread.
    Thread {
        /// Which.
        thread: Culprit,
        /// Whether it had been asked to give way.
        asked: bool,
    },
    /// An interrupt of the processor itself.
    Vector {
        /// Which.
        vector: InterruptVector,
    },
    /// A device's interrupt.
    Interrupt {
        /// The handler's name.
        name: String,
    },
    /// A softirq.
    Softirq {
        /// Which.
        softirq: Softirq,
    },
    /// The function of a timer.
    Timer {
        /// Its name.
        function: String,
    },
    /// Several things, each too short to be drawn.
    Several {
        /// How many.
        count: u64,
    },
}

/// A moment of the sample's own thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// When, since the due time.
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
    /// A processor switched to it.
    SwitchedIn,
    /// It left a processor.
    SwitchedOut,
    /// A page was not there.
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
            Self::Thread { thread, asked: true } => write!(f, "{thread}, asked to give way"),
            Self::Vector { vector } => write!(f, "interrupt {vector}"),
            Self::Interrupt { name } => write!(f, "interrupt {name}"),
            Self::Softirq { softirq } => write!(f, "softirq {softirq}"),
            Self::Timer { function } => write!(f, "timer {function}"),
            Self::Several { count } => write!(f, "{count} short stretches"),
        }
    }
}

/// Draws up the timeline of a window.
pub(crate) fn draw(
    scene: &Scene<'_>,
    due: Instant<Monotonic>,
    came: Instant<Monotonic>,
    probe: ThreadId,
    marks: Vec<Mark>,
) -> Timeline {
    let length = came - due;
    let finest = Nanos::from_nanos(length.as_nanos() / RESOLUTION);
    let cpus = 0..scene.machine.processors().len() as u32;
    let lanes = cpus.map(|cpu| {
        let mut lane = Lane { cpu, bars: Vec::new() };
        for piece in scene.pieces(cpu, due, came) {
            let Some(slice) = &piece.slice else { continue };
            let bar = Bar {
                from: piece.from - due,
                to: piece.to - due,
                occupant: occupant(slice, probe, scene),
            };
            lane.append(bar, finest);
        }
        lane
    });
    let lanes = lanes.filter(|lane| !lane.bars.is_empty()).collect();
    Timeline { length, lanes, marks }
}

/// What happened to a sample's thread in its window, in the order of time: it was
/// absent, timers that it had armed were served, pages were not there.
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
    /// Appends a bar, or lets it go up in the one before it: when both are the
    /// same, or both are shorter than `finest`.
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
        Activity::Thread if slice.thread == probe => Occupant::Probe,
        Activity::Thread => {
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
