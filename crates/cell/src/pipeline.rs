//! A pipeline that runs with real processes, for the comparison with its prediction.

use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tactus_load::{HostOptions, RunningLoad};
use tactus_model::result::MachineRates;
use tactus_model::sample::SampleBlock;
use tactus_model::time::Nanos;
use tactus_pipeline::Graph;
use tactus_probe::{PipelineError, PipelineFrames, RunningPipeline, system_call_ns};
use tactus_sys::counters::MachineCounters;

use crate::{Stopped, own_executable};

/// A request to run a pipeline.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PipelineRequest {
    /// The pipeline.
    pub graph: Graph,
    /// The number of frames.
    pub frames: u32,
}

/// The only message of a process that runs a pipeline.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "kebab-case")]
pub enum PipelineMessage {
    /// It has run.
    Finished(Box<PipelineRun>),
    /// It fell so far behind its period that it was ended.
    FellBehind {
        /// The process that began a frame too late.
        process: String,
    },
    /// It cannot run.
    Failed {
        /// The reason, in a sentence.
        reason: String,
        /// How to fix it, where known.
        hint: Option<String>,
    },
}

/// What was found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PipelineRun {
    /// For each stage, when it began (`due`) and ended (`came`) in each frame, since the first frame
    /// was due.
    pub stages: Vec<SampleBlock>,
    /// The CPU time of the processes.
    pub ran: Nanos,
    /// How long they waited for a CPU; zero if the kernel does not count it.
    pub waited: Nanos,
    /// The duration of a system call right before, beside the load, in nanoseconds.
    pub system_call_ns: f64,
    /// What the machine did meanwhile.
    pub rates: MachineRates,
}

/// Runs a pipeline: reads the request from standard input and writes the message to standard
/// output.
///
/// # Errors
/// The message cannot be written.
pub fn pipeline_main() -> io::Result<()> {
    let message = match tactus_wire::requests().read::<PipelineRequest>() {
        Ok(request) => match run(&request) {
            Ok(message) => message,
            Err(Stopped { reason, hint }) => PipelineMessage::Failed { reason, hint },
        },
        Err(error) => {
            let Stopped { reason, hint } = Stopped::by_request(&error);
            PipelineMessage::Failed { reason, hint }
        }
    };
    Ok(tactus_wire::responses().write(&message)?)
}

fn run(request: &PipelineRequest) -> Result<PipelineMessage, Stopped> {
    let PipelineRequest { graph, frames } = request;
    let cell = graph.cells.get(graph.wake).ok_or_else(|| Stopped {
        reason: "the pipeline has no cell for its wake-up".to_owned(),
        hint: None,
    })?;
    let options = HostOptions::new(own_executable()?);
    // Before the load, which needs threads: the processes are copies of this one.
    let pipeline = RunningPipeline::start(graph, *frames)?;
    let load = RunningLoad::start(&cell.load, &options)?;
    thread::sleep(Duration::from(cell.warmup));
    let system_call_ns = system_call_ns();
    let before = MachineCounters::read(Path::new("/"));
    let frames = match pipeline.run() {
        Err(PipelineError::Behind(process)) => return Ok(PipelineMessage::FellBehind { process }),
        frames => frames?,
    };
    let rates = MachineCounters::read(Path::new("/")).since(&before);
    drop(load);
    let PipelineFrames { stages, ran, waited } = frames;
    let stages = stages.iter().map(|spans| SampleBlock::encode(spans)).collect();
    let found = PipelineRun { stages, ran, waited, system_call_ns, rates };
    Ok(PipelineMessage::Finished(Box::new(found)))
}

impl From<PipelineError> for Stopped {
    fn from(error: PipelineError) -> Self {
        let hint = match &error {
            PipelineError::Cpus { .. } => Some("give its stages a lower cpu, or use more CPUs"),
            _ => None,
        };
        Self { reason: error.to_string(), hint: hint.map(str::to_owned) }
    }
}
