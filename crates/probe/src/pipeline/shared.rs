//! The memory and the doorbells that the processes of a pipeline share.

use std::sync::atomic::{AtomicU64, Ordering};

use tactus_model::cost::Operation;
use tactus_model::sample::Sample;
use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_pipeline::Graph;
use tactus_sys::Errno;
use tactus_sys::doorbell::{Doorbell, EventfdPair, FutexPair, PipePair};
use tactus_sys::shared_memory::SharedWords;

use super::{FRAMES_BEFORE, PipelineError};

/// What a process notes of its scheduling: the words after its state.
pub(super) const RAN: usize = 0;
pub(super) const WAITED: usize = 1;
/// The words of a process: its state, and what it notes.
const PROCESS_WORDS: usize = 3;

/// The state of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Starting,
    Ready,
    Done,
    Behind,
    Failed(Errno),
}

impl State {
    pub(super) fn number(self) -> u64 {
        match self {
            Self::Starting => 0,
            Self::Ready => 1,
            Self::Done => 2,
            Self::Behind => 3,
            Self::Failed(errno) => 1000 + errno.raw_os_error().unsigned_abs() as u64,
        }
    }

    pub(super) fn of(number: u64) -> Self {
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
pub(super) struct SharedState<'g> {
    pub(super) graph: &'g Graph,
    pub(super) frames: usize,
    /// The start, the words of the processes, the frames handed over, and the beginning and end of
    /// each stage.
    words: SharedWords,
    pub(super) hand_overs: Vec<HandOver>,
}

/// What wakes a stage when another one has ended.
pub(super) struct HandOver {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) doorbell: Box<dyn Doorbell>,
}

impl<'g> SharedState<'g> {
    pub(super) fn new(graph: &'g Graph, frames: usize) -> Result<Self, PipelineError> {
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

    pub(super) fn word(&self, index: usize) -> &AtomicU64 {
        &self.words.words()[index]
    }

    pub(super) fn start(&self) -> &AtomicU64 {
        self.word(0)
    }

    pub(super) fn state(&self, process: usize) -> &AtomicU64 {
        self.word(1 + PROCESS_WORDS * process)
    }

    /// What a process noted of its scheduling: [`RAN`] or [`WAITED`].
    pub(super) fn used(&self, process: usize, of: usize) -> &AtomicU64 {
        self.word(2 + PROCESS_WORDS * process + of)
    }

    pub(super) fn name_of(&self, process: usize) -> String {
        self.graph.processes[process].name.clone()
    }

    /// How many frames were handed over.
    pub(super) fn handed(&self, hand_over: usize) -> &AtomicU64 {
        self.word(1 + PROCESS_WORDS * self.graph.processes.len() + hand_over)
    }

    /// When a stage of a frame began, and ended in the word after it.
    pub(super) fn span(&self, frame: usize, stage: usize) -> usize {
        let noted = PROCESS_WORDS * self.graph.processes.len();
        let first = 1 + noted + self.hand_overs.len();
        first + 2 * (frame * self.graph.stages.len() + stage)
    }

    /// The spans of the frames that count, by stage.
    pub(super) fn spans(&self, start: Instant<Monotonic>) -> Vec<Vec<Sample>> {
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

fn doorbell(operation: Operation) -> Result<Box<dyn Doorbell>, PipelineError> {
    Ok(match operation {
        Operation::Pipe => Box::new(PipePair::new()?),
        Operation::Futex => Box::new(FutexPair::new()?),
        Operation::Eventfd => Box::new(EventfdPair::new()?),
        other => return Err(PipelineError::HandOver(other)),
    })
}
