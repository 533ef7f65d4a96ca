//! Machines that measured the same experiment, ranked by a figure.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use tactus_judge::history::Figure;
use tactus_judge::machines::{MachineResult, Ranking};
use tactus_model::address::{Address, find_cell};
use tactus_model::run::{Run, RunHeader, RunId};
use tactus_model::text::nearest;
use tactus_model::time::{Instant, Realtime};
use tactus_report::site::short;
use tactus_store::Store;

use crate::runs::Runs;
use crate::{Error, Result};

/// The most runs of an experiment that are searched for machines, the last added first.
const RUNS_MAX: usize = 10_000;

/// What machines are ranked by.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The figure.
    pub figure: Figure,
    /// The cell by its number, its label or a part of its label; `None` for the worst cell of each
    /// machine.
    pub cell: Option<String>,
}

/// Where a run was measured.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Machine {
    /// On a node of a cluster.
    Node(String),
    /// On the machine with this digest.
    Digest(String),
}

impl Machine {
    /// The machine of a run; `None` for imported runs of other machines.
    fn of(header: &RunHeader) -> Option<Self> {
        let facts = &header.facts_before;
        let node = facts.node.as_ref().map(|node| Self::Node(node.name.clone()));
        node.or_else(|| facts.machine_id.clone().map(Self::Digest))
    }

    fn name(&self) -> String {
        match self {
            Self::Node(name) => name.clone(),
            Self::Digest(digest) => short(digest),
        }
    }
}

/// Ranks the machines of these runs, or without any, the last runs of `experiment` on each machine; by
/// default, the experiment of the last run.
///
/// # Errors
/// There is no such run, experiment or cell, or two runs are of the same machine.
pub fn ranking(
    runs: &Runs<'_>,
    addresses: &[Address],
    experiment: Option<&str>,
    asked: &Asked,
) -> Result<Ranking> {
    if addresses.is_empty() {
        return of_experiment(runs.store()?, experiment, asked);
    }
    let mut results = Vec::new();
    let mut seen: BTreeMap<Machine, RunId> = BTreeMap::new();
    let mut experiment = None;
    // Without a store, files have no runs before them.
    let mut known: BTreeMap<String, Vec<Known>> = BTreeMap::new();
    for address in addresses {
        let subject = runs.find(address)?;
        if subject.cell().is_some() {
            address.whole_run()?;
        }
        let run = subject.into_run();
        let machine = Machine::of(&run.header);
        if let Some(machine) = &machine
            && let Some(other) = seen.insert(machine.clone(), run.header.id.clone())
        {
            let (name, id) = (machine.name(), &run.header.id);
            if other == *id {
                continue;
            }
            return Err(Error::usage(format!("{other} and {id} are both of the machine {name}"))
                .with_hint(format!(
                    "name one of them; compare both with: tactus compare {other} {id}"
                )));
        }
        let name = run.header.plan.name.clone();
        let store = runs.store()?;
        let known = match known.entry(name.clone()) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(runs_of(store, &name)?),
        };
        let before = machine.as_ref().and_then(|machine| {
            let earlier = known.iter().filter(|known| {
                known.machine == *machine
                    && known.created < run.header.created
                    && known.id != run.header.id
            });
            earlier.max_by_key(|known| known.created)
        });
        let before = before.map(|known| store.load(&known.id)).transpose()?;
        // A machine that is unknown has the name of its run.
        let machine = machine.map_or_else(|| run.header.id.to_string(), |machine| machine.name());
        results.push(result(machine, &run, before.as_ref(), asked)?);
        experiment.get_or_insert(name);
    }
    Ok(Ranking::of(experiment.unwrap_or_default(), asked.figure, asked.cell.is_none(), results))
}

/// Ranks the machines by their last runs of an experiment.
fn of_experiment(store: &Store, experiment: Option<&str>, asked: &Asked) -> Result<Ranking> {
    let experiment = match experiment {
        Some(name) => name.to_owned(),
        None => store.header(&store.find("last")?)?.plan.name,
    };
    let known = runs_of(store, &experiment)?;
    if known.is_empty() {
        return Err(none_of(store, &experiment)?);
    }
    let mut machines: BTreeMap<&Machine, Vec<&Known>> = BTreeMap::new();
    known.iter().for_each(|known| machines.entry(&known.machine).or_default().push(known));
    let mut results = Vec::new();
    for (machine, mut runs) in machines {
        runs.sort_by_key(|known| known.created);
        let [.., last] = &runs[..] else { continue };
        let run = store.load(&last.id)?;
        let before = match &runs[..] {
            [.., before, _] => Some(store.load(&before.id)?),
            _ => None,
        };
        results.push(result(machine.name(), &run, before.as_ref(), asked)?);
    }
    Ok(Ranking::of(experiment, asked.figure, asked.cell.is_none(), results))
}

fn result(
    machine: String,
    run: &Run,
    before: Option<&Run>,
    asked: &Asked,
) -> Result<MachineResult> {
    let cell = asked.cell.as_deref().map(|cell| find_cell(run, cell)).transpose();
    let cell = cell.map_err(Error::usage)?;
    Ok(MachineResult::of(machine, run, before, asked.figure, cell))
}

/// A run of a known machine.
struct Known {
    machine: Machine,
    id: RunId,
    created: Instant<Realtime>,
}

/// The runs of an experiment that have ended, on known machines.
fn runs_of(store: &Store, experiment: &str) -> Result<Vec<Known>> {
    let runs = store.list()?;
    let runs = runs.iter().filter(|run| run.name == experiment && run.status.has_ended());
    let mut known = Vec::new();
    for run in runs.take(RUNS_MAX) {
        let machine = Machine::of(&store.header(&run.id)?);
        known.extend(machine.map(|machine| Known {
            machine,
            id: run.id.clone(),
            created: run.created,
        }));
    }
    Ok(known)
}

/// The error for an experiment without runs of known machines.
fn none_of(store: &Store, experiment: &str) -> Result<Error> {
    let runs = store.list()?;
    let mut names: Vec<&str> = runs.iter().map(|run| run.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    if names.contains(&experiment) {
        let reason = format!("no run of `{experiment}` that has ended is of a known machine");
        let hint = "name the runs, e.g. tactus machines RUN RUN; imported runs do not contain their machine";
        return Ok(Error::usage(reason).with_hint(hint));
    }
    let error = Error::usage(format!("there is no run of an experiment `{experiment}`"));
    let near = nearest(experiment, &names).map(|near| format!("did you mean `{near}`?"));
    Ok(error.with_hint(near.unwrap_or_else(|| "`tactus list` shows all runs".to_owned())))
}

#[cfg(test)]
mod tests {
    use tactus_model::facts::{MachineFacts, NodeFacts};

    use super::*;

    #[test]
    fn a_node_is_its_machine_and_an_import_of_another_machine_has_none() {
        let experiment = tactus_model::experiment::Experiment::parse("name = \"x\"").unwrap();
        let mut store = Store::open_in_memory().unwrap();
        let moment = Instant::from_nanos(1_795_260_835_000_000_000);
        let mut machine_of = |node: Option<&str>, digest: Option<&str>| {
            let node =
                node.map(|name| NodeFacts { name: name.to_owned(), group: "x-1".to_owned() });
            let facts = MachineFacts {
                node,
                machine_id: digest.map(str::to_owned),
                ..MachineFacts::unknown(moment)
            };
            let plan = experiment.plan(&tactus_model::experiment::Overrides::default()).unwrap();
            let run = store.create_run(&plan, &facts, "0", moment, None).unwrap();
            (run.to_string(), Machine::of(&store.header(&run).unwrap()).map(|it| it.name()))
        };
        let name = |text: &str| Some(text.to_owned());
        assert_eq!(machine_of(Some("n1"), Some("0123456789")), ("x-1-n1".to_owned(), name("n1")));
        assert_eq!(machine_of(None, Some("0123456789")).1, name("01234567"));
        assert_eq!(machine_of(None, None).1, None);
    }

    #[test]
    fn an_unknown_experiment_is_refused_with_the_nearest() {
        let experiment = tactus_model::experiment::Experiment::parse("name = \"quick\"").unwrap();
        let plan = experiment.plan(&tactus_model::experiment::Overrides::default()).unwrap();
        let mut store = Store::open_in_memory().unwrap();
        let moment = Instant::from_nanos(1);
        store.create_run(&plan, &MachineFacts::unknown(moment), "0", moment, None).unwrap();
        let asked = Asked { figure: Figure::P99, cell: None };
        let error = of_experiment(&store, Some("quik"), &asked).unwrap_err();
        assert_eq!(error.hint(), Some("did you mean `quick`?"));
        let error = of_experiment(&store, None, &asked).unwrap_err();
        assert!(error.to_string().contains("of a known machine"), "{error}");
    }
}
