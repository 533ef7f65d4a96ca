//! The stages of a sample, from its due time to its arrival in user mode.

use std::fmt;

use serde::{Deserialize, Serialize};
use tactus_model::time::{Instant, Monotonic, Nanos};

/// A stage of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Segment {
    /// From the due time to the entry of the interrupt that serves the timer.
    DueToIrq,
    /// From there to the timer's function.
    IrqToTimer,
    /// From there to the wakeup of the thread.
    TimerToWakeup,
    /// From there to the switch to the thread.
    WakeupToSwitch,
    /// From there to the arrival, stamped in user mode; of a sample that the thread hands over, to
    /// that moment.
    SwitchToUser,
    /// From there to the receiver, for a sample that the thread hands over.
    HandedOver,
}

impl Segment {
    /// All segments in the order of time.
    pub const ALL: [Self; 6] = [
        Self::DueToIrq,
        Self::IrqToTimer,
        Self::TimerToWakeup,
        Self::WakeupToSwitch,
        Self::SwitchToUser,
        Self::HandedOver,
    ];
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::DueToIrq => "due → irq entry",
            Self::IrqToTimer => "irq entry → timer handler",
            Self::TimerToWakeup => "timer handler → wakeup",
            Self::WakeupToSwitch => "wakeup → switched in",
            Self::SwitchToUser => "switched in → user mode",
            Self::HandedOver => "handed over → received",
        })
    }
}

/// The instants that a sample passes between its due time and its arrival.
///
/// An instant that was not recorded is `None`; its segment is then empty, and its time
/// counts for the segment before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stages {
    /// The interrupt that serves the timer was entered.
    pub irq: Option<Instant<Monotonic>>,
    /// The timer's function began.
    pub timer: Option<Instant<Monotonic>>,
    /// The thread was woken.
    pub wakeup: Option<Instant<Monotonic>>,
    /// The CPU switched to the thread.
    pub switch: Option<Instant<Monotonic>>,
}

/// The duration of each segment of a sample, in the order of [`Segment::ALL`].
///
/// They add up to the sample's latency exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Segments([Nanos; 6]);

/// The maximum contradiction between events and the probe's own time stamps.
///
/// The kernel reads the clock for an event, and the interrupt's `now`, a few
/// instructions away from the moment that the event stands for.
const DISORDER_MAX: Nanos = Nanos::from_micros(5);

impl Segments {
    /// Divides the time from `due` to `came` at the `stages`.
    ///
    /// A stage before `due` (if the interrupt was already being served at the due time)
    /// or before the stage it follows is moved there. Returns `None` if stages are in
    /// the wrong order by more than the uncertainty of the events, or are after `came`.
    pub fn between(
        due: Instant<Monotonic>,
        came: Instant<Monotonic>,
        stages: &Stages,
    ) -> Option<Self> {
        let mut lengths = [Nanos::ZERO; 6];
        let mut reached = due;
        let mut segment = 0;
        let recorded = [stages.irq, stages.timer, stages.wakeup, stages.switch];
        let mut last_seen: Option<Instant<Monotonic>> = None;
        for (index, stage) in recorded.into_iter().enumerate() {
            let Some(stage) = stage else { continue };
            if last_seen.is_some_and(|last| last - stage > DISORDER_MAX)
                || stage - came > DISORDER_MAX
            {
                return None;
            }
            last_seen = Some(stage);
            let stage = stage.clamp(reached, came.max(reached));
            lengths[segment] = lengths[segment] + (stage - reached);
            reached = stage;
            segment = index + 1;
        }
        lengths[segment] = lengths[segment] + (came - reached);
        Some(Self(lengths))
    }

    /// The segments of a sample that is received this long after its thread handed it over.
    pub(crate) fn received_after(mut self, time: Nanos) -> Self {
        self.0[Segment::HandedOver as usize] = time;
        self
    }

    /// The duration of a segment.
    pub const fn get(&self, segment: Segment) -> Nanos {
        self.0[segment as usize]
    }

    /// Every segment with its duration, in the order of time; the last one only if the sample was
    /// handed over.
    pub fn iter(&self) -> impl Iterator<Item = (Segment, Nanos)> + '_ {
        let all = Segment::ALL.into_iter().zip(self.0);
        all.filter(|(segment, length)| *segment != Segment::HandedOver || *length > Nanos::ZERO)
    }

    /// The sum of all segments: the sample's latency.
    pub fn total(&self) -> Nanos {
        self.0.into_iter().sum()
    }
}
