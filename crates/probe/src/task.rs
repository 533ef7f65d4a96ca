//! A task of a probe: it prepares itself, waits for the start, measures, and evaluates.
//!
//! A task is a thread, or a process that runs [`task_main`]. It receives [`Command`]s and sends
//! [`TaskMessage`]s; a process does so in JSON, one object per line.

mod message;
mod unable;

use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::Arc;

use tactus_model::cpus::{CpuChoice, CpuList};
use tactus_model::probe::{Interval, Probe, TimerProbe};
use tactus_model::result::{Granted, TaskUsage, TimerInterrupts};
use tactus_model::sample::SampleBlock;
use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_prepare::{Preparation, Prepared, rehearse, touch_stack};
use tactus_sys::counters::timer_interrupts;
use tactus_sys::memory::Lock;
use tactus_sys::{affinity, clock, sched, usage};
use tactus_wire::{MessageReader, MessageWriter, WireError};

pub use self::message::is_message;
pub(crate) use self::message::{Command, Line, TaskMessage, TaskRequest};
pub(crate) use self::unable::Unable;
use crate::apparatus::{Apparatus, Destination, Evaluation, Surroundings, check_live};
use crate::evaluate::{self, BLOCK_SAMPLES, Due, Found};
use crate::facility::{self, Facility};
use crate::interrupted::Program;
use crate::live::{RingLayout, SampleRings};
use crate::schedule::Schedule;
use crate::timer::TakenSamples;

/// Carries out `request` and sends messages about its progress. The samples go to `rings`, if
/// given.
pub(crate) fn serve(request: &TaskRequest, rings: Option<&Arc<SampleRings>>, line: &mut dyn Line) {
    let task = Task { request, probe: request.cell.probe.timer() };
    if let Err(Unable { reason, hint }) = task.run(rings, line) {
        line.send(TaskMessage::Failed { reason, hint });
    }
}

struct Task<'a> {
    request: &'a TaskRequest,
    probe: &'a TimerProbe,
}

/// A task that is ready for its window.
struct Ready {
    facility: Box<dyn Facility>,
    apparatus: Apparatus,
    interrupted: Option<Program>,
    granted: Granted,
}

/// A window that is over.
struct Window {
    due: Due,
    evaluation: Evaluation,
    usage: TaskUsage,
    timer_interrupts: Option<TimerInterrupts>,
}

/// How long before the window a task wakes, to read its resource usage so far.
const HEAD_START: Nanos = Nanos::from_millis(1);
/// The most rehearsals of the loop, the wakeups of a rehearsal, and the interval between the
/// wakeups.
const REHEARSALS_MAX: u32 = 3;
const REHEARSAL_WAKEUPS: u64 = 5;
const REHEARSAL_INTERVAL: Nanos = Nanos::from_micros(200);
/// The bytes of stack that a task touches: more than a measured loop uses, less than the stack
/// that any C library gives a thread.
pub(crate) const STACK_DEPTH: usize = 64 << 10;

/// The clock interrupts of a CPU at an instant.
struct InterruptCount {
    count: u64,
    at: Instant<Monotonic>,
}

impl InterruptCount {
    fn of(cpu: u32) -> Option<Self> {
        let count = timer_interrupts(Path::new("/"), cpu)?;
        Some(Self { count, at: clock::now() })
    }

    /// Those since then.
    fn since(&self, cpu: u32) -> Option<TimerInterrupts> {
        let now = Self::of(cpu)?;
        Some(TimerInterrupts {
            count: now.count.saturating_sub(self.count),
            over: now.at - self.at,
        })
    }
}

impl Task<'_> {
    fn run(&self, rings: Option<&Arc<SampleRings>>, line: &mut dyn Line) -> Result<(), Unable> {
        let usual = sched::get()?;
        let (ready, message) = self.prepare(rings)?;
        line.send(message);
        let Some(Command::Start { at }) = line.receive() else { return Ok(()) };
        let granted = ready.granted.clone();
        let Window { due, evaluation, usage, timer_interrupts } = self.measure(ready, at)?;
        // Evaluating is ordinary work. The kernel refuses the former policy only to a task of a
        // lesser class, such as idle, without permission to leave it; evaluating is then slower
        // and gives the same result.
        let _ = sched::set(usual);
        let measured = evaluation()?;
        line.send(TaskMessage::Measured);

        let (Some(Command::Evaluate), Some(measured)) = (line.receive(), measured) else {
            return Ok(());
        };
        self.hand_over(&measured.taken, line);
        let found = Found {
            task: self.request.task,
            cpu: self.request.cpu,
            granted,
            usage,
            window: self.request.cell.duration,
            timer_interrupts,
            dirt: self.probe.dirt,
        };
        let result = Box::new(evaluate::task_result(found, due, measured));
        line.send(TaskMessage::Finished { result });
        Ok(())
    }

    /// Prepares the calling thread and all that it needs. Also returns the message that says so.
    fn prepare(&self, rings: Option<&Arc<SampleRings>>) -> Result<(Ready, TaskMessage), Unable> {
        let cell = &self.request.cell;
        rings.map_or(Ok(()), |_| check_live(&cell.probe))?;
        // Before the thread has its policy, which its helpers do not share.
        let cpus = self.cpus_of_cell()?;
        let (surroundings, refused) = Surroundings::open(self.request, &cpus)?;
        let interrupted = self.start_interrupted()?;
        let mut preparation = Preparation::new();
        if let Some(slack) = cell.policy.timer_slack {
            preparation.set_timer_slack(slack)?;
        }
        preparation.place(&self.cpus()?, cell.policy.scheduling)?;
        let mut facility = self.open(interrupted.as_ref())?;
        // A partner inherits the policy.
        let apparatus = surroundings.equip(self.request, &cpus, rings)?;
        let cost = facility::cost(&cell.probe);
        self.rehearse(facility.as_mut(), rings.is_some())?;
        touch_stack(STACK_DEPTH);
        if cell.policy.lock_memory {
            preparation.lock_memory(Lock::Present);
        }
        let Prepared { granted, mut shortfalls } = preparation.finish()?;
        shortfalls.extend(refused);
        let thread = apparatus.explained_thread();
        let message = TaskMessage::Ready { shortfalls, cost, thread };
        Ok((Ready { facility, apparatus, interrupted, granted }, message))
    }

    /// Measures a window that opens at `at`, and returns when it is over.
    fn measure(&self, ready: Ready, at: u64) -> Result<Window, Unable> {
        let Ready { mut facility, mut apparatus, interrupted, .. } = ready;
        apparatus.announce(at);
        facility.sleep_until(at.saturating_sub(HEAD_START.as_nanos()))?;
        let interrupts = self.count_interrupts();
        let before = usage::of_this_thread()?;
        // On a busy machine, the task may get its CPU only after the window has opened.
        let late = facility::now(self.probe.clock).saturating_sub(at);
        apparatus.pass_until_ready(Nanos::from_nanos(late));
        let due = apparatus.due();
        let evaluation = facility.perform(apparatus, at)?;
        let usage = usage::difference(before, usage::of_this_thread()?);
        let timer_interrupts = interrupts.and_then(|count| count.since(self.request.cpu));
        drop(interrupted);
        // The cell's thread must not wake for our message while other tasks still measure.
        facility.sleep_until(at.saturating_add(self.request.cell.duration.as_nanos()))?;
        Ok(Window { due, evaluation, usage, timer_interrupts })
    }

    /// The clock interrupts of its CPU so far, if they are a condition or the subject of the cell.
    /// Reading them takes longer than a usual interval.
    fn count_interrupts(&self) -> Option<InterruptCount> {
        let cell = &self.request.cell;
        let is_wanted = cell.extra_interrupts > 0 || matches!(cell.probe, Probe::Sort(_));
        is_wanted.then(|| InterruptCount::of(self.request.cpu)).flatten()
    }

    /// The CPUs that the task may use: its own, or all of the cell for a sender, since the kernel
    /// gives a reserve only to a thread that may use all.
    fn cpus(&self) -> Result<CpuList, Unable> {
        match &self.request.cell.probe {
            Probe::Net(_) => self.cpus_of_cell(),
            _ => Ok(std::iter::once(self.request.cpu).collect()),
        }
    }

    /// The CPUs of the cell; of all, those that this thread may use before it is placed.
    fn cpus_of_cell(&self) -> Result<CpuList, Unable> {
        match &self.request.cell.policy.cpus {
            CpuChoice::All => Ok(affinity::get()?),
            CpuChoice::These(cpus) => Ok(cpus.clone()),
        }
    }

    /// The program that prepares the caches for each event, if the cell has one.
    fn start_interrupted(&self) -> Result<Option<Program>, Unable> {
        let TimerProbe { interrupted, dirt, .. } = *self.probe;
        Program::start(interrupted, dirt, self.request.cpu).map_err(|error| {
            Unable::because(format!("the interrupted program cannot be started: {error}"))
        })
    }

    fn open(&self, interrupted: Option<&Program>) -> Result<Box<dyn Facility>, Unable> {
        let TaskRequest { cell, task, seed, .. } = self.request;
        let preparing = interrupted.map(|program| {
            let wakeups = Schedule::of_task(cell, *task, *seed).remaining().min(cell.sample_limit);
            program.preparing(self.probe.dirt, usize::try_from(wakeups).unwrap_or(usize::MAX))
        });
        Ok(facility::open(self.probe, preparing.transpose()?)?)
    }

    /// Sleeps a few times by the facility: a facility that does not work fails before the window
    /// opens, and the loop's code is in memory when it opens.
    fn rehearse(&self, facility: &mut dyn Facility, is_live: bool) -> Result<(), Unable> {
        let window = REHEARSAL_INTERVAL.saturating_mul(REHEARSAL_WAKEUPS + 1);
        let schedule =
            Schedule::new(Interval::Fixed(REHEARSAL_INTERVAL), REHEARSAL_INTERVAL, window, 0);
        let rings = is_live.then(|| SampleRings::create(RingLayout::new(1, window))).transpose()?;
        let rings = rings.map(Arc::new);
        rehearse(REHEARSALS_MAX, || {
            let kept = match &rings {
                Some(rings) => Destination::Ring(rings.writer(0)),
                None => Destination::memory(REHEARSAL_WAKEUPS)?,
            };
            let wakeups = Apparatus::Wakeups { schedule: schedule.clone(), kept };
            facility.perform(wakeups, facility::now(self.probe.clock)).map(drop)
        })?;
        Ok(())
    }

    /// Sends the samples in blocks, one at a time, so that little more than the samples
    /// themselves is in memory.
    fn hand_over(&self, taken: &TakenSamples, line: &mut dyn Line) {
        for samples in taken.samples.chunks(BLOCK_SAMPLES) {
            line.send(TaskMessage::Samples { block: SampleBlock::encode(samples) });
        }
    }
}

/// The main function of a process that is one task: it receives commands on standard input and
/// sends messages on standard output.
///
/// # Errors
/// The first line is not a valid request, or standard output is closed.
pub fn task_main() -> std::io::Result<()> {
    let mut commands = tactus_wire::requests();
    let request: TaskRequest = commands.read()?;
    let mut pipes = Pipes { commands, messages: tactus_wire::responses(), broken: None };
    let rings = request.rings.map(|place| SampleRings::inherit(place.file, place.layout));
    let rings = rings.transpose().map_err(std::io::Error::other)?.map(Arc::new);
    serve(&request, rings.as_ref(), &mut pipes);
    pipes.broken.map_or(Ok(()), |error| Err(error.into()))
}

struct Pipes<R, W> {
    commands: MessageReader<R>,
    messages: MessageWriter<W>,
    /// Why the first lost message was lost.
    broken: Option<WireError>,
}

impl<R: BufRead, W: Write> Line for Pipes<R, W> {
    fn receive(&mut self) -> Option<Command> {
        self.commands.read().ok()
    }

    fn send(&mut self, message: TaskMessage) {
        if let Err(error) = self.messages.write(&message) {
            // A message that is too large was not written at all, so the reason can still be sent.
            let failed = TaskMessage::Failed { reason: error.to_string(), hint: None };
            let _ = self.messages.write(&failed);
            self.broken.get_or_insert(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use tactus_model::experiment::{Experiment, Overrides};
    use tactus_model::sample::Sample;
    use tactus_model::time::ClockName;

    use super::*;

    /// Starts a window that opened a while ago, and collects the messages.
    struct StartedLate {
        ago: Nanos,
        messages: Vec<TaskMessage>,
    }

    impl Line for StartedLate {
        fn receive(&mut self) -> Option<Command> {
            Some(match self.messages.last() {
                Some(TaskMessage::Measured) => Command::Evaluate,
                _ => {
                    Command::Start { at: facility::now(ClockName::Monotonic) - self.ago.as_nanos() }
                }
            })
        }

        fn send(&mut self, message: TaskMessage) {
            self.messages.push(message);
        }
    }

    #[test]
    fn due_times_before_a_task_is_ready_are_not_intended() {
        let text = "[settings]\nduration = \"1s\"\ninterval = \"1ms\"";
        let plan = Experiment::parse(text).unwrap().plan(&Overrides::default()).unwrap();
        let cell = plan.cells[0].clone();
        let cpu = tactus_sys::affinity::get().unwrap().iter().next().unwrap();
        let request = TaskRequest { cell, task: 0, cpu, seed: 0, rings: None };
        let ago = Nanos::from_millis(800);
        let mut line = StartedLate { ago, messages: Vec::new() };
        serve(&request, None, &mut line);
        let samples: Vec<Sample> = line
            .messages
            .iter()
            .filter_map(|message| match message {
                TaskMessage::Samples { block } => Some(block.decode().unwrap()),
                _ => None,
            })
            .flatten()
            .collect();
        assert!(samples.iter().all(|sample| sample.due > ago), "{samples:?}");
        let Some(TaskMessage::Finished { result }) = line.messages.pop() else {
            panic!("{:?}", line.messages)
        };
        let accounting = result.accounting;
        assert!(accounting.balances() && accounting.intended < 200, "{accounting:?}");
        assert_eq!(result.missed_latencies.count, accounting.missed, "{accounting:?}");
    }
}
