//! Measuring one cell.

use std::sync::Arc;
use std::time::{Duration, Instant as StdInstant};

use tactus_model::cell::Cell;
use tactus_model::cpus::{CpuChoice, CpuList};
use tactus_model::probe::TimerProbe;
use tactus_model::recording::ThreadId;
use tactus_model::result::{ProbeCost, Shortfall, TaskResult};
use tactus_model::sample::SampleBlock;
use tactus_model::time::{ClockName, Instant, Monotonic, Nanos, Realtime};
use tactus_prepare::{NotGranted, limit_idle_states};
use tactus_stats::summary::block_length;
use tactus_sys::affinity;
use tactus_sys::idle_states::IdleStateLimit;

use crate::crew::{Crew, TaskProcess};
use crate::error::ProbeError;
use crate::evaluate::BLOCK_SAMPLES;
use crate::facility;
use crate::live::{RingsPlace, SampleRings};
use crate::schedule::aligned_start;
use crate::shortfalls::Shortfalls;
use crate::task::{Command, TaskMessage, TaskRequest};

/// The events of measuring a cell, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeEvent {
    /// Something was not granted; each shortfall is reported once.
    Shortfall(Shortfall),
    /// All tasks are prepared, in these threads, by task number. The listener now starts what
    /// takes a while to start, such as recording.
    Prepared {
        /// A thread for each task.
        threads: Vec<ThreadId>,
    },
    /// The window is about to open: the listener reads counters now.
    Opened,
    /// The window is closed, and nothing has been evaluated yet: the listener reads counters now.
    Closed,
    /// Samples of a task, in order; a task may send several blocks.
    Samples {
        /// The task's number.
        task: u32,
        /// Its samples.
        block: SampleBlock,
    },
}

/// What measuring a cell found.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbeOutcome {
    /// When the window opened.
    pub started: Instant<Realtime>,
    /// The same moment by the monotonic clock, which stamps kernel events. It is exact if the
    /// probe sleeps by that clock; otherwise it is off by the time between two clock readings.
    pub opened: Instant<Monotonic>,
    /// The thread of each task, by number.
    pub threads: Vec<ThreadId>,
    /// The duration of the window.
    pub window: Nanos,
    /// The duration of the stretches in [`TaskResult::blocks`].
    pub block_length: Nanos,
    /// The result of each task, by number.
    pub tasks: Vec<TaskResult>,
    /// The cost of measuring.
    pub cost: ProbeCost,
    /// What was not granted.
    pub shortfalls: Vec<Shortfall>,
}

/// Measures `cell`: all its tasks, each on its CPU, in one window.
///
/// `seed` determines random intervals. `process` says how to start tasks that are processes.
/// `listen` receives events as they happen; between [`ProbeEvent::Opened`] and
/// [`ProbeEvent::Closed`] it is not called, and the calling thread sleeps.
///
/// # Errors
/// The cell could not be measured; see [`ProbeError`]. A thread that hangs is left behind, so
/// the caller should then end its process.
pub fn run(
    cell: &Cell,
    seed: u64,
    process: &TaskProcess,
    listen: &mut dyn FnMut(ProbeEvent),
) -> Result<ProbeOutcome, ProbeError> {
    run_within(&Patience::USUAL, cell, seed, process, listen)
}

/// How long to wait for tasks before they count as hung.
struct Patience {
    /// Until all are prepared, which includes touching memory for many samples.
    preparation: Nanos,
    /// After their window: starved tasks are late.
    grace: Nanos,
    /// Until the next block of samples, or the result.
    evaluation: Nanos,
}

impl Patience {
    const USUAL: Self = Self {
        preparation: Nanos::from_secs(60),
        grace: Nanos::from_secs(30),
        evaluation: Nanos::from_secs(300),
    };
}

fn run_within(
    patience: &Patience,
    cell: &Cell,
    seed: u64,
    process: &TaskProcess,
    listen: &mut dyn FnMut(ProbeEvent),
) -> Result<ProbeOutcome, ProbeError> {
    let probe = cell.probe.timer();
    let mut reporter = Reporter::to(listen);
    let Prepared { idle_states, requests, mut crew, cost, threads } =
        prepare(patience, cell, seed, process, None, &mut reporter)?;
    (reporter.listen)(ProbeEvent::Prepared { threads: threads.clone() });
    (reporter.listen)(ProbeEvent::Opened);
    let (started, opened) = open_window(&mut crew, probe)?;
    let window = START_LEAD + probe.align + cell.duration;
    crew.receive_all(window + patience.grace, |task, message| match message {
        TaskMessage::Measured => Ok(()),
        _ => Err(ProbeError::OutOfTurn(task)),
    })?;
    drop(idle_states);
    (reporter.listen)(ProbeEvent::Closed);
    let tasks = requests
        .iter()
        .map(|request| evaluate(&mut crew, patience, request, reporter.listen))
        .collect::<Result<_, _>>()?;
    Ok(ProbeOutcome {
        started,
        opened,
        threads,
        window: cell.duration,
        block_length: block_length(cell.duration),
        tasks,
        cost,
        shortfalls: reporter.shortfalls.into_all(),
    })
}

/// The tasks of a cell, ready to be started.
struct Prepared {
    /// Held while the cell is measured.
    idle_states: Option<IdleStateLimit>,
    requests: Vec<TaskRequest>,
    crew: Crew,
    cost: ProbeCost,
    threads: Vec<ThreadId>,
}

fn prepare(
    patience: &Patience,
    cell: &Cell,
    seed: u64,
    process: &TaskProcess,
    rings: Option<&Arc<SampleRings>>,
    reporter: &mut Reporter<'_>,
) -> Result<Prepared, ProbeError> {
    cell.check()?;
    let probe = cell.probe.timer();
    let idle_states = cell.policy.cpu_dma_latency_us.and_then(|microseconds| {
        let refused = |refused: NotGranted| reporter.report(&refused.explain_here());
        limit_idle_states(microseconds).map_err(refused).ok()
    });
    let mut requests = requests(cell, probe, seed)?;
    let place = rings.map(|rings| RingsPlace { file: rings.file(), layout: rings.layout() });
    requests.iter_mut().for_each(|request| request.rings = place);
    let mut crew = Crew::start(&requests, probe.tasks, process, rings)?;
    let (cost, threads) = meet(&mut crew, patience, reporter)?;
    Ok(Prepared { idle_states, requests, crew, cost, threads })
}

/// The tasks of a cell whose samples are read while it is measured.
pub struct LiveTasks {
    prepared: Prepared,
    opened: Instant<Monotonic>,
    /// The longest time that the tasks take.
    within: Nanos,
}

impl LiveTasks {
    /// Prepares and starts all tasks of `cell`. From then on, they write their samples into
    /// `rings`, of which there must be one per task ([`places`]).
    ///
    /// Otherwise like [`run`].
    ///
    /// # Errors
    /// As for [`run`].
    pub fn start(
        cell: &Cell,
        seed: u64,
        process: &TaskProcess,
        rings: &Arc<SampleRings>,
        listen: &mut dyn FnMut(ProbeEvent),
    ) -> Result<Self, ProbeError> {
        let probe = cell.probe.timer();
        let patience = &Patience::USUAL;
        let mut reporter = Reporter::to(listen);
        let mut prepared = prepare(patience, cell, seed, process, Some(rings), &mut reporter)?;
        let (_, opened) = open_window(&mut prepared.crew, probe)?;
        let within = START_LEAD + probe.align + cell.duration + patience.grace;
        Ok(Self { prepared, opened, within })
    }

    /// When the window opens: the origin of the samples.
    pub fn opened(&self) -> Instant<Monotonic> {
        self.opened
    }

    /// The thread of each task, by number.
    pub fn threads(&self) -> &[ThreadId] {
        &self.prepared.threads
    }

    /// Sleeps until the window is over. Ending the process ends it earlier.
    ///
    /// # Errors
    /// A task failed meanwhile.
    pub fn wait(mut self) -> Result<(), ProbeError> {
        self.prepared.crew.receive_all(self.within, |task, message| match message {
            TaskMessage::Measured => Ok(()),
            _ => Err(ProbeError::OutOfTurn(task)),
        })
    }
}

/// The CPU that is requested for each task of `cell`.
///
/// # Errors
/// The CPUs that this process may use cannot be read.
pub fn places(cell: &Cell) -> Result<Vec<u32>, ProbeError> {
    let probe = cell.probe.timer();
    Ok(requests(cell, probe, 0)?.iter().map(|request| request.cpu).collect())
}

/// How far ahead the common start is set, so that every task receives it before.
const START_LEAD: Nanos = Nanos::from_millis(100);

/// The requests to the tasks of a cell: `tasks_per_cpu` on each CPU, CPU by CPU; one for a sender,
/// and for an operation.
fn requests(cell: &Cell, probe: &TimerProbe, seed: u64) -> Result<Vec<TaskRequest>, ProbeError> {
    let cpus: CpuList = match &cell.policy.cpus {
        CpuChoice::All => affinity::get()?,
        CpuChoice::These(list) => list.clone(),
    };
    // A sender, and the partner of an operation, may use the other CPUs.
    let measured = cpus.iter().take(if cell.probe.has_one_task() { 1 } else { usize::MAX });
    let places = measured.flat_map(|cpu| (0..probe.tasks_per_cpu).map(move |_| cpu));
    let request = |(task, cpu)| TaskRequest { cell: cell.clone(), task, cpu, seed, rings: None };
    Ok((0..).zip(places).map(request).collect())
}

/// Waits until every task is prepared; returns the cost of the first task's loop and
/// every task's thread.
fn meet(
    crew: &mut Crew,
    patience: &Patience,
    reporter: &mut Reporter<'_>,
) -> Result<(ProbeCost, Vec<ThreadId>), ProbeError> {
    let mut cost_of_first = ProbeCost::default();
    let mut threads = vec![ThreadId::default(); crew.len()];
    crew.receive_all(patience.preparation, |task, message| {
        let TaskMessage::Ready { shortfalls: found, cost, thread } = message else {
            return Err(ProbeError::OutOfTurn(task));
        };
        threads[task as usize] = thread;
        if task == 0 {
            cost_of_first = cost;
        }
        for shortfall in &found {
            reporter.report(shortfall);
        }
        Ok(())
    })?;
    Ok((cost_of_first, threads))
}

/// Sends all tasks a common start time; returns it by the realtime clock and by the monotonic
/// clock.
fn open_window(
    crew: &mut Crew,
    probe: &TimerProbe,
) -> Result<(Instant<Realtime>, Instant<Monotonic>), ProbeError> {
    let now = facility::now(probe.clock);
    let meanwhile = |clock| if clock == probe.clock { now } else { facility::now(clock) };
    // The monotonic clock first: events are matched with it to the microsecond.
    let monotonic = meanwhile(ClockName::Monotonic);
    let realtime = meanwhile(ClockName::Realtime);
    let at = aligned_start(now.saturating_add(START_LEAD.as_nanos()), probe.align);
    for task in 0..crew.len() as u32 {
        crew.send(task, Command::Start { at })?;
    }
    let of = |clock_now: u64| clock_now.saturating_add(at - now);
    Ok((Instant::from_nanos(of(realtime)), Instant::from_nanos(of(monotonic))))
}

/// Lets a task evaluate its samples, and passes them on.
fn evaluate(
    crew: &mut Crew,
    patience: &Patience,
    request: &TaskRequest,
    listen: &mut dyn FnMut(ProbeEvent),
) -> Result<TaskResult, ProbeError> {
    let task = request.task;
    crew.send(task, Command::Evaluate)?;
    // A task sends at most these blocks, and then its result.
    let blocks_max = request.cell.sample_limit.div_ceil(BLOCK_SAMPLES as u64);
    for _ in 0..=blocks_max {
        let deadline = StdInstant::now() + Duration::from(patience.evaluation);
        match crew.receive(deadline)? {
            Some((from, TaskMessage::Samples { block })) if from == task => {
                listen(ProbeEvent::Samples { task, block });
            }
            Some((from, TaskMessage::Finished { result })) if from == task => {
                return balanced(*result);
            }
            Some((from, _)) => return Err(ProbeError::OutOfTurn(from)),
            None => {
                let (silent, tasks, waited) = (1, crew.len(), patience.evaluation);
                return Err(ProbeError::Hung { silent, tasks, waited });
            }
        }
    }
    Err(ProbeError::OutOfTurn(task))
}

fn balanced(result: TaskResult) -> Result<TaskResult, ProbeError> {
    let (task, accounting) = (result.task, result.accounting);
    if accounting.balances() {
        Ok(result)
    } else {
        Err(ProbeError::Unbalanced { task, accounting })
    }
}

/// The shortfalls, and the listener that receives them.
struct Reporter<'a> {
    shortfalls: Shortfalls,
    listen: &'a mut dyn FnMut(ProbeEvent),
}

impl<'a> Reporter<'a> {
    fn to(listen: &'a mut dyn FnMut(ProbeEvent)) -> Self {
        Self { shortfalls: Shortfalls::default(), listen }
    }

    fn report(&mut self, shortfall: &Shortfall) {
        self.shortfalls.add(shortfall, |new| (self.listen)(ProbeEvent::Shortfall(new)));
    }
}

#[cfg(test)]
mod tests {
    use tactus_model::experiment::{Experiment, Overrides};

    use super::*;

    fn cell(settings: &str) -> Cell {
        let text = format!("[settings]\nduration = \"20ms\"\n{settings}");
        let plan = Experiment::parse(&text).unwrap().plan(&Overrides::default()).unwrap();
        plan.cells[0].clone()
    }

    #[test]
    fn a_task_that_hangs_is_an_error() {
        let impatient = Patience { preparation: Nanos::from_millis(50), ..Patience::USUAL };
        let process = TaskProcess { executable: "sleep".into(), arguments: vec!["60".to_owned()] };
        let cell = cell("tasks = \"processes\"\ncpus = \"0\"");
        let error = run_within(&impatient, &cell, 0, &process, &mut |_| {}).unwrap_err();
        assert!(matches!(error, ProbeError::Hung { silent: 1, tasks: 1, .. }), "{error}");
        assert!(error.hint().is_some());
    }

    #[test]
    fn tasks_go_cpu_by_cpu() {
        let cell = cell("cpus = \"1,3\"\ntasks-per-cpu = 2");
        let probe = cell.probe.timer();
        let places: Vec<(u32, u32)> = requests(&cell, probe, 0)
            .unwrap()
            .iter()
            .map(|request| (request.task, request.cpu))
            .collect();
        assert_eq!(places, [(0, 1), (1, 1), (2, 3), (3, 3)]);
    }
}
