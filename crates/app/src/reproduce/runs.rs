//! The runs of a paper's parts, and their results.

use std::collections::BTreeMap;

use tactus_explain::account::{AccountOptions, Accounts, account};
use tactus_explain::{WitnessedSample, handler_times, witness};
use tactus_model::experiment::Plan;
use tactus_model::facts::MachineFacts;
use tactus_model::guest::Guest;
use tactus_model::label::kernel_names;
use tactus_model::recording::InterruptVector;
use tactus_model::run::{Run, RunId};
use tactus_model::settings::Layer;
use tactus_reproduce::{
    InGuest, Measured, Paper, Part, PartFound, Recorded, Reproduction, StudyRun,
};

use super::{form, graph_of};
use crate::error::OrError;
use crate::explain::{probe_tasks, tracing_cost_of_run};
use crate::measure::require_end;
use crate::model::{self, Verified};
use crate::{Error, Result, Subject, recording};

/// The runs that cover the parts of a paper.
#[derive(Debug)]
pub struct PartRuns<'s> {
    subjects: Vec<Subject<'s>>,
    /// The real pipelines of the same runs.
    verified: Vec<Verified>,
    /// The index of the run of each part of the paper.
    of_parts: Vec<Option<usize>>,
}

impl<'s> PartRuns<'s> {
    pub(super) fn none(paper: &Paper) -> Self {
        Self { subjects: Vec::new(), verified: Vec::new(), of_parts: vec![None; paper.parts.len()] }
    }

    /// Sets the run of some parts, and what the real pipeline did.
    pub(super) fn put(&mut self, subject: Subject<'s>, verified: Verified, parts: &[usize]) {
        parts.iter().for_each(|&part| self.of_parts[part] = Some(self.subjects.len()));
        self.subjects.push(subject);
        self.verified.push(verified);
    }

    /// The name of the run of the first part that has one.
    pub fn first(&self) -> Option<&RunId> {
        let first = self.of_parts.iter().flatten().next()?;
        Some(self.subjects[*first].id())
    }

    /// Requires that every turn of the runs gave a result.
    ///
    /// # Errors
    /// A turn failed; the error contains the command that measures it again.
    pub fn require_results(&self) -> Result<()> {
        self.subjects.iter().map(Subject::run).try_for_each(require_end)
    }

    fn of(&self, part: usize) -> Option<&Subject<'s>> {
        self.subjects.get((*self.of_parts.get(part)?)?)
    }

    /// Sets the preemption model of machines whose kernels do not report it.
    ///
    /// # Errors
    /// A kernel reports another model.
    pub fn assume_preemption(&mut self, model: &str) -> Result<()> {
        self.subjects.iter_mut().try_for_each(|subject| assume_preemption(subject, model))
    }

    /// The results of each part of the paper.
    ///
    /// # Errors
    /// A recording cannot be read.
    pub fn study_runs(&self, paper: &Paper) -> Result<Vec<Vec<StudyRun<'_>>>> {
        let parts = paper.parts.iter().enumerate();
        let runs = parts.map(|(number, part)| {
            let Some(index) = self.of_parts.get(number).copied().flatten() else {
                return Ok(Vec::new());
            };
            let (subject, verified) = (&self.subjects[index], &self.verified[index]);
            match part.pipeline {
                true => pipeline_run(part, subject, verified),
                false => study_runs(part, subject),
            }
        });
        runs.collect()
    }

    /// How each part was measured, for its page and text.
    pub fn measured(
        &self,
        reproduction: &Reproduction<'_>,
        paper: &Paper,
    ) -> Vec<Option<tactus_report::Measured<'_>>> {
        reproduction.parts.iter().map(|found| self.measured_part(found, paper)).collect()
    }

    fn measured_part(
        &self,
        found: &PartFound<'_>,
        paper: &Paper,
    ) -> Option<tactus_report::Measured<'_>> {
        let number = paper.parts.iter().position(|part| std::ptr::eq(part, found.part))?;
        let run = self.of(number)?.run();
        let form = form(found.part, &run.header.plan);
        Some(tactus_report::Measured { run, form, tracing_cost: tracing_cost_of_run(run) })
    }
}

fn assume_preemption(subject: &mut Subject<'_>, assumed: &str) -> Result<()> {
    let header = &mut subject.run_mut().header;
    let known = &mut header.facts_before.kernel.preemption;
    match known {
        Some(model) if model != assumed => Err(Error::usage(format!(
            "the kernel of {} reports preemption model `{model}`, not `{assumed}`",
            header.id
        ))),
        _ => {
            *known = Some(assumed.to_owned());
            Ok(())
        }
    }
}

/// The guests of a plan, one for each kernel, in the order of its cells.
pub(super) fn guests(plan: &Plan) -> Vec<&Guest> {
    let mut guests: Vec<&Guest> = Vec::new();
    for guest in plan.cells.iter().filter_map(|cell| cell.target.guest()) {
        if !guests.contains(&guest) {
            guests.push(guest);
        }
    }
    guests
}

/// The prediction for a pipeline, and its real frames if it ran.
fn pipeline_run<'r>(
    part: &Part,
    subject: &'r Subject<'_>,
    verified: &Verified,
) -> Result<Vec<StudyRun<'r>>> {
    let graph = graph_of(part)?;
    let header = &subject.run().header;
    let prediction = model::predict(subject, &graph, header.plan.seed)?.prediction;
    let comparison = model::compare(subject, &graph, &prediction, verified)?;
    let missing = verified.failure.as_ref().map(ToString::to_string);
    let measured =
        Measured::of_pipeline(graph.budget, &prediction, comparison.as_ref(), missing.as_deref());
    Ok(vec![StudyRun { run: &header.id, guest: None, facts: &header.facts_before, measured }])
}

/// The results of a part in a run, one for each machine: this one, or guests.
fn study_runs<'r>(part: &Part, subject: &'r Subject<'_>) -> Result<Vec<StudyRun<'r>>> {
    let recorded = recorded(part, subject)?;
    let (run, id) = (subject.run(), subject.id());
    if run.header.plan.cells.iter().all(|cell| cell.target.guest().is_none()) {
        let (facts, mut measured) =
            (&run.header.facts_before, Measured::of(part, run, None, &recorded));
        for (cell, pipeline) in &part.predicts {
            let graph = model::pipeline(pipeline)?.graph(&Layer::default()).or_internal()?;
            let found = model::predict(subject, &graph, run.header.plan.seed);
            let found = found.as_ref().map(|found| &found.prediction);
            measured.add_prediction(cell, found.map_err(ToString::to_string));
        }
        return Ok(vec![StudyRun { run: id, guest: None, facts, measured }]);
    }
    let guests: Vec<(&Guest, &MachineFacts)> = guests(&run.header.plan)
        .into_iter()
        .filter_map(|guest| Some((guest, facts_of(run, guest)?)))
        .collect();
    let names = kernel_names(&guests).into_iter();
    let machines = guests.iter().zip(names).map(|(&(guest, facts), name)| {
        let measured = Measured::of(part, run, Some(&guest.kernel), &recorded);
        StudyRun { run: id, guest: Some(InGuest { guest, name }), facts, measured }
    });
    Ok(machines.collect())
}

/// The facts that a guest reported, if one of its cells has a result.
fn facts_of<'a>(run: &'a Run, guest: &Guest) -> Option<&'a MachineFacts> {
    let cells = &run.header.plan.cells;
    let of_it = run.measurements.iter().filter(|found| {
        cells.get(found.turn.cell).and_then(|cell| cell.target.guest()) == Some(guest)
    });
    of_it.filter_map(|found| found.guest.as_deref()).map(|account| &account.facts).next()
}

/// The recorded data of every cell.
fn recorded(part: &Part, subject: &Subject<'_>) -> Result<BTreeMap<usize, Recorded>> {
    let options = AccountOptions { rates: part.tick_rates() };
    let mut of_cells = BTreeMap::new();
    for (number, cell) in subject.run().header.plan.cells.iter().enumerate() {
        let (mut recorded, mut accounts) = (Recorded::default(), Vec::new());
        let mut is_recorded = false;
        for found in subject.recorded(number) {
            let (traced, data) = found?;
            is_recorded = true;
            let tasks = probe_tasks(cell, traced, &data.samples)?;
            let mut source = recording::held(data.recording)?;
            let is_prepared = |sample: &WitnessedSample| {
                let task = traced.tasks.iter().find(|task| task.task == sample.task);
                task.is_none_or(|task| task.unprepared.binary_search(&sample.sample.due).is_err())
            };
            let witnessed = witness(&mut source, tasks).or_internal()?;
            recorded.samples.extend(witnessed.into_iter().filter(is_prepared));
            if cell.probe.sort().is_some() {
                source.rewind();
                let clock = InterruptVector::LocalTimer;
                let times = handler_times(&mut source, clock, &cell.policy.cpus).or_internal()?;
                recorded.handler.merge(&times);
            }
            if !part.programs.is_empty() && cell.traced_events.show_who_ran() {
                source.rewind();
                accounts.push(account(&mut source, &options).or_internal()?);
            }
        }
        if is_recorded {
            recorded.accounts = Accounts::pool(accounts);
            of_cells.insert(number, recorded);
        }
    }
    Ok(of_cells)
}
