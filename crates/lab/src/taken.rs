//! What the engine has taken from a measuring process, and the limits of each part.

use tactus_model::cell::Cell;
use tactus_model::message::Message;
use tactus_model::result::TaskResult;
use tactus_model::sample::SampleBlock;
use tactus_model::traced::TracedData;
use tactus_probe::{ProbeError, places};

/// The maximum number of shortfalls of a turn: more than there are kinds of settings and CPUs.
const SHORTFALLS_MAX: usize = 1 << 16;

/// The data of a turn so far. A sum of messages is limited too, not only each message.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    pub(crate) samples: Vec<(u32, SampleBlock)>,
    pub(crate) traced_data: TracedData,
    pub(crate) tasks: Vec<TaskResult>,
    tasks_max: usize,
    samples_max: u64,
    sampled: u64,
    sampled_while_traced: u64,
    shortfalls: usize,
    has_opened: bool,
    has_closed: bool,
}

impl Taken {
    /// Nothing yet; the limits are those of `cell`.
    ///
    /// # Errors
    /// The CPUs of the tasks cannot be read.
    pub(crate) fn within(cell: &Cell) -> Result<Self, ProbeError> {
        let tasks_max = places(cell)?.len();
        let samples_max = cell.sample_limit.saturating_mul(tasks_max as u64);
        Ok(Self { tasks_max, samples_max, ..Self::default() })
    }

    /// Counts a message.
    ///
    /// # Errors
    /// It exceeds a limit; the text says what was sent.
    pub(crate) fn count(&mut self, message: &Message) -> Result<(), String> {
        match message {
            Message::Opened => once(&mut self.has_opened, "\"opened\""),
            Message::Closed => once(&mut self.has_closed, "\"closed\""),
            Message::Samples { block, .. } => add(&mut self.sampled, block, self.samples_max),
            Message::TracedSamples { block, .. } => {
                add(&mut self.sampled_while_traced, block, self.samples_max)
            }
            Message::Recording { bytes } => {
                let length = (self.traced_data.recording.len() + bytes.len()) as u64;
                let limit = TracedData::RECORDING_LIMIT;
                permit(!bytes.is_empty(), || "an empty piece of a recording".to_owned())?;
                permit(length <= limit, || format!("a recording of more than {limit} bytes"))
            }
            Message::Shortfall(_) => {
                self.shortfalls += 1;
                permit(self.shortfalls <= SHORTFALLS_MAX, || {
                    format!("more than {SHORTFALLS_MAX} shortfalls")
                })
            }
            Message::Task(_) => permit(self.tasks.len() < self.tasks_max, || {
                format!("results of more than {} tasks", self.tasks_max)
            }),
            Message::Finished(_) | Message::Failed { .. } | Message::HostFault { .. } => Ok(()),
        }
    }
}

fn once(has_come: &mut bool, name: &str) -> Result<(), String> {
    permit(!std::mem::replace(has_come, true), || format!("the message {name} twice"))
}

/// Adds the samples of a block to `sum`.
fn add(sum: &mut u64, block: &SampleBlock, limit: u64) -> Result<(), String> {
    permit(block.has_plausible_size(), || "a block with a wrong number of samples".to_owned())?;
    *sum = sum.saturating_add(block.count);
    permit(*sum <= limit, || {
        format!("more than {limit} samples, the sample-limit of all tasks together")
    })
}

fn permit(is_permitted: bool, excess: impl FnOnce() -> String) -> Result<(), String> {
    if is_permitted { Ok(()) } else { Err(excess()) }
}
