//! The timing model of a pipeline: what it needs, what it predicts, and whether that is true.

mod verify;

use std::collections::BTreeSet;

use tactus_lab::event::Event;
use tactus_lab::target::Stopper;
use tactus_model::bytes::Bytes;
use tactus_model::cost::CostProbe;
use tactus_model::cpus::CpuChoice;
use tactus_model::experiment::Plan;
use tactus_model::limits::PIPELINE_BYTES;
use tactus_model::result::{Measurement, Shortfall};
use tactus_model::settings::Layer;
use tactus_model::time::Nanos;
use tactus_model::warning::Warning;
use tactus_pipeline::draws::Samples;
use tactus_pipeline::{Difference, Graph, Pipeline, Prediction, Source, shipped, warnings};
use tactus_store::Store;

use crate::error::OrError;
use crate::measure::{CarriedOut, GuestSettings, Listener, new_run};
use crate::plan::shell_word;
use crate::{BuildListener, Error, ErrorKind, Places, Result, Subject, files};

pub use self::verify::{Verified, compare, usual_frames, verify};

/// Reads a pipeline by its shipped name or from a file.
///
/// # Errors
/// There is no such pipeline, or it is wrong.
pub fn pipeline(name: &str) -> Result<Pipeline> {
    let parsed = match shipped::find(name) {
        Some(text) => Pipeline::parse(text),
        None => {
            let shipped = shipped::PIPELINES.iter().map(|(name, _)| *name);
            Pipeline::parse(&files::read_named("pipeline", name, PIPELINE_BYTES, shipped)?)
        }
    };
    parsed.or_error(ErrorKind::Usage, || format!("cannot read pipeline `{name}`"))
}

/// Resolves a pipeline with settings that replace its own.
///
/// # Errors
/// A setting does not fit, or this process may not use the CPUs that it needs.
pub fn graph(pipeline: &Pipeline, settings: &Layer) -> Result<Graph> {
    let graph = pipeline.graph(settings).map_err(Error::usage)?;
    crate::plan::require_machine(&graph.cells, settings)?;
    tactus_sys::memory::total().map_or(Ok(()), |total| require_memory(&graph, total))?;
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

/// Requires that what all stages take at the same time fits into this much memory.
fn require_memory(graph: &Graph, total: Bytes) -> Result<()> {
    let of_stages = || graph.stages.iter().map(|stage| (graph.memory_of(stage), stage));
    let sum = of_stages().fold(0, |sum: u64, (bytes, _)| sum.saturating_add(bytes.get()));
    let largest = of_stages().max_by_key(|(bytes, _)| *bytes);
    let Some((most, stage)) = largest.filter(|_| Bytes::new(sum) > CostProbe::memory_max(total))
    else {
        return Ok(());
    };
    let [sum, most, total] = [sum, most.get(), total.get()].map(|bytes| bytes / 1_000_000);
    let reason = format!(
        "the stages would use {sum} MB of memory together, and operations may use half of the {total} MB \
         of this machine or control group"
    );
    let hint = format!("use smaller sizes; stage `{}` has the most, {most} MB", stage.name);
    Err(Error::usage(reason).with_hint(hint))
}

/// The plan that measures what a pipeline needs.
pub fn plan(graph: &Graph, rounds: u32, seed: u64) -> Plan {
    Plan {
        name: graph.name.clone(),
        about: graph.about.clone(),
        rounds,
        seed,
        until: None,
        gate: None,
        cells: graph.cells.clone(),
    }
}

/// Measures what a plan of [`plan`] names as a new run. With `frames`, the real pipeline runs for this
/// number of frames after each round, so that a drift of the machine affects both. If it fails, the run
/// stops.
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
        stopper: None,
    };
    let done = new_run(places, store, plan, &GuestSettings::default(), &mut alternating)?;
    Ok((done, alternating.verified))
}

/// Follows a run, and runs the pipeline whenever a round is complete.
struct Alternating<'a> {
    inner: &'a mut dyn Listener,
    places: &'a Places,
    graph: &'a Graph,
    frames: Option<u32>,
    turns: usize,
    verified: Verified,
    stopper: Option<Stopper>,
}

impl Listener for Alternating<'_> {
    fn begins(&mut self, stopper: &Stopper) -> std::io::Result<()> {
        self.stopper = Some(stopper.clone());
        self.inner.begins(stopper)
    }

    fn on_event(&mut self, event: &Event<'_>) {
        self.inner.on_event(event);
        if let Event::TurnFinished { .. } | Event::TurnFailed { .. } = event {
            self.turns += 1;
            let is_round = self.turns.is_multiple_of(self.graph.cells.len());
            if let Some(frames) = self.frames.filter(|_| is_round) {
                self.verified.run_once(self.places, self.graph, frames);
                // Without the real pipeline, the rounds that follow would have nothing to compare.
                if let (Some(_), Some(stopper)) = (&self.verified.failure, &self.stopper) {
                    stopper.stop();
                }
            }
        }
    }

    fn lacks(&self, shortfall: &Shortfall) {
        self.inner.lacks(shortfall);
    }

    fn building(&self) -> BuildListener {
        self.inner.building()
    }
}

/// A prediction, and what limits it.
#[derive(Debug)]
pub struct Foretold {
    /// The prediction.
    pub prediction: Prediction,
    /// What limits it.
    pub warnings: Vec<Warning>,
}

/// Predicts from the samples of a run.
///
/// # Errors
/// The run lacks an operation of the pipeline, was measured under another policy or load, or its
/// samples cannot be read.
pub fn predict(subject: &Subject<'_>, graph: &Graph, seed: u64) -> Result<Foretold> {
    let available = &subject.run().header.plan.cells;
    let (mut samples, mut limits, mut differing) = (Vec::new(), Vec::new(), Vec::new());
    let sources: Vec<_> =
        (0..graph.cells.len()).map(|needed| graph.source(needed, available)).collect();
    require_same_conditions(subject, &sources)?;
    for (needed, source) in sources.into_iter().enumerate() {
        let found = match source {
            Some(source) => {
                let samples = samples_of(subject, graph, needed, &source)?;
                let name = name_of(graph, needed);
                differing.extend(source.differences.into_iter().map(|one| (name.clone(), one)));
                samples
            }
            None if needed == graph.wake => {
                limits.push(warnings::without_wake_up());
                Samples::default()
            }
            None => return Err(missing(subject, graph, needed)),
        };
        samples.push(found);
    }
    let prediction = Prediction::of(graph, &samples, seed);
    limits.extend(warnings::of_differences(&differing));
    limits.extend(prediction.warnings());
    Ok(Foretold { prediction, warnings: limits })
}

/// Requires that what a run measured had the policy and the load of the pipeline.
fn require_same_conditions(subject: &Subject<'_>, sources: &[Option<Source>]) -> Result<()> {
    let mut found: Vec<&Difference> = Vec::new();
    for one in sources.iter().flatten().flat_map(|source| &source.differences) {
        if one.is_essential() && !found.contains(&one) {
            found.push(one);
        }
    }
    if found.is_empty() {
        return Ok(());
    }
    let sentence = |Difference { setting, needed, measured }: &&Difference| {
        format!("{setting} is `{measured}` in {}, and `{needed}` in the pipeline", subject.id())
    };
    let reason = found.iter().map(sentence).collect::<Vec<_>>().join("; ");
    Err(Error::usage(reason).with_hint(match options_for(&found) {
        Some(options) => {
            format!("add {options} to predict for that, or measure: leave --run out")
        }
        None => "measure what the pipeline needs: leave --run out".to_owned(),
    }))
}

/// The options of `tactus model` that give a pipeline the measured conditions; `None` if there are
/// none, or operations were measured under several.
fn options_for(differences: &[&Difference]) -> Option<String> {
    let is_given = |one: &&Difference| ["policy", "load"].contains(&one.setting);
    let named: BTreeSet<&str> = differences.iter().map(|one| one.setting).collect();
    let is_clear = differences.iter().all(is_given) && named.len() == differences.len();
    let option = |one: &&Difference| format!("--{} {}", one.setting, shell_word(&one.measured));
    is_clear.then(|| differences.iter().map(option).collect::<Vec<_>>().join(" "))
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
    source: &Source,
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

/// What a sample contributes to a frame: one clock reading less, times the factor of its source.
fn duration(
    latency: Nanos,
    measurement: &Measurement,
    source: &Source,
    is_operation: bool,
) -> Nanos {
    let clock = if is_operation { measurement.cost.clock_read_ns } else { 0.0 };
    let nanos = (latency.as_nanos() as f64 - clock).max(0.0) * source.factor;
    Nanos::from_nanos(nanos.round() as u64)
}

fn without_result(subject: &Subject<'_>, graph: &Graph, needed: usize, source: &Source) -> Error {
    let failures = &subject.run().failures;
    let failure = failures.iter().find(|failure| failure.turn.cell == source.cell);
    let reason = failure.map_or("no samples were kept", |failure| &failure.reason);
    let reason = format!("{}: no result: {reason}", name_of(graph, needed));
    Error::new(ErrorKind::NoResult, reason)
        .with_hint_if_any(failure.and_then(|failure| failure.hint.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_all_stages_together_is_limited() {
        let stage = |name: &str, size: &str| {
            let step = format!("{{ operation = \"memory-copy\", size = \"{size}\" }}");
            format!("[[stage]]\nname = \"{name}\"\ndo = [{step}, {step}]\n")
        };
        let text = format!("period = \"1s\"\n{}{}", stage("a", "64MiB"), stage("b", "32MiB"));
        let graph = Pipeline::parse(&text).unwrap().graph(&Layer::default()).unwrap();
        // Each operation takes its size twice.
        assert!(require_memory(&graph, Bytes::new(2 * (384 << 20))).is_ok());
        let refused = require_memory(&graph, Bytes::new(600_000_000)).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the stages would use 402 MB of memory together, and operations may use half of the \
             600 MB of this machine or control group"
        );
        assert_eq!(refused.hint(), Some("use smaller sizes; stage `a` has the most, 268 MB"));
    }

    #[test]
    fn options_repeat_the_measured_conditions_if_they_are_the_same_for_all() {
        let other = |setting, measured: &str| Difference {
            setting,
            needed: "idle".to_owned(),
            measured: measured.to_owned(),
        };
        let check = |differences: &[Difference], expected: Option<&str>| {
            let differences: Vec<&Difference> = differences.iter().collect();
            assert_eq!(options_for(&differences).as_deref(), expected);
        };
        let [policy, load] = [other("policy", "other"), other("load", "cmd:\"make -j4\"")];
        let both = "--policy other --load 'cmd:\"make -j4\"'";
        check(&[policy.clone(), load.clone()], Some(both));
        check(&[policy.clone(), other("policy", "fifo:5")], None);
        check(&[load, other("load-policy", "batch")], None);
    }
}
