//! A paper's figures beside this machine's.

mod runs;

use tactus_lab::shipped;
use tactus_model::experiment::{Experiment, Overrides, Plan};
use tactus_model::run::RunStatus;
use tactus_model::time::Nanos;
use tactus_reproduce::{Form, PAPERS, Paper, Part, find};
use tactus_store::Store;

use crate::error::OrError;
use crate::measure::{self, CarriedOut, GuestWishes, Listener};
use crate::plan::new_seed;
use crate::{Error, ErrorKind, Places, Result, Subject};

pub use runs::PartRuns;

/// The papers that can be reproduced.
///
/// # Errors
/// The data of a paper are wrong, which is a defect.
pub fn papers() -> Result<Vec<Paper>> {
    PAPERS.iter().map(|(name, _)| find(name).or_internal()).collect()
}

/// A paper, and the parts of it that are reproduced.
#[derive(Debug)]
pub struct Study {
    /// The paper.
    pub paper: Paper,
    /// The numbers of its parts.
    parts: Vec<usize>,
}

/// How parts are measured.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Whether the paper's own durations are taken.
    pub full: bool,
    /// The seed; for each plan another is chosen where there is none.
    pub seed: Option<u64>,
    /// The kernels of the guests that are measured in; without any, this machine is measured.
    pub kernels: Vec<String>,
    /// What is wished of the guests.
    pub guests: GuestWishes,
}

/// A plan, and the parts that a run of it serves.
#[derive(Debug)]
pub struct PartsPlan {
    parts: Vec<usize>,
    /// What is to be measured.
    pub plan: Plan,
}

/// A plan that comes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Next<'a> {
    /// The names of its parts.
    pub parts: Vec<&'a str>,
    /// How many parts came before.
    pub done: usize,
    /// How many parts there are in all.
    pub of: usize,
    /// About how long this plan and those after it take.
    pub left: Nanos,
}

impl Study {
    /// A paper by name, and its parts by name; all parts when none is named.
    ///
    /// # Errors
    /// There is no such paper or part.
    pub fn of(name: &str, parts: &[String]) -> Result<Self> {
        let paper = find(name).map_err(Error::usage)?;
        let parts = chosen(&paper, parts)?;
        Ok(Self { paper, parts })
    }

    /// What is to be measured: a plan for each part, or for several that a run of it serves.
    ///
    /// # Errors
    /// A kernel is wrong, or this machine is named as a guest.
    pub fn plans(&self, wanted: &Wanted) -> Result<Vec<PartsPlan>> {
        if wanted.kernels.iter().any(|kernel| kernel == "host") {
            return Err(Error::usage(
                "a paper is measured on this machine or in guests, not in both; leave out --kernel host",
            ));
        }
        let mut plans: Vec<PartsPlan> = Vec::new();
        for &number in &self.parts {
            let seed = wanted.seed.unwrap_or_else(new_seed);
            let plan = planned(&self.paper.parts[number], wanted, seed)?;
            match plans.iter_mut().find(|known| serves(&known.plan, &plan)) {
                Some(known) => known.parts.push(number),
                None => plans.push(PartsPlan { parts: vec![number], plan }),
            }
        }
        Ok(plans)
    }

    /// Measures the plans one after another; `next` hears of each before it begins.
    ///
    /// # Errors
    /// A guest cannot be prepared, the store cannot be written, or a run was interrupted.
    pub fn measure<'s>(
        &self,
        places: &Places,
        store: &'s mut Store,
        plans: &[PartsPlan],
        guests: &GuestWishes,
        listener: &mut dyn Listener,
        mut next: impl FnMut(&Next<'_>),
    ) -> Result<PartRuns<'s>> {
        let mut taken = Vec::new();
        for number in 0..plans.len() {
            next(&self.next(plans, number));
            let PartsPlan { parts, plan } = &plans[number];
            let CarriedOut { run, status } =
                measure::new_run(places, store, plan, guests, listener)?;
            if status != RunStatus::Complete {
                let reason = format!("{run} was interrupted; what was measured is kept");
                let hint = format!(
                    "tactus measure --continue {run}, then tactus reproduce {} --from {run}",
                    self.paper.name
                );
                return Err(Error::new(ErrorKind::Interrupted, reason).with_hint(hint));
            }
            taken.push((parts, run));
        }
        let mut runs = PartRuns::none(&self.paper);
        for (parts, run) in taken {
            runs.put(Subject::stored(store, &run)?, parts);
        }
        Ok(runs)
    }

    /// What is said before a plan begins.
    fn next(&self, plans: &[PartsPlan], number: usize) -> Next<'_> {
        let parts_of = |plans: &[PartsPlan]| plans.iter().map(|plan| plan.parts.len()).sum();
        let name = |number: &usize| self.paper.parts[*number].name.as_str();
        Next {
            parts: plans[number].parts.iter().map(name).collect(),
            done: parts_of(&plans[..number]),
            of: parts_of(plans),
            left: plans[number..].iter().map(|next| next.plan.estimate(&next.plan.turns())).sum(),
        }
    }

    /// Takes up runs of the paper's experiments by name, each for the parts it is of.
    ///
    /// # Errors
    /// There is no such run, or it is of another experiment.
    pub fn taken_up<'s>(&self, store: &'s Store, names: &[String]) -> Result<PartRuns<'s>> {
        let mut runs = PartRuns::none(&self.paper);
        for name in names {
            let subject = Subject::stored(store, &store.find(name)?)?;
            let parts = self.parts_of(&subject)?;
            runs.put(subject, &parts);
        }
        Ok(runs)
    }

    /// The parts whose experiment a run is of.
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
            return Err(Error::usage(format!("{id} is a run of {of}; this takes one of: {known}")));
        }
        Ok(parts)
    }
}

/// The numbers of the parts that were named; all when none was.
fn chosen(paper: &Paper, wanted: &[String]) -> Result<Vec<usize>> {
    let names: Vec<&str> = paper.parts.iter().map(|part| part.name.as_str()).collect();
    if wanted.is_empty() {
        return Ok((0..names.len()).collect());
    }
    let number = |name: &String| {
        names.iter().position(|known| known == name).ok_or_else(|| {
            let hint = tactus_model::text::nearest(name, &names)
                .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            let (paper, known) = (&paper.name, names.join(", "));
            Error::usage(format!("{paper} has no part `{name}`; it has: {known}{hint}"))
        })
    };
    wanted.iter().map(number).collect()
}

/// What is to be measured for a part.
fn planned(part: &Part, wanted: &Wanted, seed: u64) -> Result<Plan> {
    let in_guests = !wanted.kernels.is_empty();
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
        kernels.map_err(|reason| Error::usage(format!("--{reason}")))?;
    }
    experiment.plan(&overrides).or_internal()
}

/// Whether a run of one plan serves the other, which may be of another seed.
fn serves(one: &Plan, other: &Plan) -> bool {
    one.name == other.name && one.rounds == other.rounds && one.cells == other.cells
}

/// Whose settings a plan has.
fn form(part: &Part, plan: &Plan) -> Form {
    let guests = runs::guests(plan);
    let time = guests.first().map(|guest| guest.time);
    let is = |full: bool| {
        let wanted = Wanted {
            full,
            seed: None,
            kernels: guests.iter().map(|guest| guest.kernel.to_string()).collect(),
            guests: GuestWishes { time, ..GuestWishes::default() },
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
    fn one_run_serves_parts_of_the_same_experiment() {
        let count = |kernels: &[&str], parts| plans(kernels, parts).1.len();
        assert_eq!(count(&["debian-cloud"], ["billing", "quanta"]), 1);
        assert_eq!(count(&["debian-cloud"], ["billing", "frames"]), 2);
        assert_eq!(count(&[], ["billing", "quanta"]), 2, "on a host each has its own");
    }

    #[test]
    fn what_comes_next_counts_parts_and_what_is_left() {
        let (study, plans) = plans(&[], ["billing", "quanta"]);
        let [first, second] = [0, 1].map(|number| study.next(&plans, number));
        assert_eq!((&first.parts[..], first.done, first.of), (&["billing"][..], 0, 2));
        assert_eq!((&second.parts[..], second.done, second.of), (&["quanta"][..], 1, 2));
        assert!(first.left > second.left);
    }

    #[test]
    fn a_plan_of_ours_is_known_by_its_form() {
        let (study, plans) = plans(&[], ["billing", "quanta"]);
        let part = &study.paper.parts[study.parts[0]];
        assert_eq!(form(part, &plans[0].plan), Form::Quick);
        let mut own = plans[0].plan.clone();
        own.rounds += 1;
        assert_eq!(form(part, &own), Form::Own);
    }

    #[test]
    fn an_unknown_part_is_refused_with_those_there_are() {
        let error = Study::of("clock-resolution", &["quantum".to_owned()]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(error.to_string().contains("did you mean `quanta`?"), "{error}");
    }
}
