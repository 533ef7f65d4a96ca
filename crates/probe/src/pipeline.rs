//! A pipeline with real processes: each does its stages, frame after frame.
//!
//! The processes are copies of the calling one. They share memory, where each notes when a stage of
//! a frame began and ended and how many frames it has handed over; a doorbell for each hand-over
//! wakes the process that waits for it.

use std::sync::atomic::{AtomicU64, Ordering};

use tactus_model::cost::{CostProbe, Operation as Word};
use tactus_model::cpus::{CpuChoice, CpuList};
use tactus_model::policy::Policy;
use tactus_model::sample::Sample;
use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_pipeline::{Graph, Stage};
use tactus_prepare::{Preparation, touch_stack};
use tactus_sys::doorbell::{Doorbell, EventfdPair, FutexPair, PipePair, Side, Signal};
use tactus_sys::fork::{Fork, Halt};
use tactus_sys::memory::Lock;
use tactus_sys::scheduling_record::SchedulingRecord;
use tactus_sys::shared_memory::SharedWords;
use tactus_sys::sleep::{Nanosleep, Sleeper};
use tactus_sys::{Errno, SysError, affinity, clock};

use crate::operations::{self, Operation, Site, Unmeasurable};
use crate::task::STACK_DEPTH;

/// Why a pipeline did not run to its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PipelineError {
    /// There are not enough CPUs.
    #[error("the pipeline needs {needed} CPUs, and this process may use {usable}")]
    Cpus {
        /// As many as it needs.
        needed: usize,
        /// As many as there are.
        usable: usize,
    },
    /// There are no frames, or too many.
    #[error("frames = {0} is out of range; write 1 to {max}", max = RunningPipeline::FRAMES_MAX)]
    Frames(u32),
    /// A process failed.
    #[error("process `{process}` of the pipeline failed: {errno}")]
    Process {
        /// Its name.
        process: String,
        /// The error number of the call that failed.
        errno: Errno,
    },
    /// A process has ended too early, or a signal has stopped it.
    #[error("process `{process}` of the pipeline {halt}")]
    Halted {
        /// Its name.
        process: String,
        /// Why it does not go on.
        halt: Halt,
    },
    /// A process cannot keep up.
    #[error(
        "process `{0}` falls behind the period of the pipeline: it began a frame more than {limit} late",
        limit = BEHIND_MAX
    )]
    Behind(String),
    /// Some process did not get ready, or did not end.
    #[error("process `{process}` of the pipeline did not get ready or end within {patience}")]
    Hung {
        /// Its name.
        process: String,
        /// How long it had.
        patience: Nanos,
    },
    /// Nothing wakes another process by this operation.
    #[error("`{0}` wakes no other process")]
    HandOver(Word),
    /// The system refused what all processes need.
    #[error(transparent)]
    System(#[from] SysError),
}

/// By how much the beginning of a frame may be late: a pipeline that cannot keep up ends before it
/// takes the machine for long.
const BEHIND_MAX: Nanos = Nanos::from_secs(2);
/// Frames before the first that counts: they fault in memory and fill caches.
const FRAMES_BEFORE: usize = 8;
/// How long the processes may take to get ready, and to end after their last frame.
const PATIENCE: Nanos = Nanos::from_secs(20);
/// How far ahead the common start is set.
const START_LEAD: Nanos = Nanos::from_millis(50);
/// The time between two looks at the states of the processes.
const LOOK: Nanos = Nanos::from_millis(5);
/// The same while frames run, which the looks must not delay.
const LOOK_AT_FRAMES: Nanos = Nanos::from_millis(250);

/// The processes of a pipeline, ready to begin.
pub struct RunningPipeline<'g> {
    scene: Scene<'g>,
    /// Killed when they are dropped.
    processes: Vec<Fork>,
}

impl<'g> RunningPipeline<'g> {
    /// The most frames of a run.
    pub const FRAMES_MAX: u32 = 50_000;

    /// Starts the processes and waits until all are ready.
    ///
    /// The calling process must have a single thread: its copies allocate memory.
    ///
    /// # Errors
    /// The pipeline cannot run here.
    pub fn start(graph: &'g Graph, frames: u32) -> Result<Self, PipelineError> {
        if !(1..=Self::FRAMES_MAX).contains(&frames) {
            return Err(PipelineError::Frames(frames));
        }
        let policy = &graph.cells[graph.wake].policy;
        let cpus: Vec<u32> = match &policy.cpus {
            CpuChoice::All => affinity::get()?.iter().collect(),
            CpuChoice::These(cpus) => cpus.iter().collect(),
        };
        let (needed, usable) = (graph.cpus(), cpus.len());
        if needed > usable {
            return Err(PipelineError::Cpus { needed, usable });
        }
        let scene = Scene::new(graph, frames as usize + FRAMES_BEFORE)?;
        let start = |(number, process): (usize, &tactus_pipeline::Process)| {
            let cpu = cpus[process.cpu];
            Fork::start(|| Player { scene: &scene, number, cpu, policy }.play())
        };
        let processes = graph.processes.iter().enumerate().map(start).collect::<Result<_, _>>()?;
        let mut running = Self { scene, processes };
        running.wait_for(State::Ready, PATIENCE, LOOK)?;
        Ok(running)
    }

    /// Lets the frames begin, and waits until the last has ended.
    ///
    /// # Errors
    /// A process fails, or cannot keep up.
    pub fn run(mut self) -> Result<PipelineFrames, PipelineError> {
        let start = clock::now::<Monotonic>() + START_LEAD;
        self.scene.start().store(start.as_nanos(), Ordering::Release);
        let length = self.scene.graph.period.saturating_mul(self.scene.frames as u64);
        self.wait_for(State::Done, START_LEAD + length + PATIENCE, LOOK_AT_FRAMES)?;
        let sum = |of: usize| {
            let words = (0..self.processes.len()).map(|process| self.scene.used(process, of));
            Nanos::from_nanos(words.map(|word| word.load(Ordering::Acquire)).sum())
        };
        Ok(PipelineFrames { stages: self.scene.spans(start), ran: sum(RAN), waited: sum(WAITED) })
    }

    /// Waits until all processes have this state or a later one; looks at them after each `pause`.
    fn wait_for(
        &mut self,
        state: State,
        patience: Nanos,
        pause: Nanos,
    ) -> Result<(), PipelineError> {
        let until = clock::now::<Monotonic>() + patience;
        loop {
            let Some(process) = self.not_yet(state)? else { return Ok(()) };
            let now = clock::now::<Monotonic>();
            if now >= until {
                let process = self.scene.name_of(process);
                return Err(PipelineError::Hung { process, patience });
            }
            Nanosleep.sleep_until(now + pause)?;
        }
    }

    /// A process that does not have this state or a later one yet.
    fn not_yet(&mut self, state: State) -> Result<Option<usize>, PipelineError> {
        let mut not_yet = None;
        for (number, fork) in self.processes.iter_mut().enumerate() {
            // A process notes its state before it ends, so the state is read after that.
            let halt = fork.halt()?;
            let process = || self.scene.name_of(number);
            match (State::of(self.scene.state(number).load(Ordering::Acquire)), halt) {
                (State::Failed(errno), _) => {
                    return Err(PipelineError::Process { process: process(), errno });
                }
                (State::Behind, _) => return Err(PipelineError::Behind(process())),
                (State::Done, _) => {}
                (_, Some(halt)) => return Err(PipelineError::Halted { process: process(), halt }),
                (found, None) if found == state => {}
                _ => not_yet = Some(number),
            }
        }
        Ok(not_yet)
    }
}

/// What the processes did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PipelineFrames {
    /// For each stage, when it began (`due`) and ended (`came`) in each frame, since the first frame
    /// was due.
    pub stages: Vec<Vec<Sample>>,
    /// The CPU time of all processes in all frames, those before the first that counts included.
    pub ran: Nanos,
    /// How long they waited for a CPU meanwhile; zero if the kernel does not count it.
    pub waited: Nanos,
}

/// What a process notes of its scheduling: the words after its state.
const RAN: usize = 0;
const WAITED: usize = 1;
/// The words of a process: its state, and what it notes.
const PROCESS_WORDS: usize = 3;

/// The state of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Starting,
    Ready,
    Done,
    Behind,
    Failed(Errno),
}

impl State {
    fn number(self) -> u64 {
        match self {
            Self::Starting => 0,
            Self::Ready => 1,
            Self::Done => 2,
            Self::Behind => 3,
            Self::Failed(errno) => 1000 + errno.raw_os_error().unsigned_abs() as u64,
        }
    }

    fn of(number: u64) -> Self {
        match number {
            0 => Self::Starting,
            1 => Self::Ready,
            2 => Self::Done,
            3 => Self::Behind,
            other => Self::Failed(Errno::from_raw_os_error(other.saturating_sub(1000) as i32)),
        }
    }
}

/// What all processes share.
struct Scene<'g> {
    graph: &'g Graph,
    frames: usize,
    /// The start, the words of the processes, the frames handed over, and the beginning and end of
    /// each stage.
    words: SharedWords,
    hand_overs: Vec<HandOver>,
}

/// What wakes a stage when another one has ended.
struct HandOver {
    from: usize,
    to: usize,
    doorbell: Box<dyn Doorbell>,
}

impl<'g> Scene<'g> {
    fn new(graph: &'g Graph, frames: usize) -> Result<Self, PipelineError> {
        let mut hand_overs = Vec::new();
        for (to, stage) in graph.stages.iter().enumerate() {
            for link in &stage.after {
                if let Some(cost) = link.by.and_then(|by| graph.operation(by)) {
                    let doorbell = doorbell(cost.operation)?;
                    hand_overs.push(HandOver { from: link.from, to, doorbell });
                }
            }
        }
        let spans = 2 * frames * graph.stages.len();
        let noted = PROCESS_WORDS * graph.processes.len();
        let words = SharedWords::create(1 + noted + hand_overs.len() + spans)?;
        Ok(Self { graph, frames, words, hand_overs })
    }

    fn word(&self, index: usize) -> &AtomicU64 {
        &self.words.words()[index]
    }

    fn start(&self) -> &AtomicU64 {
        self.word(0)
    }

    fn state(&self, process: usize) -> &AtomicU64 {
        self.word(1 + PROCESS_WORDS * process)
    }

    /// What a process noted of its scheduling: [`RAN`] or [`WAITED`].
    fn used(&self, process: usize, of: usize) -> &AtomicU64 {
        self.word(2 + PROCESS_WORDS * process + of)
    }

    fn name_of(&self, process: usize) -> String {
        self.graph.processes[process].name.clone()
    }

    /// How many frames were handed over.
    fn handed(&self, hand_over: usize) -> &AtomicU64 {
        self.word(1 + PROCESS_WORDS * self.graph.processes.len() + hand_over)
    }

    /// When a stage of a frame began, and ended in the word after it.
    fn span(&self, frame: usize, stage: usize) -> usize {
        let noted = PROCESS_WORDS * self.graph.processes.len();
        let first = 1 + noted + self.hand_overs.len();
        first + 2 * (frame * self.graph.stages.len() + stage)
    }

    /// The spans of the frames that count, by stage.
    fn spans(&self, start: Instant<Monotonic>) -> Vec<Vec<Sample>> {
        let before = self.graph.period.saturating_mul(FRAMES_BEFORE as u64);
        let first = (start + before).as_nanos();
        let read = |word: usize| {
            Nanos::from_nanos(self.word(word).load(Ordering::Acquire).saturating_sub(first))
        };
        let of_stage = |stage: usize| {
            let frames = FRAMES_BEFORE..self.frames;
            let words = frames.map(|frame| self.span(frame, stage));
            words.map(|word| Sample { due: read(word), came: read(word + 1) }).collect()
        };
        (0..self.graph.stages.len()).map(of_stage).collect()
    }
}

fn doorbell(operation: Word) -> Result<Box<dyn Doorbell>, PipelineError> {
    Ok(match operation {
        Word::Pipe => Box::new(PipePair::new()?),
        Word::Futex => Box::new(FutexPair::new()?),
        Word::Eventfd => Box::new(EventfdPair::new()?),
        other => return Err(PipelineError::HandOver(other)),
    })
}

/// One of the processes.
struct Player<'s> {
    scene: &'s Scene<'s>,
    number: usize,
    cpu: u32,
    policy: &'s Policy,
}

/// A stage with what it needs.
struct Part {
    stage: usize,
    /// The operations, and how often each is done.
    steps: Vec<(Box<dyn Operation>, u32)>,
    /// The hand-overs to it, and those from it.
    from: Vec<usize>,
    to: Vec<usize>,
    begins_frame: bool,
}

impl Player<'_> {
    fn play(&self) {
        let end = match self.try_to_play() {
            Ok(end) => end,
            Err(error) => State::Failed(error.errno),
        };
        self.note(end);
    }

    fn note(&self, state: State) {
        self.scene.state(self.number).store(state.number(), Ordering::Release);
    }

    fn try_to_play(&self) -> Result<State, SysError> {
        let mut preparation = Preparation::new();
        if let Some(slack) = self.policy.timer_slack {
            preparation.set_timer_slack(slack)?;
        }
        // Servers and threads of a site must not have the stage's CPU and policy. They live as long
        // as the stage.
        let mut sites = self.sites()?;
        preparation.place(&std::iter::once(self.cpu).collect(), self.policy.scheduling)?;
        let mut parts = self.parts(&mut sites)?;
        touch_stack(STACK_DEPTH);
        if self.policy.lock_memory {
            preparation.lock_memory(Lock::Present);
        }
        // What is refused was refused to the measured operations too, and reported there.
        preparation.finish()?;
        let mut record = SchedulingRecord::open(self.cpu);
        self.note(State::Ready);
        let start = self.wait_for_start()?;
        let before = (clock::thread_cpu_time(), record.read()[0].waited);
        for frame in 0..self.scene.frames {
            let due = start + self.scene.graph.period.saturating_mul(frame as u64);
            for part in &mut parts {
                if !self.begin(part, frame, due)? {
                    return Ok(State::Behind);
                }
                self.work(part, frame)?;
            }
            for (operation, _) in parts.iter_mut().flat_map(|part| &mut part.steps) {
                prepare(operation.as_mut())?;
            }
        }
        let ran = clock::thread_cpu_time().saturating_sub(before.0);
        let waited = record.read()[0].waited.zip(before.1);
        let waited = waited.map_or(Nanos::ZERO, |(after, before)| after.saturating_sub(before));
        for (of, time) in [(RAN, ran), (WAITED, waited)] {
            self.scene.used(self.number, of).store(time.as_nanos(), Ordering::Release);
        }
        Ok(State::Done)
    }

    fn stages(&self) -> impl Iterator<Item = (usize, &Stage)> {
        let stages = self.scene.graph.stages.iter().enumerate();
        stages.filter(|(_, stage)| stage.process == self.number)
    }

    fn operations(&self, stage: &Stage) -> impl Iterator<Item = &CostProbe> {
        stage.steps.iter().filter_map(|cell| self.scene.graph.operation(*cell))
    }

    /// What the operations of all its stages need, in order.
    fn sites(&self) -> Result<Vec<Site>, SysError> {
        let costs = self.stages().flat_map(|(_, stage)| self.operations(stage));
        costs.map(|cost| Site::prepare(cost, self.cpu).map_err(errno_of)).collect()
    }

    fn parts(&self, sites: &mut [Site]) -> Result<Vec<Part>, SysError> {
        let mut sites = sites.iter_mut();
        self.stages().map(|(number, stage)| self.part(number, stage, &mut sites)).collect()
    }

    fn part<'a>(
        &self,
        number: usize,
        stage: &Stage,
        sites: &mut impl Iterator<Item = &'a mut Site>,
    ) -> Result<Part, SysError> {
        let cpus: CpuList = std::iter::once(self.cpu).collect();
        let steps = self.operations(stage).zip(sites).map(|(cost, site)| {
            let opened = operations::open(cost, site, self.cpu, &cpus);
            let mut operation = opened.map_err(errno_of)?;
            prepare(operation.as_mut())?;
            Ok((operation, cost.per_sample()))
        });
        let hand_overs = |of: fn(&HandOver) -> usize| {
            let all = self.scene.hand_overs.iter().enumerate();
            all.filter(|(_, one)| of(one) == number).map(|(index, _)| index).collect()
        };
        Ok(Part {
            stage: number,
            steps: steps.collect::<Result<_, SysError>>()?,
            from: hand_overs(|one| one.to),
            to: hand_overs(|one| one.from),
            begins_frame: stage.after.is_empty(),
        })
    }

    fn wait_for_start(&self) -> Result<Instant<Monotonic>, SysError> {
        loop {
            match self.scene.start().load(Ordering::Acquire) {
                0 => drop(Nanosleep.sleep_until(clock::now::<Monotonic>() + LOOK)?),
                start => return Ok(Instant::from_nanos(start)),
            }
        }
    }

    /// Waits until the stage can begin; false if that is much too late.
    fn begin(&self, part: &Part, frame: usize, due: Instant<Monotonic>) -> Result<bool, SysError> {
        if part.begins_frame {
            let now = clock::now::<Monotonic>();
            if now < due {
                Nanosleep.sleep_until(due)?;
            }
            return Ok(now < due + BEHIND_MAX);
        }
        for hand_over in &part.from {
            let handed = self.scene.handed(*hand_over);
            // A doorbell that rang twice may wake once, so the count decides.
            while handed.load(Ordering::Acquire) <= frame as u64 {
                self.scene.hand_overs[*hand_over].doorbell.wait(Side::Second)?;
            }
        }
        Ok(true)
    }

    fn work(&self, part: &mut Part, frame: usize) -> Result<(), SysError> {
        let span = self.scene.span(frame, part.stage);
        let note = |word: usize| {
            let now = clock::now::<Monotonic>().as_nanos();
            self.scene.word(word).store(now, Ordering::Release);
        };
        note(span);
        for (operation, times) in &mut part.steps {
            operation.run(*times)?;
        }
        note(span + 1);
        for hand_over in &part.to {
            self.scene.handed(*hand_over).store(frame as u64 + 1, Ordering::Release);
            self.scene.hand_overs[*hand_over].doorbell.ring(Side::Second, Signal::Go)?;
        }
        Ok(())
    }
}

/// Prepares an operation for the next frame.
fn prepare(operation: &mut dyn Operation) -> Result<(), SysError> {
    // A pass over a cold file has ended.
    if operation.left() == Some(0) {
        operation.prepare_batch().map_err(errno_of)?;
    }
    operation.prepare()
}

/// The error number of what cannot be measured: only numbers pass between the processes.
fn errno_of(error: Unmeasurable) -> SysError {
    match error {
        Unmeasurable::System(error) => error,
        Unmeasurable::NoMemory { .. } => SysError::new("mmap", Errno::NOMEM),
        _ => SysError::new("pipeline", Errno::OPNOTSUPP),
    }
}

#[cfg(test)]
mod tests {
    use tactus_model::settings::Layer;
    use tactus_pipeline::Pipeline;
    use tactus_sys::pidfd::PidFd;

    use super::*;

    const FORK: &str = r#"
        period = "2ms"
        [[stage]]
        name = "read"
        do = ["read-byte"]
        [[stage]]
        name = "left"
        by = "pipe"
        do = [{ operation = "memory-copy", size = "4KiB" }]
        [[stage]]
        name = "right"
        after = "read"
        by = "eventfd"
        do = [{ operation = "fault", times = 2 }]
        [[stage]]
        name = "join"
        after = ["left", "right"]
        by = "futex"
        [[stage]]
        name = "again"
        process = "join"
    "#;

    fn check_order(graph: &Graph, spans: &[Vec<Sample>]) {
        for (number, stage) in graph.stages.iter().enumerate() {
            assert!(spans[number].iter().all(|span| span.due <= span.came));
            let frames = spans[number].windows(2);
            assert!(frames.into_iter().all(|two| two[0].came <= two[1].due), "{number}");
            for link in &stage.after {
                let pairs = spans[link.from].iter().zip(&spans[number]);
                assert!(pairs.into_iter().all(|(before, after)| before.came <= after.due));
            }
        }
    }

    /// Runs in a test's thread, whose copies are of a process with several: it works because no
    /// other thread of this test binary holds the allocator for long.
    #[test]
    fn each_stage_begins_when_those_before_it_have_ended() {
        let graph = Pipeline::parse(FORK).unwrap().graph(&Layer::default()).unwrap();
        let found = RunningPipeline::start(&graph, 50).unwrap().run().unwrap();
        let spans = found.stages;
        assert!(found.ran > Nanos::ZERO);
        assert_eq!(spans.iter().map(Vec::len).collect::<Vec<_>>(), [50; 5]);
        check_order(&graph, &spans);
        // The first stage of a frame never begins before the frame is due.
        for (frame, span) in spans[0].iter().enumerate() {
            assert!(span.due >= graph.period.saturating_mul(frame as u64));
        }
    }

    #[test]
    fn a_process_that_a_signal_halts_ends_the_pipeline_with_its_name() {
        let graph = Pipeline::parse(FORK).unwrap().graph(&Layer::default()).unwrap();
        for (signal, name, halt) in
            [(9, "SIGKILL", Halt::Killed(9)), (19, "SIGSTOP", Halt::Stopped(19))]
        {
            let running = RunningPipeline::start(&graph, RunningPipeline::FRAMES_MAX).unwrap();
            PidFd::of_process(running.processes[1].id()).unwrap().send(signal).unwrap();
            let expected = PipelineError::Halted { process: "left".to_owned(), halt };
            // Frames for longer than a minute are due.
            assert_eq!(running.run().err(), Some(expected), "{name}");
        }
    }

    #[test]
    fn a_pipeline_that_cannot_run_here_is_refused() {
        let text = FORK.replace("name = \"left\"", "name = \"left\"\ncpu = 60000");
        let graph = Pipeline::parse(&text).unwrap().graph(&Layer::default()).unwrap();
        let refused = RunningPipeline::start(&graph, 1).err();
        assert!(matches!(refused, Some(PipelineError::Cpus { needed: 60_001, .. })), "{refused:?}");
        let frames = RunningPipeline::start(&graph, 0).err();
        assert_eq!(frames, Some(PipelineError::Frames(0)));
    }
}
