//! A paper's figures beside this machine's.

mod runs;

use tactus_lab::shipped;
use tactus_model::address::Address;
use tactus_model::experiment::{Experiment, Overrides, Plan};
use tactus_model::settings::Layer;
use tactus_model::time::Nanos;
use tactus_pipeline::Graph;
use tactus_reproduce::{Form, PAPERS, Paper, Part, find};
use tactus_store::Store;

use crate::error::OrError;
use crate::measure::{self, CarriedOut, GuestSettings, Listener};
use crate::model::{self, Verified};
use crate::plan::new_seed;
use crate::{Error, ErrorKind, Places, Result, Subject};

pub use runs::PartRuns;

/// The papers that can be reproduced.
///
/// # Errors
/// The data of a paper are wrong (an internal error).
pub fn papers() -> Result<Vec<Paper>> {
    PAPERS.iter().map(|(name, _)| find(name).or_internal()).collect()
}

/// A paper, and the selected parts of it.
#[derive(Debug)]
pub struct Study {
    /// The paper.
    pub paper: Paper,
    /// The numbers of its parts.
    parts: Vec<usize>,
}

/// How to measure parts.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Whether to use the paper's own durations.
    pub full: bool,
    /// The seed; if `None`, each plan gets a new seed.
    pub seed: Option<u64>,
    /// The kernels of guests; if empty, this machine is measured.
    pub kernels: Vec<String>,
    /// The settings of the guests.
    pub guests: GuestSettings,
}

/// A plan, and the parts that a run of it covers.
#[derive(Debug)]
pub struct PartsPlan {
    parts: Vec<usize>,
    /// The plan.
    pub plan: Plan,
    /// The pipeline that runs after each round of it.
    graph: Option<Graph>,
}

/// The next plan to measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Next<'a> {
    /// The names of its parts.
    pub parts: Vec<&'a str>,
    /// How many parts are done.
    pub done: usize,
    /// The total number of parts.
    pub of: usize,
    /// The estimated duration of this plan and those after it.
    pub left: Nanos,
}

impl Study {
    /// A paper by name, and parts by name; if no part is named, all parts.
    ///
    /// # Errors
    /// There is no such paper or part.
    pub fn of(name: &str, parts: &[String]) -> Result<Self> {
        let paper = find(name).map_err(Error::usage)?;
        let parts = chosen(&paper, parts)?;
        Ok(Self { paper, parts })
    }

    /// The plans to measure. Parts that one run can cover share a plan. Pipelines are not measured in
    /// guests.
    ///
    /// # Errors
    /// A kernel is wrong, this machine is named as a guest, or no part can be measured in guests.
    pub fn plans(&self, wanted: &Wanted) -> Result<Vec<PartsPlan>> {
        if wanted.kernels.iter().any(|kernel| kernel == "host") {
            return Err(Error::usage("a paper is measured on this machine or in guests, not both")
                .with_hint("leave out the kernel `host`"));
        }
        let mut plans: Vec<PartsPlan> = Vec::new();
        let in_guests = !wanted.kernels.is_empty();
        let is_measured =
            |number: &&usize| !in_guests || self.paper.parts[**number].runs_in_guests();
        for &number in self.parts.iter().filter(is_measured) {
            let seed = wanted.seed.unwrap_or_else(new_seed);
            let part = &self.paper.parts[number];
            let graph = part.pipeline.then(|| runnable_graph(part)).transpose()?;
            let plan = planned(part, wanted, seed)?;
            match plans.iter_mut().find(|known| covers(&known.plan, &plan)) {
                Some(known) => known.parts.push(number),
                None => plans.push(PartsPlan { parts: vec![number], plan, graph }),
            }
        }
        if plans.is_empty() {
            return Err(Error::usage("pipelines and players are measured on this machine only")
                .with_hint("leave out --kernel"));
        }
        Ok(plans)
    }

    /// Measures the plans one after another; calls `on_next` before each.
    ///
    /// # Errors
    /// A guest cannot be prepared, the store cannot be written, or a run was interrupted.
    pub fn measure<'s>(
        &self,
        places: &Places,
        store: &'s mut Store,
        plans: &[PartsPlan],
        guests: &GuestSettings,
        listener: &mut dyn Listener,
        mut on_next: impl FnMut(&Next<'_>),
    ) -> Result<PartRuns<'s>> {
        let mut taken = Vec::new();
        for number in 0..plans.len() {
            on_next(&self.next(plans, number));
            let PartsPlan { parts, plan, graph } = &plans[number];
            let (CarriedOut { run, status }, verified) = match graph {
                Some(graph) => {
                    let frames = model::usual_frames(graph);
                    model::measure(places, store, (graph, plan), Some(frames), listener)?
                }
                None => {
                    let done = measure::new_run(places, store, plan, guests, listener)?;
                    (done, Verified::default())
                }
            };
            if !status.has_ended() {
                let reason = format!("{run} is not complete; finished turns are kept");
                let hint = format!(
                    "continue with: tactus measure --continue {run} && tactus reproduce {} --from {run}",
                    self.paper.name
                );
                return Err(Error::new(ErrorKind::Interrupted, reason).with_hint(hint));
            }
            taken.push((parts, run, verified));
        }
        let mut runs = PartRuns::none(&self.paper);
        for (parts, run, verified) in taken {
            runs.put(Subject::stored(store, &run)?, verified, parts);
        }
        Ok(runs)
    }

    /// The announcement of a plan.
    fn next(&self, plans: &[PartsPlan], number: usize) -> Next<'_> {
        let parts_of = |plans: &[PartsPlan]| plans.iter().map(|plan| plan.parts.len()).sum();
        let name = |number: &usize| self.paper.parts[*number].name.as_str();
        Next {
            parts: plans[number].parts.iter().map(name).collect(),
            done: parts_of(&plans[..number]),
            of: parts_of(plans),
            left: plans[number..].iter().map(PartsPlan::estimate).sum(),
        }
    }

    /// Uses existing runs of the paper's experiments, each for the parts that it covers.
    ///
    /// # Errors
    /// There is no such run, or it is a run of another experiment.
    pub fn from_runs<'s>(&self, store: &'s Store, names: &[Address]) -> Result<PartRuns<'s>> {
        let mut runs = PartRuns::none(&self.paper);
        for name in names {
            let subject = Subject::stored(store, &store.find(name.whole_run()?)?)?;
            let parts = self.parts_of(&subject)?;
            runs.put(subject, Verified::default(), &parts);
        }
        Ok(runs)
    }

    /// The parts that a run covers.
    fn parts_of(&self, subject: &Subject<'_>) -> Result<Vec<usize>> {
        let of = &subject.run().header.plan.name;
        let part = |number: &usize| &self.paper.parts[*number];
        let is_of =
            |part: &Part| [false, true].iter().any(|&guests| part.experiment_in(guests) == of);
        let parts: Vec<usize> =
            self.parts.iter().copied().filter(|number| is_of(part(number))).collect();
        if parts.is_empty() {
            let known: Vec<&str> =
                self.parts.iter().map(|number| part(number).experiment.as_str()).collect();
            let (id, known) = (subject.id(), known.join(", "));
            return Err(Error::usage(format!(
                "{id} is a run of {of}, which is not an experiment of this paper; use a run of {known}"
            )));
        }
        Ok(parts)
    }
}

impl PartsPlan {
    /// How long it takes.
    fn estimate(&self) -> Nanos {
        let frames = |graph: &Graph| graph.period.saturating_mul(model::usual_frames(graph).into());
        let of_round = self.graph.as_ref().map_or(Nanos::ZERO, frames);
        self.plan.estimate(&self.plan.turns()) + of_round.saturating_mul(self.plan.rounds.into())
    }
}

/// The rounds of a pipeline that is measured in full: six hundred frames of one of 10 frames a second.
const PIPELINE_ROUNDS: u32 = 32;

/// The pipeline of a part.
fn graph_of(part: &Part) -> Result<Graph> {
    model::pipeline(&part.experiment)?.graph(&Layer::default()).or_internal()
}

/// The pipeline of a part, if this machine has the CPUs for it.
fn runnable_graph(part: &Part) -> Result<Graph> {
    model::graph(&model::pipeline(&part.experiment)?, &Layer::default())
}

/// The numbers of the named parts; all parts if none is named.
fn chosen(paper: &Paper, wanted: &[String]) -> Result<Vec<usize>> {
    let names: Vec<&str> = paper.parts.iter().map(|part| part.name.as_str()).collect();
    if wanted.is_empty() {
        return Ok((0..names.len()).collect());
    }
    let number = |name: &String| {
        names.iter().position(|known| known == name).ok_or_else(|| {
            let hint = match tactus_model::text::nearest(name, &names) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("its parts are: {}", names.join(", ")),
            };
            Error::usage(format!("{} has no part `{name}`", paper.name)).with_hint(hint)
        })
    };
    wanted.iter().map(number).collect()
}

/// The plan for a part.
fn planned(part: &Part, wanted: &Wanted, seed: u64) -> Result<Plan> {
    let in_guests = !wanted.kernels.is_empty();
    if part.pipeline {
        let rounds = if wanted.full { PIPELINE_ROUNDS } else { part.quick.rounds };
        return Ok(model::plan(&graph_of(part)?, rounds, seed));
    }
    let name = part.experiment_in(in_guests);
    let text = shipped::find(name)
        .ok_or_else(|| format!("the experiment {name} is not shipped"))
        .or_internal()?;
    let experiment = Experiment::parse(text).or_internal()?;
    let mut overrides =
        Overrides { seed: Some(seed), guest_time: wanted.guests.time, ..Overrides::default() };
    if !wanted.full {
        overrides.rounds = Some(part.quick_in(in_guests).rounds);
        overrides.settings = part.quick_settings(in_guests).or_internal()?;
    }
    if in_guests {
        let kernels = overrides.settings.set("kernel", wanted.kernels.clone());
        kernels.map_err(Error::usage)?;
    }
    experiment.plan(&overrides).or_internal()
}

/// Whether a run of one plan covers the other. Seeds may differ.
fn covers(one: &Plan, other: &Plan) -> bool {
    one.name == other.name && one.rounds == other.rounds && one.cells == other.cells
}

/// Which form of a part a plan has.
fn form(part: &Part, plan: &Plan) -> Form {
    let guests = runs::guests(plan);
    let time = guests.first().map(|guest| guest.time);
    let is = |full: bool| {
        let wanted = Wanted {
            full,
            seed: None,
            kernels: guests.iter().map(|guest| guest.kernel.to_string()).collect(),
            guests: GuestSettings { time, ..GuestSettings::default() },
        };
        let other = planned(part, &wanted, 0);
        other.is_ok_and(|other| other.rounds == plan.rounds && other.cells == plan.cells)
    };
    match (is(true), is(false)) {
        (true, _) => Form::Full,
        (_, true) => Form::Quick,
        _ => Form::Own,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The plans for two parts of the study of 2003, in guests of `kernels`.
    fn plans(kernels: &[&str], parts: [&str; 2]) -> (Study, Vec<PartsPlan>) {
        let study = Study::of("clock-resolution", &parts.map(str::to_owned)).unwrap();
        let kernels = kernels.iter().map(ToString::to_string).collect();
        let plans = study.plans(&Wanted { kernels, ..Wanted::default() }).unwrap();
        (study, plans)
    }

    #[test]
    fn one_run_covers_parts_of_the_same_experiment() {
        let count = |kernels: &[&str], parts| plans(kernels, parts).1.len();
        assert_eq!(count(&["debian-cloud"], ["billing", "quanta"]), 1);
        assert_eq!(count(&["debian-cloud"], ["billing", "frames"]), 2);
        assert_eq!(count(&[], ["billing", "quanta"]), 2, "on this machine each part has its own");
    }

    #[test]
    fn the_next_plan_has_the_number_of_done_parts_and_the_time_left() {
        let (study, plans) = plans(&[], ["billing", "quanta"]);
        let [first, second] = [0, 1].map(|number| study.next(&plans, number));
        assert_eq!((&first.parts[..], first.done, first.of), (&["billing"][..], 0, 2));
        assert_eq!((&second.parts[..], second.done, second.of), (&["quanta"][..], 1, 2));
        assert!(first.left > second.left);
    }

    #[test]
    fn the_form_of_a_plan_is_recognised() {
        let (study, plans) = plans(&[], ["billing", "quanta"]);
        let part = &study.paper.parts[study.parts[0]];
        assert_eq!(form(part, &plans[0].plan), Form::Quick);
        let mut own = plans[0].plan.clone();
        own.rounds += 1;
        assert_eq!(form(part, &own), Form::Own);
    }

    #[test]
    fn a_pipeline_is_planned_on_this_machine_only() {
        let parts = ["display", "timing-model"].map(str::to_owned);
        let names = |parts: &[String], kernels: &[&str]| -> Result<Vec<String>> {
            let study = Study::of("mach-testbed", parts)?;
            let kernels = kernels.iter().map(ToString::to_string).collect();
            let plans = study.plans(&Wanted { kernels, ..Wanted::default() })?;
            Ok(plans.into_iter().map(|plan| plan.plan.name).collect())
        };
        assert_eq!(names(&parts, &["debian-cloud"]).unwrap(), ["papers/display"]);
        let error = names(&parts[1..], &["debian-cloud"]).unwrap_err();
        assert_eq!(error.hint(), Some("leave out --kernel"));
    }

    #[test]
    fn the_experiment_of_a_part_measures_what_its_pipelines_need_under_their_conditions() {
        let mut count = 0;
        for paper in papers().unwrap() {
            for part in paper.parts.iter().filter(|part| !part.predicts.is_empty()) {
                for full in [false, true] {
                    let cells =
                        planned(part, &Wanted { full, ..Wanted::default() }, 0).unwrap().cells;
                    for name in part.predicts.values() {
                        let graph = model::pipeline(name).unwrap();
                        let graph = graph.graph(&Layer::default()).unwrap();
                        for needed in 0..graph.cells.len() {
                            let source = graph.source(needed, &cells);
                            let found = source.map(|source| source.differences);
                            assert_eq!(found, Some(Vec::new()), "{name} {needed}");
                            count += 1;
                        }
                    }
                }
            }
        }
        assert!(count > 0);
    }

    #[test]
    fn an_unknown_part_is_refused_with_a_hint() {
        let error = Study::of("clock-resolution", &["quantum".to_owned()]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert_eq!(error.to_string(), "clock-resolution has no part `quantum`");
        assert_eq!(error.hint(), Some("did you mean `quanta`?"));
    }
}
