//! What runs inside a measuring process: one cell, started by a request, reported by messages.
//!
//! It is a separate crate because it also runs in guest kernels, which need nothing of the
//! engine, the store or the terminal.
#![forbid(unsafe_code)]

mod block_requests;
mod extra_interrupts;
pub mod machine;
mod pipeline;
mod quantum;
mod tracer;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use tactus_load::{HostOptions, LoadError, LoadSnapshot, RunningLoad, Surroundings};
use tactus_model::cell::{Cell, Target};
use tactus_model::message::{CellRequest, Message};
use tactus_model::random::SplitMix64;
use tactus_model::recording::ThreadId;
use tactus_model::result::{LoadResult, MachineRates, Measurement, Shortfall, TaskResult};
use tactus_model::time::Nanos;
use tactus_model::traced::{RecordingAccount, TracedData, TracedStretch, TracedTask};
use tactus_probe::{ProbeError, ProbeEvent, ProbeOutcome, Shortfalls, TaskProcess};
use tactus_record::live::Recorded;
use tactus_stats::LatencyHistogram;
use tactus_sys::counters::MachineCounters;
use tactus_wire::{MessageWriter, WireError};

pub use pipeline::{PipelineMessage, PipelineRequest, PipelineRun, pipeline_main};
use tracer::Tracer;
pub use tracer::unmeasured;

/// Runs the measuring process: reads the request from standard input and writes the messages to
/// standard output.
///
/// # Errors
/// The messages cannot be written, so the failure cannot be reported.
pub fn main() -> io::Result<()> {
    let mut messages = Messages { writer: tactus_wire::responses(), error: None };
    let result = match tactus_wire::requests().read() {
        Ok(request) => measure(&request, &mut messages),
        Err(error) => Err(Stopped::by_request(&error)),
    };
    match result {
        Ok(measurement) => messages.finish(measurement),
        Err(Stopped { reason, hint }) => messages.send(&Message::Failed { reason, hint }),
    }
    messages.error.map_or(Ok(()), |error| Err(error.into()))
}

/// The messages to the process that requested the measurement.
struct Messages<W> {
    writer: MessageWriter<W>,
    /// The first failure to write; nothing is written after it.
    error: Option<WireError>,
}

impl<W: Write> Messages<W> {
    fn send(&mut self, message: &Message) {
        if self.error.is_none()
            && let Err(error) = self.writer.write(message)
        {
            // A message that is too large was not written at all, so the reason can still be sent.
            let _ = self.writer.write(&Message::Failed { reason: error.to_string(), hint: None });
            self.error = Some(error);
        }
    }

    /// Sends a shortfall, unless it was sent before: both windows may find it.
    fn send_shortfall(&mut self, shortfalls: &mut Shortfalls, shortfall: Shortfall) {
        shortfalls.add(&shortfall, |new| self.send(&Message::Shortfall(new)));
    }

    /// Sends the result, with a separate message for each task: the results of many tasks and a
    /// long window are too large for one message.
    fn finish(&mut self, mut measurement: Measurement) {
        for task in measurement.tasks.drain(..) {
            self.send(&Message::Task(Box::new(task)));
        }
        self.send(&Message::Finished(Box::new(measurement)));
    }
}

/// Why a cell has no result.
#[derive(Debug)]
pub struct Stopped {
    /// The reason, in a sentence.
    pub reason: String,
    /// How to fix it, where known.
    pub hint: Option<String>,
}

impl Stopped {
    /// The request cannot be read.
    pub fn by_request(error: &WireError) -> Self {
        Self { reason: format!("the request cannot be read: {error}"), hint: None }
    }
}

impl From<LoadError> for Stopped {
    fn from(error: LoadError) -> Self {
        Self { reason: format!("the load cannot run: {}", error.reason), hint: error.hint }
    }
}

impl From<ProbeError> for Stopped {
    fn from(error: ProbeError) -> Self {
        Self { reason: error.to_string(), hint: error.hint().map(str::to_owned) }
    }
}

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Self {
        Self { reason: error.to_string(), hint: None }
    }
}

/// The program that this process runs, and which it starts for its children.
///
/// # Errors
/// Its path cannot be found.
pub fn own_executable() -> Result<PathBuf, Stopped> {
    std::env::current_exe().map_err(|error| Stopped {
        reason: format!("the path of this program cannot be found: {error}"),
        hint: None,
    })
}

/// Starts the load, lets it warm up, and measures: once without recording, and once more while
/// events are recorded, if the cell requests that. The seed decides at random which window comes
/// first, so that the difference between the two is the effect of the recorder.
fn measure<W: Write>(
    request: &CellRequest,
    messages: &mut Messages<W>,
) -> Result<Measurement, Stopped> {
    let executable = own_executable()?;
    let mut shortfalls = Shortfalls::default();
    let surroundings = match request.cell.target {
        Target::Host => Surroundings::Host,
        Target::Guest(_) => Surroundings::Guest,
    };
    let options = HostOptions { surroundings, ..HostOptions::new(executable.clone()) };
    // Held until the end of the turn, which includes the load.
    let (settings, refused) = machine::hold(&request.cell, &executable, &options.directory);
    refused.into_iter().for_each(|refused| messages.send_shortfall(&mut shortfalls, refused));
    let (_extra_interrupts, refused) = extra_interrupts::start(&request.cell);
    refused.into_iter().for_each(|refused| messages.send_shortfall(&mut shortfalls, refused));
    // A guest ends with its first process, so nothing in it needs a guardian.
    let guardian = (surroundings == Surroundings::Host).then_some(&*executable);
    let load = RunningLoad::start(&request.cell.load, &options)?;
    let warming = Instant::now();
    for shortfall in load.shortfalls() {
        messages.send_shortfall(&mut shortfalls, shortfall.clone());
    }
    // Preparing the recorder takes a part of the warmup.
    let tracing = request.cell.while_traced().and_then(|cell| {
        let prepared = Tracer::prepare(&cell, guardian);
        prepared
            .map(|tracer| (cell, tracer))
            .map_err(|error| messages.send_shortfall(&mut shortfalls, error))
            .ok()
    });
    thread::sleep(Duration::from(request.cell.warmup).saturating_sub(warming.elapsed()));

    let windows = if tracing.is_some() { 2 } else { 1 };
    let mut turn = Turn {
        request,
        process: task_process(executable.clone()),
        messages,
        shortfalls,
        meanwhile: Meanwhile::of(load, windows),
    };
    let (mut before, mut after) = match tracing {
        Some(tracing) if traced_first(request.seed) => (Some(tracing), None),
        tracing => (None, tracing),
    };
    let earlier = turn.traced(before.take(), true)?;
    let outcome = turn.untraced()?;
    let traced = turn.traced(after.take(), false)?.or(earlier);

    let Turn { messages, mut shortfalls, meanwhile, .. } = turn;
    let Meanwhile { achieved: load, rates, ends, .. } = meanwhile;
    for reason in ends {
        messages.send_shortfall(
            &mut shortfalls,
            load_ended(&request.cell.load.load.to_string(), &reason),
        );
    }
    for shortfall in settings.restore() {
        messages.send_shortfall(&mut shortfalls, shortfall);
    }
    let ProbeOutcome { started, window, block_length, tasks, cost, .. } = outcome;
    Ok(Measurement {
        turn: request.turn,
        started,
        window,
        block_length,
        tasks,
        load,
        rates,
        cost,
        shortfalls: shortfalls.into_all(),
        traced,
        precision: None,
        guest: None,
    })
}

/// Whether the traced window comes first.
fn traced_first(seed: u64) -> bool {
    SplitMix64::new(seed).below(2) == 1
}

/// The windows of a turn, measured under one load.
struct Turn<'a, W> {
    request: &'a CellRequest,
    process: TaskProcess,
    messages: &'a mut Messages<W>,
    shortfalls: Shortfalls,
    meanwhile: Meanwhile,
}

impl<W: Write> Turn<'_, W> {
    /// Measures the window that latency figures come from.
    fn untraced(&mut self) -> Result<ProbeOutcome, Stopped> {
        let Self { request, process, messages, shortfalls, meanwhile } = self;
        let mut outcome =
            tactus_probe::run(&request.cell, request.seed, process, &mut |event| match event {
                ProbeEvent::Shortfall(shortfall) => messages.send_shortfall(shortfalls, shortfall),
                ProbeEvent::Prepared { .. } => {}
                ProbeEvent::Opened => {
                    messages.send(&Message::Opened);
                    meanwhile.open();
                }
                ProbeEvent::Closed => {
                    meanwhile.close();
                    messages.send(&Message::Closed);
                }
                ProbeEvent::Samples { task, block } => {
                    messages.send(&Message::Samples { task, block });
                }
            })?;
        // No events explain them.
        let found = outcome.tasks.iter_mut().filter_map(|task| task.messages.as_mut());
        found.for_each(|messages| messages.written = None);
        Ok(outcome)
    }

    /// Measures the window that explanations come from. Returns `None` without a tracer, or if
    /// its recording fails, which is reported.
    fn traced(
        &mut self,
        tracing: Option<(Cell, Tracer)>,
        came_first: bool,
    ) -> Result<Option<TracedStretch>, Stopped> {
        let Some((cell, mut tracer)) = tracing else { return Ok(None) };
        let Self { request, process, messages, shortfalls, meanwhile } = self;
        let outcome = tactus_probe::run(&cell, request.seed, process, &mut |event| match event {
            ProbeEvent::Shortfall(shortfall) => messages.send_shortfall(shortfalls, shortfall),
            ProbeEvent::Prepared { threads } => tracer.start(&threads),
            ProbeEvent::Opened => {}
            ProbeEvent::Closed => {
                tracer.stop();
                meanwhile.end_window();
            }
            ProbeEvent::Samples { task, block } if tracer.has_recorded() => {
                messages.send(&Message::TracedSamples { task, block });
            }
            ProbeEvent::Samples { .. } => {}
        })?;
        let recorded = match tracer.into_recorded() {
            Ok(recorded) => recorded,
            Err(shortfall) => {
                messages.send_shortfall(shortfalls, shortfall);
                return Ok(None);
            }
        };
        let recording = self.hand_over(cell.duration, recorded)?;
        let tasks = outcome.tasks.iter().zip(outcome.threads).map(traced_task).collect();
        let (opened, window) = (outcome.opened, outcome.window);
        Ok(Some(TracedStretch { opened, window, came_first, tasks, recording }))
    }

    /// Sends a recording, unless it is too large; returns its account.
    fn hand_over(
        &mut self,
        window: Nanos,
        recorded: Recorded,
    ) -> Result<RecordingAccount, Stopped> {
        let Recorded { summary, recording } = recorded;
        let bytes = recording.into_bytes().map_err(|error| Stopped {
            reason: format!("the recording cannot be read back: {error}"),
            hint: None,
        })?;
        let lacking = tracer::lacking(&summary.absent, &summary.accounts);
        for shortfall in summary.shortfalls.iter().chain(&lacking) {
            self.messages.send_shortfall(&mut self.shortfalls, shortfall.clone());
        }
        let length = bytes.len() as u64;
        if length > TracedData::RECORDING_LIMIT {
            self.messages.send_shortfall(&mut self.shortfalls, tracer::too_large(window, length));
        } else {
            for piece in bytes.chunks(RECORDING_PIECE) {
                self.messages.send(&Message::Recording { bytes: piece.to_vec() });
            }
        }
        Ok(RecordingAccount { events: summary.cost.events, lost: summary.lost(), bytes: length })
    }
}

/// The bytes of a recording in a message.
const RECORDING_PIECE: usize = 256 << 10;

fn traced_task((result, thread): (&TaskResult, ThreadId)) -> TracedTask {
    let mut latencies = LatencyHistogram::new();
    result.blocks.iter().for_each(|block| latencies.merge_record(block));
    TracedTask {
        task: result.task,
        thread,
        accounting: result.accounting,
        latencies: latencies.to_record(),
        unprepared: result
            .by_dirt
            .as_ref()
            .map_or_else(Vec::new, |by_dirt| by_dirt.unprepared.clone()),
        handed_over: result.messages.as_ref().and_then(|messages| messages.written.clone()),
    }
}

/// How to start a task that is a process: `tactus internal task`.
pub fn task_process(executable: PathBuf) -> TaskProcess {
    TaskProcess { executable, arguments: ["internal", "task"].map(str::to_owned).into() }
}

/// The shortfall of a copy of `load` that ended by itself or was stopped, for `reason`.
pub fn load_ended(load: &str, reason: &str) -> Shortfall {
    Shortfall {
        asked: format!("load {load} for the whole window"),
        granted: "the copies that were left".to_owned(),
        reason: reason.to_owned(),
        fix: None,
    }
}

/// What the load and the machine did in the untraced window.
struct Meanwhile {
    load: Option<RunningLoad>,
    /// Windows that are not closed yet; the load ends with the last.
    windows: u32,
    opened: Option<(MachineCounters, LoadSnapshot)>,
    achieved: LoadResult,
    rates: MachineRates,
    /// Why copies of the load ended by themselves or were stopped.
    ends: Vec<String>,
}

impl Meanwhile {
    fn of(load: RunningLoad, windows: u32) -> Self {
        Self {
            load: Some(load),
            windows,
            opened: None,
            achieved: LoadResult::default(),
            rates: MachineRates::default(),
            ends: Vec::new(),
        }
    }

    fn open(&mut self) {
        let Some(load) = &mut self.load else { return };
        // In the order of the second reading: what a load did is divided by the time between the
        // readings of the counters, and a reading takes long on a busy machine.
        let counters = MachineCounters::read(Path::new("/"));
        self.opened = Some((counters, load.snapshot()));
    }

    /// Takes the second reading.
    fn close(&mut self) {
        let counters = MachineCounters::read(Path::new("/"));
        if let (Some(load), Some((earlier, snapshot))) = (&mut self.load, self.opened.take()) {
            self.rates = counters.since(&earlier);
            self.achieved = load.snapshot().since(&snapshot);
        }
        self.end_window();
    }

    /// Ends the load after the last window, because it has no use during the evaluation.
    fn end_window(&mut self) {
        self.windows = self.windows.saturating_sub(1);
        if self.windows == 0
            && let Some(load) = self.load.take()
        {
            self.ends = load.stop();
        }
    }
}
