//! A pipeline with real processes: each does its stages, frame after frame.
//!
//! The processes are copies of the calling one. They share memory, where each notes when a stage of
//! a frame began and ended and how many frames it has handed over; a doorbell for each hand-over
//! wakes the process that waits for it.

mod process;
mod shared;

use std::sync::atomic::Ordering;

use tactus_model::cost::Operation;
use tactus_model::cpus::CpuChoice;
use tactus_model::sample::Sample;
use tactus_model::time::{Monotonic, Nanos};
use tactus_pipeline::Graph;
use tactus_sys::fork::{Fork, Halt};
use tactus_sys::sleep::{Nanosleep, Sleeper};
use tactus_sys::{Errno, SysError, affinity, clock};

use self::process::StageProcess;
use self::shared::{RAN, SharedState, State, WAITED};

/// Why a pipeline did not run to its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PipelineError {
    /// There are not enough CPUs.
    #[error("the pipeline needs {needed} CPUs, and this process may use {usable}")]
    Cpus {
        /// The number that it needs.
        needed: usize,
        /// The number that this process may use.
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
    HandOver(Operation),
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
    shared: SharedState<'g>,
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
        let shared = SharedState::new(graph, frames as usize + FRAMES_BEFORE)?;
        let start = |(number, process): (usize, &tactus_pipeline::Process)| {
            let cpu = cpus[process.cpu];
            Fork::start(|| StageProcess { shared: &shared, number, cpu, policy }.work_through())
        };
        let processes = graph.processes.iter().enumerate().map(start).collect::<Result<_, _>>()?;
        let mut running = Self { shared, processes };
        running.wait_for(State::Ready, PATIENCE, LOOK)?;
        Ok(running)
    }

    /// Lets the frames begin, and waits until the last has ended.
    ///
    /// # Errors
    /// A process fails, or cannot keep up.
    pub fn run(mut self) -> Result<PipelineFrames, PipelineError> {
        let start = clock::now::<Monotonic>() + START_LEAD;
        self.shared.start().store(start.as_nanos(), Ordering::Release);
        let length = self.shared.graph.period.saturating_mul(self.shared.frames as u64);
        self.wait_for(State::Done, START_LEAD + length + PATIENCE, LOOK_AT_FRAMES)?;
        let sum = |of: usize| {
            let words = (0..self.processes.len()).map(|process| self.shared.used(process, of));
            Nanos::from_nanos(words.map(|word| word.load(Ordering::Acquire)).sum())
        };
        Ok(PipelineFrames { stages: self.shared.spans(start), ran: sum(RAN), waited: sum(WAITED) })
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
                let process = self.shared.name_of(process);
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
            let process = || self.shared.name_of(number);
            match (State::of(self.shared.state(number).load(Ordering::Acquire)), halt) {
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
