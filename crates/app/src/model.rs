//! The timing model of a pipeline: what it needs, what it predicts, and whether that is true.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tactus_cell::{PipelineMessage, PipelineRequest, PipelineRun};
use tactus_lab::event::Event;
use tactus_lab::target::Stopper;
use tactus_model::cpus::CpuChoice;
use tactus_model::experiment::Plan;
use tactus_model::limits::PIPELINE_BYTES;
use tactus_model::result::Measurement;
use tactus_model::settings::Layer;
use tactus_model::time::Nanos;
use tactus_pipeline::draws::Samples;
use tactus_pipeline::{
    Comparison, Conditions, Graph, Measured, Pipeline, Prediction, Source, Span, shipped,
};
use tactus_stats::costs::RunCosts;
use tactus_store::Store;
use tactus_wire::Start;

use crate::error::OrError;
use crate::measure::{CarriedOut, GuestSettings, Listener, new_run};
use crate::{BuildListener, Error, ErrorKind, Places, Result, Subject, files};

/// Reads a pipeline by its shipped name or from a file.
///
/// # Errors
/// There is no such pipeline, or it is wrong.
pub fn pipeline(name: &str) -> Result<Pipeline> {
    let parsed = match shipped::find(name) {
        Some(text) => Pipeline::parse(text),
        None => Pipeline::parse(&read_file(name)?),
    };
    parsed.or_error(ErrorKind::Usage, || format!("cannot read pipeline `{name}`"))
}

fn read_file(name: &str) -> Result<String> {
    let read = files::read_text(Path::new(name), PIPELINE_BYTES);
    read.or_error(ErrorKind::Usage, || format!("cannot open pipeline `{name}`")).map_err(|error| {
        let names: Vec<&str> = shipped::PIPELINES.iter().map(|(name, _)| *name).collect();
        error.with_hint(match tactus_model::text::nearest(name, &names) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("name a file or one of: {}", names.join(", ")),
        })
    })
}

/// Resolves a pipeline with settings that replace its own.
///
/// # Errors
/// A setting does not fit, or this process may not use as many CPUs.
pub fn graph(pipeline: &Pipeline, settings: &Layer) -> Result<Graph> {
    let graph = pipeline.graph(settings).map_err(Error::usage)?;
    crate::plan::require_cpus(&graph.cells, settings)?;
    let usable = match &graph.cells[graph.wake].policy.cpus {
        CpuChoice::These(cpus) => cpus.len(),
        CpuChoice::All => tactus_sys::affinity::get().or_internal()?.len(),
    };
    if graph.cpus() > usable {
        let reason =
            format!("the pipeline needs {} CPUs, and this process may use {usable}", graph.cpus());
        let hint = "give its stages a lower cpu, or use more CPUs";
        return Err(Error::new(ErrorKind::Unavailable, reason).with_hint(hint));
    }
    Ok(graph)
}

/// The plan that measures what a pipeline needs.
pub fn plan(graph: &Graph, rounds: u32, seed: u64) -> Plan {
    Plan {
        name: graph.name.clone(),
        about: graph.about.clone(),
        rounds,
        seed,
        until: None,
        cells: graph.cells.clone(),
    }
}

/// The real pipeline, run after each round of the measurement.
#[derive(Debug, Default)]
pub struct Verified {
    /// What was found, one after another.
    pub runs: Vec<PipelineRun>,
    /// Why there are no more.
    pub failure: Option<Error>,
}

/// The frames of the real pipeline after each round, unless the user says otherwise: some seconds.
pub fn usual_frames(graph: &Graph) -> u32 {
    const SPAN: [Nanos; 2] = [Nanos::from_secs(1), Nanos::from_secs(5)];
    let span = graph.period.saturating_mul(300).clamp(SPAN[0], SPAN[1]);
    u32::try_from(span.div_floor(graph.period)).unwrap_or(u32::MAX).max(20)
}

/// Measures what a plan of [`plan`] names as a new run. With `frames`, the real pipeline runs for as
/// many frames after each round, so that a drift of the machine affects both.
///
/// # Errors
/// Those of [`new_run`]; a pipeline that cannot run is a [`Verified::failure`].
pub fn measure(
    places: &Places,
    store: &mut Store,
    (graph, plan): (&Graph, &Plan),
    frames: Option<u32>,
    listener: &mut dyn Listener,
) -> Result<(CarriedOut, Verified)> {
    let mut alternating = Alternating {
        inner: listener,
        places,
        graph,
        frames,
        turns: 0,
        verified: Verified::default(),
    };
    let done = new_run(places, store, plan, &GuestSettings::default(), &mut alternating)?;
    Ok((done, alternating.verified))
}

/// Runs the real pipeline `rounds` times.
pub fn verify(places: &Places, graph: &Graph, frames: u32, rounds: u32) -> Verified {
    let mut verified = Verified::default();
    (0..rounds).for_each(|_| verified.run_once(places, graph, frames));
    verified
}

/// Follows a run, and runs the pipeline whenever a round is complete.
struct Alternating<'a> {
    inner: &'a mut dyn Listener,
    places: &'a Places,
    graph: &'a Graph,
    frames: Option<u32>,
    turns: usize,
    verified: Verified,
}

impl Listener for Alternating<'_> {
    fn begins(&mut self, stopper: &Stopper) -> std::io::Result<()> {
        self.inner.begins(stopper)
    }

    fn on_event(&mut self, event: &Event<'_>) {
        self.inner.on_event(event);
        if let Event::TurnFinished { .. } | Event::TurnFailed { .. } = event {
            self.turns += 1;
            let is_round = self.turns.is_multiple_of(self.graph.cells.len());
            if let Some(frames) = self.frames.filter(|_| is_round) {
                self.verified.run_once(self.places, self.graph, frames);
            }
        }
    }

    fn building(&self) -> BuildListener {
        self.inner.building()
    }
}

impl Verified {
    /// Runs the pipeline once more, unless it has failed.
    fn run_once(&mut self, places: &Places, graph: &Graph, frames: u32) {
        if self.failure.is_some() {
            return;
        }
        match run(places, graph, frames) {
            Ok(found) => self.runs.push(found),
            Err(error) => self.failure = Some(error),
        }
    }

    /// The system call right before the pipeline and steal time meanwhile, over all runs.
    fn conditions(&self, costs: &RunCosts) -> Conditions {
        let calls = self.runs.iter().map(|run| run.system_call_ns);
        let steal: Option<Nanos> = self.runs.iter().map(|run| run.rates.steal).sum();
        let over: Nanos = self.runs.iter().map(|run| run.rates.over).sum();
        let share = |steal: Nanos| steal.as_secs_f64() / over.as_secs_f64().max(f64::MIN_POSITIVE);
        Conditions {
            call_before_ns: costs.system_call_ns,
            call_meanwhile_ns: tactus_stats::modes::median_of(calls),
            steal: steal.map(share),
        }
    }
}

/// How long a process that runs a pipeline may take beyond the frames.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs the real pipeline in a fresh process.
fn run(places: &Places, graph: &Graph, frames: u32) -> Result<PipelineRun> {
    let what = || "the pipeline cannot run".to_owned();
    let mut command = Command::new(places.executable()?);
    command.args(["internal", "pipeline"]);
    let start = Start::new(command).in_own_group().dies_with_this_thread().keeps_last_words();
    let (mut peer, mut messages) = start.start().or_error(ErrorKind::Unavailable, what)?;
    let request = PipelineRequest { graph: graph.clone(), frames };
    let length = graph.period.saturating_mul(frames.into()) + graph.cells[graph.wake].warmup;
    let read =
        peer.send(&request).and_then(|()| messages.read_within(Duration::from(length) + PATIENCE));
    let end = peer.end(Duration::from_secs(1));
    let unavailable = |reason: String| Error::new(ErrorKind::Unavailable, reason);
    match read {
        Ok(PipelineMessage::Finished(found)) => Ok(*found),
        Ok(PipelineMessage::Failed { reason, hint }) => {
            Err(unavailable(format!("the pipeline cannot run: {reason}")).with_hint_if_any(hint))
        }
        Err(error) => Err(unavailable(format!("the pipeline cannot run: {error}; {end}"))),
    }
}

/// A prediction, and what limits it.
#[derive(Debug)]
pub struct Foretold {
    /// The prediction.
    pub prediction: Prediction,
    /// Warnings, in sentences.
    pub warnings: Vec<String>,
}

/// Predicts from the samples of a run.
///
/// # Errors
/// The run lacks an operation of the pipeline, or its samples cannot be read.
pub fn predict(subject: &Subject<'_>, graph: &Graph, seed: u64) -> Result<Foretold> {
    let available = &subject.run().header.plan.cells;
    let (mut samples, mut warnings, mut inexact) = (Vec::new(), Vec::new(), Vec::new());
    for needed in 0..graph.cells.len() {
        let found = match graph.source(needed, available) {
            Some(source) => {
                if !source.is_exact {
                    inexact.push(name_of(graph, needed));
                }
                samples_of(subject, graph, needed, source)?
            }
            None if needed == graph.wake => {
                warnings.push(
                    "the run has no wake-up latency (probe timer). Frames begin as if every \
                     process woke at once. fix: measure it with the pipeline, without --run"
                        .to_owned(),
                );
                Samples::default()
            }
            None => return Err(missing(subject, graph, needed)),
        };
        samples.push(found);
    }
    if !inexact.is_empty() {
        warnings.push(format!(
            "{} measured under other conditions: without the pauses of a period, as often as in a \
             frame, or under another policy or load. Real stages find colder caches and take \
             longer. fix: measure with the pipeline, without --run",
            inexact.join(", ")
        ));
    }
    Ok(Foretold { prediction: Prediction::of(graph, &samples, seed), warnings })
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
    let conditions = verified.conditions(&RunCosts::of(subject.run()));
    Ok(Comparison::of(graph, prediction, &Measured { rounds }, &conditions))
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

fn name_of(graph: &Graph, cell: usize) -> String {
    match graph.operation(cell) {
        Some(cost) => cost.operation.to_string(),
        None => "wake-up latency".to_owned(),
    }
}

fn missing(subject: &Subject<'_>, graph: &Graph, cell: usize) -> Error {
    let own = |(name, _): &(&'static str, String)| {
        tactus_model::settings::find(name).is_ok_and(|setting| setting.of.is_some())
            && !["pause", "times", "way"].contains(name)
    };
    let settings: Vec<String> = graph.cells[cell]
        .settings()
        .filter(own)
        .map(|(name, value)| format!("--{name} {value}"))
        .collect();
    let reason = format!("{} does not measure {}", subject.id(), settings.join(" "));
    Error::new(ErrorKind::NoResult, reason)
        .with_hint("measure what the pipeline needs: leave --run out")
}

/// The samples of a cell of the run, as durations of a cell of the graph.
fn samples_of(
    subject: &Subject<'_>,
    graph: &Graph,
    needed: usize,
    source: Source,
) -> Result<Samples> {
    let is_operation = graph.operation(needed).is_some();
    let mut rounds = Vec::new();
    for measurement in subject.run().of_cell(source.cell) {
        let mut round = Vec::new();
        // Sources run on the first CPU, so the first task is what they experience.
        for (_, block) in subject.samples(measurement.turn)?.iter().filter(|(task, _)| *task == 0) {
            let samples = block.decode().or_internal()?;
            round.extend(
                samples
                    .iter()
                    .map(|sample| duration(sample.latency(), measurement, source, is_operation)),
            );
        }
        rounds.push(round);
    }
    let samples = Samples::new(rounds);
    match samples.is_empty() {
        false => Ok(samples),
        true => Err(without_result(subject, graph, needed, source)),
    }
}

/// What a sample contributes to a frame: one clock reading less, for so many operations.
fn duration(
    latency: Nanos,
    measurement: &Measurement,
    source: Source,
    is_operation: bool,
) -> Nanos {
    let clock = if is_operation { measurement.cost.clock_read_ns } else { 0.0 };
    let nanos = (latency.as_nanos() as f64 - clock).max(0.0) * source.factor;
    Nanos::from_nanos(nanos.round() as u64)
}

fn without_result(subject: &Subject<'_>, graph: &Graph, needed: usize, source: Source) -> Error {
    let failures = &subject.run().failures;
    let failure = failures.iter().find(|failure| failure.turn.cell == source.cell);
    let reason = failure.map_or("no samples were kept", |failure| &failure.reason);
    let reason = format!("{}: no result: {reason}", name_of(graph, needed));
    Error::new(ErrorKind::NoResult, reason)
        .with_hint_if_any(failure.and_then(|failure| failure.hint.clone()))
}
