//! What a task measures in its window, with all that it needs besides its timer facility: a variant
//! for each probe.

use std::sync::Arc;

use tactus_model::cost::CostProbe;
use tactus_model::cpus::CpuList;
use tactus_model::probe::Probe;
use tactus_model::recording::ThreadId;
use tactus_model::result::{Batch, ClockFindings, MessageFindings, PlaybackFindings, Shortfall};
use tactus_model::sample::Sample;
use tactus_model::time::Nanos;
use tactus_sys::thread;

use crate::evaluate::Due;
use crate::frames::Player;
use crate::live::{RingWriter, SampleRings};
use crate::midi::Port;
use crate::net::SenderSite;
use crate::operations::{self, Bench};
use crate::playback::{Played, Stage};
use crate::schedule::Schedule;
use crate::sort::Sorts;
use crate::task::{TaskRequest, Unable};
use crate::timer::{SampleMemory, SampleSink, TakenSamples};

/// Where samples are stored.
pub(crate) enum Destination {
    /// In memory that is evaluated after the window.
    Memory(SampleMemory),
    /// In a ring that is read meanwhile.
    Ring(RingWriter),
}

impl SampleSink for Destination {
    fn keep(&mut self, sample: Sample) -> bool {
        match self {
            Self::Memory(memory) => memory.keep(sample),
            Self::Ring(ring) => ring.keep(sample),
        }
    }
}

impl Destination {
    /// Memory for this number of samples.
    pub(crate) fn memory(samples: u64) -> Result<Self, Unable> {
        Ok(Self::Memory(memory(samples)?))
    }
}

fn memory(samples: u64) -> Result<SampleMemory, Unable> {
    SampleMemory::take(usize::try_from(samples).unwrap_or(usize::MAX)).map_err(|_| Unable {
        reason: format!("not enough memory for {samples} samples"),
        hint: Some("use a lower sample-limit, a shorter duration, or a longer interval".to_owned()),
    })
}

/// Refuses probes whose samples are known only after the window, since a viewer reads them meanwhile.
pub(crate) fn check_live(probe: &Probe) -> Result<(), Unable> {
    let samples = match probe {
        Probe::Timer(_) | Probe::Midi(_) => return Ok(()),
        Probe::Frames(_) => "frames",
        Probe::Sort(_) => "sorts",
        Probe::Net(_) => "bursts",
        Probe::Cost(_) => "operations",
    };
    Err(Unable {
        reason: format!("{samples} cannot be watched: they are evaluated after the window"),
        hint: Some("use tactus measure, or watch the timer probe".to_owned()),
    })
}

/// What a task measures, with the part of its needs that must not have its CPU and policy: it is
/// opened before the task has them.
pub(crate) enum Surroundings {
    Wakeups(Schedule),
    Frames(Player),
    Playback(Stage),
    Sorts(Sorts),
    Bursts(Box<SenderSite>),
    Operation(Box<CostProbe>, Box<operations::Site>),
    Messages(Box<Port>, Schedule),
}

impl Surroundings {
    /// Opens what the task of `request` needs, for the cell's CPUs. Also returns what was not granted.
    pub(crate) fn open(
        request: &TaskRequest,
        cpus: &CpuList,
    ) -> Result<(Self, Vec<Shortfall>), Unable> {
        let TaskRequest { cell, task, cpu, seed, .. } = request;
        let schedule = || Schedule::of_task(cell, *task, *seed);
        Ok(match &cell.probe {
            Probe::Timer(_) => (Self::Wakeups(schedule()), Vec::new()),
            Probe::Frames(frames) if frames.player.is_whole() => {
                let scheduling = cell.policy.scheduling;
                let (stage, refused) =
                    Stage::open(frames, cell.duration, scheduling, cpus.clone())?;
                (Self::Playback(stage), refused.into_iter().collect())
            }
            Probe::Frames(frames) => {
                let offset = frames.timer.offset.saturating_mul((*task).into());
                (Self::Frames(Player::new(frames, offset, cell.duration)), Vec::new())
            }
            Probe::Sort(sort) => (Self::Sorts(Sorts::new(sort, cell.duration)), Vec::new()),
            Probe::Net(net) => {
                let (site, refused) = SenderSite::open(net, cell.duration)?;
                (Self::Bursts(Box::new(site)), refused)
            }
            Probe::Cost(cost) => {
                let site = operations::Site::prepare(cost, *cpu)?;
                let refused = site.shortfalls();
                (Self::Operation(Box::new(cost.clone()), Box::new(site)), refused)
            }
            Probe::Midi(midi) => {
                let cpus = std::iter::once(*cpu).collect();
                let (port, refused) =
                    Port::open(midi, cell.duration, cell.policy.scheduling, &cpus)?;
                (Self::Messages(Box::new(port), schedule()), refused.into_iter().collect())
            }
        })
    }

    /// Adds what has the task's policy, and memory for the samples. A viewer reads them from `rings`,
    /// if given. A partner runs on the task's CPU or on the next of `cpus`.
    pub(crate) fn equip(
        self,
        request: &TaskRequest,
        cpus: &CpuList,
        rings: Option<&Arc<SampleRings>>,
    ) -> Result<Apparatus, Unable> {
        let cell = &request.cell;
        let memory = |at_most: u64| memory(at_most.min(cell.sample_limit));
        let destination = |at_most: u64| match rings {
            Some(rings) => Ok(Destination::Ring(rings.writer(request.task))),
            None => memory(at_most).map(Destination::Memory),
        };
        Ok(match self {
            Self::Wakeups(schedule) => {
                let kept = destination(schedule.remaining())?;
                Apparatus::Wakeups { schedule, kept }
            }
            Self::Frames(player) => {
                let memory = memory(player.intended())?;
                Apparatus::Frames { player, memory }
            }
            Self::Playback(stage) => Apparatus::Playback(stage),
            Self::Sorts(sorts) => {
                let memory = memory(sorts.at_most())?;
                Apparatus::Sorts { sorts, memory }
            }
            Self::Bursts(site) => Apparatus::Bursts(site),
            Self::Operation(cost, site) => {
                let bench = Bench::open(&cost, *site, cell.duration, request.cpu, cpus)?;
                let memory = memory(bench.samples_at_most())?;
                Apparatus::Operation { bench: Box::new(bench), memory }
            }
            Self::Messages(port, schedule) => {
                let kept = Some(destination(schedule.remaining())?);
                Apparatus::Messages { port, schedule, kept }
            }
        })
    }
}

/// What a task measures in its window, ready to do so.
pub(crate) enum Apparatus {
    /// Wakes at the due times of a schedule.
    Wakeups { schedule: Schedule, kept: Destination },
    /// Plays frames.
    Frames { player: Player, memory: SampleMemory },
    /// Lets a whole player play.
    Playback(Stage),
    /// Sorts repeatedly.
    Sorts { sorts: Sorts, memory: SampleMemory },
    /// Sends bursts of packets.
    Bursts(Box<SenderSite>),
    /// Repeats an operation.
    Operation { bench: Box<Bench>, memory: SampleMemory },
    /// Delivers messages at the due times of a schedule; a receiver keeps their samples.
    Messages { port: Box<Port>, schedule: Schedule, kept: Option<Destination> },
}

impl Apparatus {
    /// The thread whose events explain the samples: the calling one, or a receiver. Of messages that
    /// a server writes, or that are watched, only the arrivals are known.
    pub(crate) fn explained_thread(&self) -> ThreadId {
        match self {
            Self::Messages { port, kept, .. }
                if port.is_of_server() || matches!(kept, Some(Destination::Ring(_))) =>
            {
                port.receiver()
            }
            _ => thread::current_id(),
        }
    }

    /// Announces the window that opens at `start` to those who act ahead of it.
    pub(crate) fn announce(&mut self, start: u64) {
        if let Self::Messages { port, schedule, kept } = self
            && let Some(kept) = kept.take()
        {
            port.begin(start, schedule.clone(), kept);
        }
    }

    /// Passes over the due times before the task was ready to sleep for the first, `late` after its
    /// window opened: nobody slept for them. A viewer of rings follows the whole schedule, frames
    /// decide themselves what is too late, and of the others nothing is due.
    pub(crate) fn pass_until_ready(&mut self, late: Nanos) {
        if let Self::Wakeups { schedule, kept: Destination::Memory(_) } = self
            && late > Nanos::ZERO
        {
            schedule.skip_until(late);
        }
    }

    /// What is due in the window.
    pub(crate) fn due(&self) -> Due {
        match self {
            Self::Wakeups { schedule, .. } => Due::Wakeups(schedule.clone()),
            Self::Frames { player, .. } => Due::Counted(player.intended()),
            Self::Playback(stage) => Due::Counted(stage.frames()),
            Self::Bursts(site) => Due::Counted(site.bursts()),
            Self::Messages { schedule, .. } => Due::Counted(schedule.remaining()),
            Self::Sorts { .. } | Self::Operation { .. } => Due::Nothing,
        }
    }
}

/// Evaluates a window: ordinary work, to be done after the window. `None` if a viewer has the samples.
pub(crate) type Evaluation = Box<dyn FnOnce() -> Result<Option<Measured>, Unable>>;

/// What a window gave.
#[derive(Debug)]
pub(crate) struct Measured {
    pub taken: TakenSamples,
    /// The CPU time in each interval, if it was measured.
    pub use_over_time: Vec<Nanos>,
    /// The batches of an operation.
    pub batches: Vec<Batch>,
    /// What the readings of a clock showed.
    pub clock: Option<ClockFindings>,
    /// What messages showed.
    pub messages: Option<MessageFindings>,
    /// What a whole player showed.
    pub playback: Option<PlaybackFindings>,
}

impl From<TakenSamples> for Measured {
    fn from(taken: TakenSamples) -> Self {
        Self {
            taken,
            use_over_time: Vec::new(),
            batches: Vec::new(),
            clock: None,
            messages: None,
            playback: None,
        }
    }
}

impl From<Played> for Measured {
    fn from(Played { taken, findings }: Played) -> Self {
        Self { playback: Some(findings), ..taken.into() }
    }
}
