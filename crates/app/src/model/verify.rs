//! The real pipeline beside its prediction.

use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use tactus_cell::{PipelineMessage, PipelineRequest, PipelineRun};
use tactus_model::cpus::CpuList;
use tactus_model::result::{MachineRates, Measurement};
use tactus_model::run::Run;
use tactus_model::time::Nanos;
use tactus_pipeline::{Comparison, Conditions, Graph, Measured, Prediction, Span};
use tactus_stats::costs::RunCosts;
use tactus_wire::{Peer, Start, WireError};

use crate::error::OrError;
use crate::{Error, ErrorKind, Places, Result, Subject};

/// The real pipeline, run after each round of the measurement.
#[derive(Debug, Default)]
pub struct Verified {
    /// What was found, one after another.
    pub runs: Vec<PipelineRun>,
    /// How many were ended without a result, because they fell far behind their period.
    pub ended: usize,
    /// Why there are no more.
    pub failure: Option<Error>,
}

/// The frames of the real pipeline after each round, unless the user says otherwise: a second or two.
pub fn usual_frames(graph: &Graph) -> u32 {
    const SPAN: [Nanos; 2] = [Nanos::from_millis(500), Nanos::from_millis(2300)];
    let span = graph.period.saturating_mul(500).clamp(SPAN[0], SPAN[1]);
    u32::try_from(span.div_floor(graph.period)).unwrap_or(u32::MAX).max(20)
}

/// Runs the real pipeline `rounds` times.
pub fn verify(places: &Places, graph: &Graph, frames: u32, rounds: u32) -> Verified {
    let mut verified = Verified::default();
    (0..rounds).for_each(|_| verified.run_once(places, graph, frames));
    verified
}

impl Verified {
    /// Runs the pipeline once more, unless it has failed.
    pub(super) fn run_once(&mut self, places: &Places, graph: &Graph, frames: u32) {
        if self.failure.is_some() {
            return;
        }
        match run(places, graph, frames) {
            Ok(Some(found)) => self.runs.push(found),
            Ok(None) => self.ended += 1,
            Err(error) => self.failure = Some(error),
        }
    }

    /// What the machine did while the operations of a run were measured, and during all runs of the
    /// pipeline, which had this number of `frames`.
    fn conditions(&self, run: &Run, frames: usize) -> Conditions {
        let cpus = run.header.facts_before.cpu.online.as_ref().map(CpuList::len);
        let foreign = |windows: Vec<_>| cpus.and_then(|cpus| foreign(&windows, cpus));
        let rates = |run: &PipelineRun| (run.rates.clone(), run.ran);
        let calls = self.runs.iter().map(|run| run.system_call_ns);
        let steal: Option<Nanos> = self.runs.iter().map(|run| run.rates.steal).sum();
        let over: Nanos = self.runs.iter().map(|run| run.rates.over).sum();
        let waited: Nanos = self.runs.iter().map(|run| run.waited).sum();
        Conditions {
            call_operations_ns: RunCosts::of(run).system_call_ns,
            call_pipeline_ns: tactus_stats::median::median_of(calls),
            steal: steal.map(|steal| share(steal, over)),
            foreign_operations: foreign(run.measurements.iter().filter_map(used).collect()),
            foreign_pipeline: foreign(self.runs.iter().map(rates).collect()),
            run_delay: waited.as_nanos().checked_div(frames as u64).map(Nanos::from_nanos),
        }
    }
}

fn share(part: Nanos, whole: Nanos) -> f64 {
    part.as_secs_f64() / whole.as_secs_f64().max(f64::MIN_POSITIVE)
}

/// What the machine did while an operation was measured, and the CPU time of the operation.
fn used(measurement: &Measurement) -> Option<(MachineRates, Nanos)> {
    let batches = measurement.tasks.iter().flat_map(|task| &task.batches);
    let ran: Vec<Nanos> = batches.map(|batch| batch.ran).collect();
    (!ran.is_empty()).then(|| (measurement.rates.clone(), ran.into_iter().sum()))
}

/// The share of all CPUs that others used in windows with an own CPU time.
fn foreign(windows: &[(MachineRates, Nanos)], cpus: usize) -> Option<f64> {
    let (mut others, mut over) = (Nanos::ZERO, Nanos::ZERO);
    for (rates, own) in windows {
        others = others + rates.busy?.saturating_sub(*own);
        over = over + rates.over;
    }
    (over > Nanos::ZERO).then(|| share(others, over) / cpus.max(1) as f64)
}

/// How long a process that runs a pipeline may take beyond the frames.
const PATIENCE: Duration = Duration::from_secs(60);
/// The time between two looks at whether a signal has stopped it.
const LOOK: Duration = Duration::from_millis(250);

/// Runs the real pipeline in a fresh process; `None` if it fell so far behind that it was ended.
fn run(places: &Places, graph: &Graph, frames: u32) -> Result<Option<PipelineRun>> {
    let what = || "the pipeline cannot run".to_owned();
    let mut command = Command::new(places.executable()?);
    command.args(["internal", "pipeline"]);
    let start = Start::new(command).in_own_group().dies_with_this_thread().keeps_last_words();
    let (mut peer, messages) = start.start().or_error(ErrorKind::Unavailable, what)?;
    let request = PipelineRequest { graph: graph.clone(), frames };
    let length = graph.period.saturating_mul(frames.into()) + graph.cells[graph.wake].warmup;
    let (sender, receiver) = std::sync::mpsc::channel();
    let sent = peer.send(&request).map_err(|error| error.to_string());
    let reader = messages.listen("pipeline-reader", move |read| sender.send(read).is_ok());
    reader.or_error(ErrorKind::Unavailable, what)?;
    let read =
        sent.and_then(|()| await_message(&peer, &receiver, Duration::from(length) + PATIENCE));
    if read.is_err() {
        peer.kill();
    }
    let end = peer.end(Duration::from_secs(1));
    let unavailable = |reason: String| Error::new(ErrorKind::Unavailable, reason);
    match read {
        Ok(PipelineMessage::Finished(found)) => Ok(Some(*found)),
        Ok(PipelineMessage::FellBehind { .. }) => Ok(None),
        Ok(PipelineMessage::Failed { reason, hint }) => {
            Err(unavailable(format!("the pipeline cannot run: {reason}")).with_hint_if_any(hint))
        }
        Err(reason) => Err(unavailable(format!("the pipeline cannot run: {reason}; {end}"))),
    }
}

/// Waits for the message of a process, until it is stopped.
fn await_message(
    peer: &Peer,
    messages: &Receiver<std::result::Result<PipelineMessage, WireError>>,
    patience: Duration,
) -> std::result::Result<PipelineMessage, String> {
    let until = Instant::now() + patience;
    loop {
        match messages.recv_timeout(LOOK) {
            Ok(read) => return read.map_err(|error| error.to_string()),
            Err(RecvTimeoutError::Disconnected) => return Err(WireError::Closed.to_string()),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Some(signal) = tactus_sys::process::stopped_by(peer.id()) {
            return Err(format!("signal {signal} has stopped the process that coordinates it"));
        }
        if Instant::now() >= until {
            return Err(WireError::Silent { waited: patience }.to_string());
        }
    }
}

/// Compares a prediction with what the real pipeline did; `None` without frames.
///
/// # Errors
/// The samples are damaged.
pub fn compare(
    subject: &Subject<'_>,
    graph: &Graph,
    prediction: &Prediction,
    verified: &Verified,
) -> Result<Option<Comparison>> {
    let rounds = verified.runs.iter().map(frames_of).collect::<Result<Vec<_>>>()?;
    let conditions = verified.conditions(subject.run(), rounds.iter().map(Vec::len).sum());
    let measured = Measured { rounds, ended: verified.ended };
    Ok(Comparison::of(graph, prediction, &measured, &conditions))
}

/// The spans of each frame, by stage.
fn frames_of(run: &PipelineRun) -> Result<Vec<Vec<Span>>> {
    let mut frames: Vec<Vec<Span>> = Vec::new();
    for (stage, block) in run.stages.iter().enumerate() {
        let samples = block.decode().or_internal()?;
        frames.resize_with(samples.len().max(frames.len()), Vec::new);
        for (frame, sample) in frames.iter_mut().zip(samples) {
            frame.resize(stage, Span::default());
            frame.push(Span { begin: sample.due, end: sample.came });
        }
    }
    Ok(frames)
}
