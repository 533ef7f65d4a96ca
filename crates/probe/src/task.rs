//! A task of a probe: it prepares itself, waits for the start, measures, and evaluates.
//!
//! A task is a thread, or a process that runs [`task_main`]. It receives [`Command`]s and sends
//! [`TaskMessage`]s; a process does so in JSON, one object per line.

use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tactus_model::cell::Cell;
use tactus_model::cost::Operation;
use tactus_model::cpus::{CpuChoice, CpuList};
use tactus_model::probe::{Probe, TimerProbe};
use tactus_model::recording::ThreadId;
use tactus_model::result::{ProbeCost, Shortfall, TaskResult, TimerInterrupts};
use tactus_model::sample::{Sample, SampleBlock};
use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_permission::{Asked, Refusal, diagnose};
use tactus_prepare::{Preparation, Prepared, rehearse, touch_stack};
use tactus_sys::counters::timer_interrupts;
use tactus_sys::memory::Lock;
use tactus_sys::{Errno, SysError, affinity, clock, sched, thread, usage};
use tactus_wire::{MessageReader, MessageWriter, WireError, parse};

use crate::evaluate::{self, BLOCK_SAMPLES, Found};
use crate::facility::{self, Course, Facility};
use crate::frames::Player;
use crate::interrupted::Program;
use crate::live::{RingLayout, RingWriter, RingsPlace, SampleRings};
use crate::midi::{self, MidiError};
use crate::net::{Bursts, NetError, Site};
use crate::operations::{self, Bench, Repetition, Unmeasurable};
use crate::schedule::Schedule;
use crate::sort::Sorts;
use crate::timer::{SampleMemory, SampleSink, TakenSamples};

/// What a task has to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TaskRequest {
    /// The cell it belongs to.
    pub cell: Cell,
    /// Its number, counted from 0.
    pub task: u32,
    /// The CPU that is requested for it.
    pub cpu: u32,
    /// The seed of the turn.
    pub seed: u64,
    /// Where its samples are read while it measures; `None` to keep them in memory and send
    /// them afterwards.
    pub rings: Option<RingsPlace>,
}

/// A command to a task.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "kebab-case")]
pub(crate) enum Command {
    /// The window opens at this instant of the probe's clock.
    Start {
        /// Nanoseconds since the clock's epoch.
        at: u64,
    },
    /// All tasks are done: evaluate.
    Evaluate,
}

/// A message of a task. The messages come in this order unless the task fails.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "kebab-case")]
pub(crate) enum TaskMessage {
    /// It is prepared.
    Ready {
        /// What was not granted.
        shortfalls: Vec<Shortfall>,
        /// The cost of its loop.
        cost: ProbeCost,
        /// Its thread.
        thread: ThreadId,
    },
    /// Its window is over.
    Measured,
    /// Some of its samples.
    Samples {
        /// The samples.
        block: SampleBlock,
    },
    /// Its result; the last message.
    Finished {
        /// The result.
        result: Box<TaskResult>,
    },
    /// It cannot continue; the last message.
    Failed {
        /// The reason.
        reason: String,
        /// How to fix it, where known.
        hint: Option<String>,
    },
}

/// Whether a line is a message between a task and the process that started it; for fuzzing.
#[doc(hidden)]
pub fn is_message(line: &[u8]) -> bool {
    match parse::<TaskMessage>(line) {
        Ok(TaskMessage::Samples { block }) => {
            if let Ok(samples) = block.decode() {
                assert_eq!(samples.len() as u64, block.count);
            }
            true
        }
        Ok(_) => true,
        Err(_) => parse::<TaskRequest>(line).is_ok() || parse::<Command>(line).is_ok(),
    }
}

/// The connection between a task and the process or thread that started it.
pub(crate) trait Line {
    /// Waits for the next command; `None` if no further command will come.
    fn receive(&mut self) -> Option<Command>;
    /// Sends a message, which is lost if nobody receives it.
    fn send(&mut self, message: TaskMessage);
}

/// Carries out `request` and sends messages about its progress. The samples go to `rings`, if
/// given.
pub(crate) fn serve(request: &TaskRequest, rings: Option<&Arc<SampleRings>>, line: &mut dyn Line) {
    if let Err(Unable { reason, hint }) = Task::new(request).run(rings, line) {
        line.send(TaskMessage::Failed { reason, hint });
    }
}

/// Why a task cannot continue.
struct Unable {
    reason: String,
    hint: Option<String>,
}

impl Unable {
    /// The kernel refused what the task cannot do without.
    fn refused(asked: &Asked, error: SysError) -> Self {
        let facts = tactus_sys::facts::read(Path::new("/"));
        let refusal = Refusal::from_raw_os_error(error.errno.raw_os_error());
        let diagnosis = diagnose(asked, refusal, &facts);
        Self { reason: diagnosis.reason, hint: diagnosis.fix }
    }

    /// A player decides after the window which frames were shown.
    fn players_are_judged_later() -> Self {
        Self {
            reason: "players cannot be watched: their frames are evaluated after the window"
                .to_owned(),
            hint: Some("use tactus measure, or watch the timer probe".to_owned()),
        }
    }

    /// The arrivals of bursts are read after the window.
    fn senders_are_not_watched() -> Self {
        Self {
            reason: "senders cannot be watched: arrivals are read after the window".to_owned(),
            hint: Some("use tactus measure, or watch the timer probe".to_owned()),
        }
    }

    /// A task that never sleeps leaves no CPU time for the process that draws.
    fn durations_are_not_watched(samples: &str) -> Self {
        Self {
            reason: format!("{samples} cannot be watched: they are evaluated after the window"),
            hint: Some("use tactus measure, or watch the timer probe".to_owned()),
        }
    }
}

impl From<SysError> for Unable {
    fn from(error: SysError) -> Self {
        match error.call {
            _ if is_of_io_uring(&error) => Self::refused(&Asked::IoUring, error),
            "bpf" => Self::refused(&Asked::Bpf, error),
            _ => Self { reason: error.to_string(), hint: None },
        }
    }
}

/// Whether the kernel may have refused io_uring altogether.
fn is_of_io_uring(error: &SysError) -> bool {
    let is_refused = matches!(error.errno, Errno::PERM | Errno::ACCESS | Errno::NOSYS);
    error.call == "io_uring_setup" || (error.call == "io_uring_enter" && is_refused)
}

impl From<Unmeasurable> for Unable {
    fn from(error: Unmeasurable) -> Self {
        match (&error, error.hint()) {
            (Unmeasurable::System(refused), _) if is_of_io_uring(refused) => {
                Self::refused(&Asked::IoUring, *refused)
            }
            // Its other calls need no permission.
            (Unmeasurable::Partner { operation: Operation::IpcIoUring, errno: Errno::PERM }, _) => {
                Self::refused(&Asked::IoUring, SysError::new("io_uring_enter", Errno::PERM))
            }
            (Unmeasurable::System(refused), None) => Self::from(*refused),
            (_, hint) => Self { reason: error.to_string(), hint: hint.map(str::to_owned) },
        }
    }
}

impl From<MidiError> for Unable {
    fn from(error: MidiError) -> Self {
        match error {
            MidiError::System(error) => Self::from(error),
            MidiError::Server(_) => Self { reason: error.to_string(), hint: None },
        }
    }
}

impl From<NetError> for Unable {
    fn from(error: NetError) -> Self {
        match error {
            NetError::System(error) if error.errno == Errno::PERM => {
                let asked = Asked::Namespace { maps_users: false, switch: None };
                let Self { reason, hint } = Self::refused(&asked, error);
                Self { reason: format!("no network namespaces: {reason}"), hint }
            }
            NetError::System(error) if error.errno == Errno::AFNOSUPPORT => Self {
                reason: "this kernel was built without AF_XDP (CONFIG_XDP_SOCKETS)".to_owned(),
                hint: Some("use net-path = \"packet-library\"".to_owned()),
            },
            other => Self { reason: other.to_string(), hint: None },
        }
    }
}

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

struct Task<'a> {
    request: &'a TaskRequest,
    probe: &'a TimerProbe,
    course: Course,
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

impl<'a> Task<'a> {
    fn new(request: &'a TaskRequest) -> Self {
        let probe = request.cell.probe.timer();
        let course = match &request.cell.probe {
            Probe::Timer(_) => {
                Course::Wakeups(Schedule::of_task(&request.cell, request.task, request.seed))
            }
            Probe::Frames(frames) => {
                let offset = probe.offset.saturating_mul(request.task.into());
                Course::Frames(Player::new(frames, offset, request.cell.duration))
            }
            Probe::Sort(sort) => Course::Sorts(Sorts::new(sort, request.cell.duration)),
            Probe::Net(net) => Course::Bursts(Bursts::new(net, request.cell.duration)),
            Probe::Cost(cost) => Course::Operations(Repetition::new(cost, request.cell.duration)),
            Probe::Midi(_) => {
                Course::Messages(Schedule::of_task(&request.cell, request.task, request.seed))
            }
        };
        Self { request, probe, course }
    }

    fn run(&self, rings: Option<&Arc<SampleRings>>, line: &mut dyn Line) -> Result<(), Unable> {
        let policy = &self.request.cell.policy;
        let usual = sched::get()?;
        // Before the thread has its policy, which its helpers do not share.
        let (mut site, refused) = self.open_site()?.unzip();
        let (mut port, of_receiver) = self.open_port()?.unzip();
        let cpus = self.cpus_of_cell()?;
        let prepared = self.prepare_operation()?;
        let missing = prepared.shortfalls();
        let interrupted = self.start_interrupted()?;
        let mut preparation = Preparation::new();
        if let Some(slack) = policy.timer_slack {
            preparation.set_timer_slack(slack)?;
        }
        preparation.place(&self.cpus()?, policy.scheduling)?;
        let mut facility = self.open(interrupted.as_ref())?;
        // A partner inherits the policy.
        let mut bench = self.open_bench(prepared, &cpus)?;
        let destination = match rings {
            Some(rings) => Destination::Ring(rings.writer(self.request.task)),
            None => Destination::Memory(self.take_memory()?),
        };
        let cost = facility::cost(&self.request.cell.probe);
        self.rehearse(facility.as_mut(), rings.is_some())?;
        touch_stack(STACK_DEPTH);
        if policy.lock_memory {
            preparation.lock_memory(Lock::Present);
        }
        let Prepared { granted, mut shortfalls } = preparation.finish()?;
        shortfalls.extend(refused.into_iter().flatten().chain(missing));
        shortfalls.extend(of_receiver.flatten());
        line.send(TaskMessage::Ready { shortfalls, cost, thread: thread::current_id() });

        let Some(Command::Start { at }) = line.receive() else { return Ok(()) };
        // A receiver stores the samples of messages.
        let destination = match (&mut port, &self.course) {
            (Some(port), Course::Messages(schedule)) => {
                port.begin(at, schedule.clone(), destination);
                None
            }
            _ => Some(destination),
        };
        facility.sleep_until(at.saturating_sub(HEAD_START.as_nanos()))?;
        let interrupts = self.count_interrupts();
        let before = usage::of_this_thread()?;
        let mut course = self.course.clone();
        if matches!(destination, Some(Destination::Memory(_))) {
            // On a busy machine, the task may get its CPU only after the window has opened. Nobody
            // slept for the due times before that. A viewer of rings follows the whole schedule.
            let late = facility::now(self.probe.clock).saturating_sub(at);
            course.pass_until_ready(Nanos::from_nanos(late));
        }
        let (mut sent, mut batches, mut clock) = (None, Vec::new(), None);
        let taken = match (destination, course.clone(), &mut site) {
            (None, _, _) | (_, Course::Messages(_), _) => {
                port.iter_mut().try_for_each(|port| facility.deliver(port))?;
                None
            }
            (Some(Destination::Ring(mut ring)), Course::Wakeups(schedule), _) => {
                facility.measure_live(schedule, at, &mut ring)?;
                None
            }
            (Some(Destination::Ring(_)), Course::Frames(_), _) => {
                return Err(Unable::players_are_judged_later());
            }
            (Some(Destination::Ring(_)), Course::Sorts(_), _) => {
                return Err(Unable::durations_are_not_watched("sorts"));
            }
            (Some(Destination::Ring(_)), Course::Operations(_), _) => {
                return Err(Unable::durations_are_not_watched("operations"));
            }
            (Some(Destination::Ring(_)), Course::Bursts(_), _) => {
                return Err(Unable::senders_are_not_watched());
            }
            (Some(Destination::Memory(_)), Course::Bursts(_), Some(site)) => {
                sent = Some(facility.send(site, at)?);
                None
            }
            (Some(Destination::Memory(memory)), Course::Operations(_), _) => match &mut bench {
                Some(bench) => {
                    let repeated = facility.repeat(bench, at, memory)?;
                    (batches, clock) = (repeated.batches, repeated.clock);
                    Some(repeated.taken)
                }
                None => None,
            },
            (Some(Destination::Memory(memory)), course, _) => {
                Some(facility.measure(course, at, memory)?)
            }
        };
        let used = usage::difference(before, usage::of_this_thread()?);
        let timer_interrupts = interrupts.and_then(|count| count.since(self.request.cpu));
        // Ends the partner, which sleeps.
        drop(bench);
        drop(interrupted);
        // The cell's thread must not wake for our message while other tasks still measure.
        facility.sleep_until(at.saturating_add(self.request.cell.duration.as_nanos()))?;
        drop(facility);
        // Evaluating is ordinary work. The kernel refuses the former policy only to a task of a
        // lesser class, such as idle, without permission to leave it; evaluating is then slower
        // and gives the same result.
        let _ = sched::set(usual);
        let delivered = site.zip(sent).map(|(site, sent)| site.delivered(sent, at)).transpose()?;
        let (delivered, use_over_time) = delivered.unzip();
        let (received, messages) = port.map(midi::Site::received).transpose()?.flatten().unzip();
        line.send(TaskMessage::Measured);

        let (Some(Command::Evaluate), Some(taken)) =
            (line.receive(), taken.or(delivered).or(received))
        else {
            return Ok(());
        };
        let taken = match &course {
            Course::Frames(player) => player.judged(taken),
            _ => taken,
        };
        self.hand_over(&taken, line);
        let found = Found {
            task: self.request.task,
            cpu: self.request.cpu,
            granted,
            usage: used,
            window: self.request.cell.duration,
            use_over_time: use_over_time.unwrap_or_default(),
            batches,
            clock,
            timer_interrupts,
            messages,
            dirt: self.probe.dirt,
        };
        let result = Box::new(evaluate::task_result(found, course, &taken));
        line.send(TaskMessage::Finished { result });
        Ok(())
    }

    /// The clock interrupts of its CPU so far, if they are a condition or the subject of the cell.
    /// Reading them takes longer than a usual interval.
    fn count_interrupts(&self) -> Option<InterruptCount> {
        let cell = &self.request.cell;
        let is_wanted = cell.extra_interrupts > 0 || matches!(cell.probe, Probe::Sort(_));
        is_wanted.then(|| InterruptCount::of(self.request.cpu)).flatten()
    }

    /// What a sender needs besides its loop, and what of it was not granted.
    fn open_site(&self) -> Result<Option<(Site, Vec<Shortfall>)>, Unable> {
        let window = self.request.cell.duration;
        let net = self.request.cell.probe.net();
        Ok(net.map(|net| Site::open(net, window)).transpose()?)
    }

    /// What an output thread needs besides its loop, and what of it was not granted.
    fn open_port(&self) -> Result<Option<(midi::Site, Option<Shortfall>)>, Unable> {
        let TaskRequest { cell, cpu, .. } = self.request;
        let cpus = std::iter::once(*cpu).collect();
        let open = |midi| midi::Site::open(midi, cell.duration, cell.policy.scheduling, &cpus);
        Ok(cell.probe.midi().map(open).transpose()?)
    }

    /// The CPUs that the task may use: its own, or all of the cell for a sender, since the kernel
    /// gives a reserve only to a thread that may use all.
    fn cpus(&self) -> Result<CpuList, Unable> {
        match &self.course {
            Course::Bursts(_) => self.cpus_of_cell(),
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

    /// What an operation needs that does not have the task's CPU and policy.
    fn prepare_operation(&self) -> Result<operations::Site, Unable> {
        let cost = self.request.cell.probe.cost();
        let site = cost.map(|cost| operations::Site::prepare(cost, self.request.cpu));
        Ok(site.transpose()?.unwrap_or_default())
    }

    /// What an operation needs besides its loop.
    fn open_bench(&self, site: operations::Site, cpus: &CpuList) -> Result<Option<Bench>, Unable> {
        let TaskRequest { cell, cpu, .. } = self.request;
        let cost = cell.probe.cost();
        Ok(cost.map(|cost| Bench::open(cost, site, cell.duration, *cpu, cpus)).transpose()?)
    }

    /// The program that prepares the caches for each event, if the cell has one.
    fn start_interrupted(&self) -> Result<Option<Program>, Unable> {
        let TimerProbe { interrupted, dirt, .. } = *self.probe;
        Program::start(interrupted, dirt, self.request.cpu).map_err(|error| Unable {
            reason: format!("the interrupted program cannot be started: {error}"),
            hint: None,
        })
    }

    fn open(&self, interrupted: Option<&Program>) -> Result<Box<dyn Facility>, Unable> {
        let events = usize::try_from(self.samples_at_most()).unwrap_or(usize::MAX);
        let preparing = interrupted.map(|program| program.preparing(self.probe.dirt, events));
        Ok(facility::open(self.probe, preparing.transpose()?)?)
    }

    fn samples_at_most(&self) -> u64 {
        self.course.at_most().min(self.request.cell.sample_limit)
    }

    fn take_memory(&self) -> Result<SampleMemory, Unable> {
        let wanted = self.samples_at_most();
        let samples = usize::try_from(wanted).unwrap_or(usize::MAX);
        SampleMemory::take(samples).map_err(|_| Unable {
            reason: format!("not enough memory for {wanted} samples"),
            hint: Some(
                "use a lower sample-limit, a shorter duration, or a longer interval".to_owned(),
            ),
        })
    }

    /// Sleeps a few times by the facility: a facility that does not work fails before the window
    /// opens, and the loop's code is in memory when it opens.
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
                .map_err(|_| Unable { reason: "not enough memory".to_owned(), hint: None })?;
            facility.measure(Course::Wakeups(schedule.clone()), now, memory)?;
            Ok(())
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
