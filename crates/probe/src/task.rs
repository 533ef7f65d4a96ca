//! One task of a probe: it prepares itself, waits for the start, measures, and evaluates.
//!
//! A task is a thread, or a process that runs [`task_main`]. Either way it is told
//! [`Command`]s and gives [`Answer`]s; a process does so in JSON, one object a line.

use std::io::{BufRead, Write};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tactus_model::cell::Cell;
use tactus_model::probe::{Probe, TimerProbe};
use tactus_model::recording::ThreadId;
use tactus_model::result::{ProbeCost, Shortfall, TaskResult};
use tactus_model::sample::SampleBlock;
use tactus_model::time::Nanos;
use tactus_permission::{Asked, Refusal, diagnose};
use tactus_rt::{Preparation, Prepared, rehearse, touch_stack};
use tactus_sys::memory::Lock;
use tactus_sys::{SysError, sched, thread, usage};
use tactus_wire::{MessageReader, MessageWriter, WireError};

use crate::evaluate::{self, BLOCK_SAMPLES, Found};
use crate::facility::{self, Course, Facility};
use crate::frames::Player;
use crate::live::{RingLayout, RingWriter, RingsPlace, SampleRings};
use crate::schedule::Schedule;
use crate::sort::Sorts;
use crate::timer::{Recording, SampleMemory};

/// What one task has to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TaskOrder {
    /// The cell it belongs to.
    pub cell: Cell,
    /// Its number, counted from 0.
    pub task: u32,
    /// The CPU it is meant for.
    pub cpu: u32,
    /// The seed of the turn.
    pub seed: u64,
    /// Where its samples are looked at while it measures; otherwise they are kept in
    /// memory and handed over afterwards.
    pub rings: Option<RingsPlace>,
}

/// What a task is told.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "kebab-case")]
pub(crate) enum Command {
    /// The window opens at this instant of the probe's clock.
    Start {
        /// In nanoseconds since the clock's origin.
        at: u64,
    },
    /// All tasks are done: evaluate.
    Evaluate,
}

/// What a task answers, in this order unless it fails.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub(crate) enum Answer {
    /// It is prepared.
    Ready {
        /// What was not granted.
        shortfalls: Vec<Shortfall>,
        /// What its loop costs.
        cost: ProbeCost,
        /// The thread that it is.
        thread: ThreadId,
    },
    /// Its window is over.
    Measured,
    /// Some of its samples.
    Samples {
        /// The samples.
        block: SampleBlock,
    },
    /// Its result; the last answer.
    Finished {
        /// What it found.
        result: Box<TaskResult>,
    },
    /// It cannot go on; the last answer.
    Failed {
        /// Why.
        reason: String,
        /// What to do about it, where that is known.
        hint: Option<String>,
    },
}

/// The way between a task and those who started it.
pub(crate) trait Line {
    /// Waits for the next command; `None` when nobody will give one any more.
    fn hear(&mut self) -> Option<Command>;
    /// Answers; an answer that nobody waits for is lost.
    fn say(&mut self, answer: Answer);
}

/// Does what `order` says, and answers what became of it. Its samples go to `rings`,
/// where there are any.
pub(crate) fn serve(order: &TaskOrder, rings: Option<&Arc<SampleRings>>, line: &mut dyn Line) {
    if let Err(Unable { reason, hint }) = Task::new(order).run(rings, line) {
        line.say(Answer::Failed { reason, hint });
    }
}

/// Why a task cannot go on.
struct Unable {
    reason: String,
    hint: Option<String>,
}

impl Unable {
    /// Whether a frame was shown is told after the window.
    fn players_are_judged_later() -> Self {
        Self {
            reason: "players cannot be watched, since their frames are judged afterwards"
                .to_owned(),
            hint: Some("tactus measure, or watch the timer probe".to_owned()),
        }
    }

    /// A sort leaves nothing of its CPU to those who look.
    fn sorts_are_not_watched() -> Self {
        Self {
            reason: "sorts cannot be watched: they are told when their window is over".to_owned(),
            hint: Some("tactus measure, or watch the timer probe".to_owned()),
        }
    }
}

impl From<SysError> for Unable {
    fn from(error: SysError) -> Self {
        Self { reason: error.to_string(), hint: None }
    }
}

/// Where the loop puts its samples.
enum Keeper {
    Memory(SampleMemory),
    Ring(RingWriter),
}

struct Task<'a> {
    order: &'a TaskOrder,
    probe: &'a TimerProbe,
    course: Course,
}

/// How long before the window a task is awake, to read what it has used so far.
const HEAD_START: Nanos = Nanos::from_millis(1);
/// How often the loop is rehearsed at most, the wakeups of a rehearsal, and the time between
/// them.
const REHEARSALS_MAX: u32 = 3;
const REHEARSAL_WAKEUPS: u64 = 5;
const REHEARSAL_INTERVAL: Nanos = Nanos::from_micros(200);
/// How much of its stack a task touches, in bytes: more than a measured loop uses, less than
/// the stack that any C library gives a thread.
const STACK_DEPTH: usize = 64 << 10;

impl<'a> Task<'a> {
    fn new(order: &'a TaskOrder) -> Self {
        let probe = order.cell.probe.timer();
        let course = match &order.cell.probe {
            Probe::Timer(_) => {
                Course::Wakeups(Schedule::of_task(&order.cell, order.task, order.seed))
            }
            Probe::Frames(frames) => {
                let offset = probe.offset.saturating_mul(order.task.into());
                Course::Frames(Player::new(frames, offset, order.cell.duration))
            }
            Probe::Sort(sort) => Course::Sorts(Sorts::new(sort, order.cell.duration)),
        };
        Self { order, probe, course }
    }

    fn run(&self, rings: Option<&Arc<SampleRings>>, line: &mut dyn Line) -> Result<(), Unable> {
        let policy = &self.order.cell.policy;
        let usual = sched::get()?;
        let mut preparation = Preparation::new();
        if let Some(slack) = policy.timer_slack {
            preparation.set_timer_slack(slack)?;
        }
        preparation.place(&std::iter::once(self.order.cpu).collect(), policy.scheduling)?;
        let mut facility = self.open()?;
        let keeper = match rings {
            Some(rings) => Keeper::Ring(rings.writer(self.order.task)),
            None => Keeper::Memory(self.take_memory()?),
        };
        let cost = facility::cost(&self.order.cell.probe);
        self.rehearse(facility.as_mut(), rings.is_some())?;
        touch_stack(STACK_DEPTH);
        if policy.lock_memory {
            preparation.lock_memory(Lock::Present);
        }
        let Prepared { granted, shortfalls } = preparation.finish()?;
        line.say(Answer::Ready { shortfalls, cost, thread: thread::current_id() });

        let Some(Command::Start { at }) = line.hear() else { return Ok(()) };
        facility.sleep_until(at.saturating_sub(HEAD_START.as_nanos()))?;
        let before = usage::of_this_thread()?;
        let recording = match (keeper, self.course.clone()) {
            (Keeper::Ring(mut ring), Course::Wakeups(schedule)) => {
                facility.measure_live(schedule, at, &mut ring)?;
                None
            }
            (Keeper::Ring(_), Course::Frames(_)) => return Err(Unable::players_are_judged_later()),
            (Keeper::Ring(_), Course::Sorts(_)) => return Err(Unable::sorts_are_not_watched()),
            (Keeper::Memory(memory), course) => Some(facility.measure(course, at, memory)?),
        };
        let used = usage::difference(before, usage::of_this_thread()?);
        // Nobody is woken to hear of our end while other tasks still measure.
        facility.sleep_until(at.saturating_add(self.order.cell.duration.as_nanos()))?;
        drop(facility);
        // Evaluating is ordinary work. Going back is refused only to those who
        // were of a lesser class and have no permission to leave it, as idle is;
        // for them it is slower and just as right.
        let _ = sched::set(usual);
        line.say(Answer::Measured);

        let (Some(Command::Evaluate), Some(recording)) = (line.hear(), recording) else {
            return Ok(());
        };
        let recording = match &self.course {
            Course::Wakeups(_) | Course::Sorts(_) => recording,
            Course::Frames(player) => player.judged(recording),
        };
        self.hand_over(&recording, line);
        let found = Found {
            task: self.order.task,
            cpu: self.order.cpu,
            granted,
            usage: used,
            window: self.order.cell.duration,
        };
        let result = Box::new(evaluate::task_result(found, self.course.clone(), &recording));
        line.say(Answer::Finished { result });
        Ok(())
    }

    fn open(&self) -> Result<Box<dyn Facility>, Unable> {
        facility::open(self.probe).map_err(|error| {
            if error.call != "io_uring_setup" {
                return Unable::from(error);
            }
            let facts = tactus_sys::facts::read(std::path::Path::new("/"));
            let refusal = Refusal::from_raw_os_error(error.errno.raw_os_error());
            let diagnosis = diagnose(&Asked::IoUring, refusal, &facts);
            Unable { reason: diagnosis.reason, hint: diagnosis.fix }
        })
    }

    fn take_memory(&self) -> Result<SampleMemory, Unable> {
        let wanted = self.course.at_most().min(self.order.cell.sample_limit);
        let samples = usize::try_from(wanted).unwrap_or(usize::MAX);
        SampleMemory::take(samples).map_err(|_| Unable {
            reason: format!("there is no memory for {wanted} samples"),
            hint: Some("a lower sample-limit, a shorter duration, or a longer interval".to_owned()),
        })
    }

    /// Sleeps a few times by the facility: what does not work fails before the
    /// window opens, and the loop's code is in memory when it does.
    fn rehearse(&self, facility: &mut dyn Facility, is_live: bool) -> Result<(), Unable> {
        let interval = tactus_model::probe::Interval::Fixed(REHEARSAL_INTERVAL);
        let window = REHEARSAL_INTERVAL.saturating_mul(REHEARSAL_WAKEUPS + 1);
        let schedule = Schedule::new(interval, REHEARSAL_INTERVAL, window, 0);
        let rings = is_live.then(|| SampleRings::create(RingLayout::new(1, window))).transpose()?;
        let mut ring = rings.map(|rings| Arc::new(rings).writer(0));
        rehearse(REHEARSALS_MAX, || {
            let now = facility::now(self.probe.clock);
            if let Some(ring) = &mut ring {
                return facility.measure_live(schedule.clone(), now, ring).map_err(Unable::from);
            }
            let memory = SampleMemory::take(REHEARSAL_WAKEUPS as usize)
                .map_err(|_| Unable { reason: "there is no memory".to_owned(), hint: None })?;
            facility.measure(Course::Wakeups(schedule.clone()), now, memory)?;
            Ok(())
        })?;
        Ok(())
    }

    /// Sends the samples in blocks, one at a time, so that little more than the
    /// samples themselves is in memory.
    fn hand_over(&self, recording: &Recording, line: &mut dyn Line) {
        for samples in recording.samples.chunks(BLOCK_SAMPLES) {
            line.say(Answer::Samples { block: SampleBlock::encode(samples) });
        }
    }
}

/// What a process that is one task does: it is told on standard input and answers
/// on standard output.
///
/// # Errors
/// What it is told first is no order, or standard output is closed.
pub fn task_main() -> std::io::Result<()> {
    let mut commands = tactus_wire::requests();
    let order: TaskOrder = commands.read()?;
    let mut pipes = Pipes { commands, answers: tactus_wire::answers(), broken: None };
    let rings = order.rings.map(|place| SampleRings::inherit(place.file, place.layout));
    let rings = rings.transpose().map_err(std::io::Error::other)?.map(Arc::new);
    serve(&order, rings.as_ref(), &mut pipes);
    pipes.broken.map_or(Ok(()), |error| Err(error.into()))
}

struct Pipes<R, W> {
    commands: MessageReader<R>,
    answers: MessageWriter<W>,
    /// Why the first answer that was lost was lost.
    broken: Option<WireError>,
}

impl<R: BufRead, W: Write> Line for Pipes<R, W> {
    fn hear(&mut self) -> Option<Command> {
        self.commands.read().ok()
    }

    fn say(&mut self, answer: Answer) {
        if let Err(error) = self.answers.write(&answer) {
            // A message that is too large was not written at all, so the reason still can be.
            let failed = Answer::Failed { reason: error.to_string(), hint: None };
            let _ = self.answers.write(&failed);
            self.broken.get_or_insert(error);
        }
    }
}
