//! Measuring a plan on real nodes of a cluster: one run a node.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::{Path, PathBuf};

use tactus_cluster::nodes::{NodeJob, NodePlan, NodeSettings, Taken, run_file};
use tactus_cluster::slurm;
use tactus_lab::target::Stopper;
use tactus_model::experiment::Plan;
use tactus_model::facts::NodeFacts;
use tactus_model::run::{RunHeader, RunId, RunStatus};
use tactus_model::time::Realtime;
use tactus_store::{FileRun, Store, run_name};

use crate::export::{Exported, Form};
use crate::files;
use crate::measure::{GuestSettings, Listener, new_run};
use crate::site::check_shared;
use crate::{Error, ErrorKind, Places, Result};

/// The maximum size of a run that a node hands back, in bytes.
const RUN_BYTES: u64 = 4 << 30;

/// The runs of several nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    /// The beginning of the names of all runs.
    pub group: RunId,
    /// The runs, in the order in which nodes finished.
    pub runs: Vec<RunId>,
    /// The nodes without a run, with the reasons.
    pub missing: BTreeMap<String, String>,
    /// Whether the user stopped it.
    pub is_interrupted: bool,
}

impl Measured {
    /// Requires a complete run of every node.
    ///
    /// # Errors
    /// Nodes have no run, or the user stopped it.
    pub fn require_all(&self) -> Result<()> {
        if self.missing.is_empty() {
            return Ok(());
        }
        let missing: Vec<&str> = self.missing.keys().map(String::as_str).collect();
        let all = self.missing.len() + self.runs.len();
        let reason = format!(
            "{} of {all} nodes gave no run; the runs of the others are kept",
            missing.len()
        );
        let kind = if self.is_interrupted { ErrorKind::Interrupted } else { ErrorKind::NoResult };
        let first = self.missing.iter().next().map(|(node, why)| format!("{node}: {why}"));
        let reasons = if self.is_interrupted {
            String::new()
        } else {
            first.map_or_else(String::new, |first| format!("; {first}"))
        };
        Err(Error::new(kind, format!("{reason}{reasons}")).with_hint(format!(
            "measure the rest with the same options and --nodes {}",
            missing.join(",")
        )))
    }
}

/// Measures a plan on each node of a list in Slurm's form, and imports their runs.
///
/// # Errors
/// The plan has guests, the cluster has no such node, Slurm refuses a job, or the store cannot be
/// written. Nodes without a run are not an error here.
pub fn measure(
    places: &Places,
    store: &mut Store,
    plan: &Plan,
    list: &str,
    shared: &Path,
    listener: &mut dyn Listener,
) -> Result<Measured> {
    if plan.cells.iter().any(|cell| cell.target.guest().is_some()) {
        let reason = "`--nodes` measures the nodes themselves, not guests on them";
        return Err(Error::usage(reason).with_hint("leave out --nodes, or --kernel"));
    }
    check_shared(plan, shared)?;
    let nodes = slurm::nodes(&places.search_path, list)?;
    let group = run_name(&plan.name, tactus_sys::clock::now::<Realtime>());
    let job = NodePlan::new(plan.clone(), nodes, group.to_string(), places.command.clone());
    let settings = NodeSettings {
        shared: shared.to_owned(),
        executable: places.executable()?.to_owned(),
        search_path: places.search_path.clone(),
    };
    let stopper = Stopper::default();
    listener.begins(&stopper)?;
    let mut submitted = NodeJob::submit(&job, &settings, listener.site())?;
    let (mut runs, mut failure) = (Vec::new(), None);
    let missing = submitted.watch(stopper.requested(), &mut |task, path| {
        let node = &job.nodes[task];
        match import(store, path, &job, node) {
            Ok(run) => {
                runs.push(run.clone());
                Taken::Kept(run.to_string())
            }
            Err(Refusal::File(reason)) => Taken::Refused(reason),
            Err(Refusal::Store(error)) => {
                failure = Some(error);
                Taken::Failed
            }
        }
    });
    let is_interrupted = stopper.requested().load(std::sync::atomic::Ordering::SeqCst);
    match failure {
        Some(error) => Err(error),
        None => Ok(Measured { group, runs, missing, is_interrupted }),
    }
}

/// Why a run is not in the store.
#[derive(Debug)]
enum Refusal {
    /// The file is not accepted.
    File(String),
    /// The store cannot be written.
    Store(Error),
}

/// Imports the run in a file, if it is one of this plan on this node.
fn import(
    store: &mut Store,
    path: &Path,
    job: &NodePlan,
    node: &str,
) -> std::result::Result<RunId, Refusal> {
    let refused = |error: &dyn std::fmt::Display| Refusal::File(error.to_string());
    let is_file = std::fs::symlink_metadata(path).is_ok_and(|there| there.is_file());
    if !is_file {
        return Err(refused(&"it is not a regular file"));
    }
    let mut file: File = files::open(path).map_err(|error| refused(&error))?;
    let size = file.metadata().map_err(|error| refused(&error))?.len();
    if size > RUN_BYTES {
        return Err(refused(&format!("it is larger than {} GiB", RUN_BYTES >> 30)));
    }
    let run = FileRun::read(&file).map_err(|error| refused(&error))?.run;
    check(&run.header, job, node).map_err(|reason| refused(&reason))?;
    file.seek(SeekFrom::Start(0)).map_err(|error| refused(&error))?;
    // It has just been read, so an error is one of the store.
    store.import(&file).map_err(|error| Refusal::Store(error.into()))
}

/// Requires that a run is one of this plan on this node.
fn check(header: &RunHeader, job: &NodePlan, node: &str) -> std::result::Result<(), String> {
    let of = header.facts_before.node.as_ref();
    let is_of_node = of.is_some_and(|of| of.name == node && of.group == job.group);
    if !is_of_node {
        return Err(format!("it is not of node {node} in this job"));
    }
    if !header.id.as_str().starts_with(job.group.as_str()) {
        return Err(format!("its name {} does not begin with {}", header.id, job.group));
    }
    if header.plan != job.plan {
        return Err("it is a run of another plan".to_owned());
    }
    if !header.status.has_ended() {
        return Err(format!("it is {}", header.status.word()));
    }
    Ok(())
}

/// Measures the plan of a job on this node, and writes the run into the directory of the job, complete
/// or not at all.
///
/// # Errors
/// The job cannot be read or is for another node, those of [`new_run`], or the run cannot be
/// written. A failed turn is part of the run.
pub fn run_node(
    places: &Places,
    directory: &Path,
    task: usize,
    node: &str,
    listener: &mut dyn Listener,
) -> Result<()> {
    let NodePlan { plan, group, command, .. } = NodePlan::read(directory, task, node)?;
    let node = Some(NodeFacts { name: node.to_owned(), group });
    let places = Places { node, command, ..places.clone() };
    // A database on a network filesystem could not be locked by all of them.
    let mut store = Store::open_in_memory()?;
    let done = new_run(&places, &mut store, &plan, &GuestSettings::default(), listener)?;
    if done.status != RunStatus::Complete && done.status != RunStatus::Partial {
        return Err(Error::new(
            ErrorKind::Interrupted,
            "the task was ended before its run was complete",
        ));
    }
    let path: PathBuf = run_file(directory, task);
    let run = Exported::Run { store: &store, run: done.run, with_samples: true };
    run.write_to(Form::Recording, &path)
}

#[cfg(test)]
mod tests {
    use tactus_model::experiment::{Experiment, Overrides};
    use tactus_model::facts::MachineFacts;
    use tactus_model::time::Instant;

    use super::*;

    fn plan(seed: u64) -> Plan {
        let overrides = Overrides { seed: Some(seed), ..Overrides::default() };
        Experiment::parse("name = \"x\"").unwrap().plan(&overrides).unwrap()
    }

    /// The file of a run without results.
    fn exported(folder: &Path, plan: &Plan, node: Option<NodeFacts>, status: RunStatus) -> PathBuf {
        let mut store = Store::open_in_memory().unwrap();
        let moment = Instant::from_nanos(1_795_260_835_000_000_000);
        let facts = MachineFacts { node, ..MachineFacts::unknown(moment) };
        let run = store.create_run(plan, &facts, "0", moment, None).unwrap();
        store.finish_run(&run, status, &facts).unwrap();
        let path = folder.join("0.1.run");
        store.export(&run, File::create(&path).unwrap(), true).unwrap();
        path
    }

    #[test]
    fn a_run_is_imported_only_if_it_is_of_this_plan_and_node() {
        let folder = tempfile::tempdir().unwrap();
        let job = NodePlan::new(plan(1), vec!["n1".to_owned()], "x-7".to_owned(), None);
        let node = |name: &str, group: &str| {
            Some(NodeFacts { name: name.to_owned(), group: group.to_owned() })
        };
        let mut store = Store::open_in_memory().unwrap();
        let mut refused = |plan: &Plan, node, status| {
            let path = exported(folder.path(), plan, node, status);
            match import(&mut store, &path, &job, "n1") {
                Err(Refusal::File(reason)) => reason,
                other => panic!("{other:?}"),
            }
        };
        let complete = RunStatus::Complete;
        let [ours, other] = [plan(1), plan(2)];
        assert_eq!(refused(&other, node("n1", "x-7"), complete), "it is a run of another plan");
        for of in [node("n2", "x-7"), node("n1", "x-6"), None] {
            assert_eq!(refused(&ours, of, complete), "it is not of node n1 in this job");
        }
        let interrupted = refused(&ours, node("n1", "x-7"), RunStatus::Interrupted);
        assert_eq!(interrupted, "it is interrupted");
        std::fs::write(folder.path().join("damaged"), "{\"format\":\"tactus-run\"").unwrap();
        let damaged = import(&mut store, &folder.path().join("damaged"), &job, "n1");
        assert!(matches!(damaged, Err(Refusal::File(_))), "{damaged:?}");
        assert!(store.list().unwrap().is_empty());

        let path = exported(folder.path(), &ours, node("n1", "x-7"), complete);
        let run = import(&mut store, &path, &job, "n1").unwrap();
        assert_eq!(run.as_str(), "x-7-n1");
    }

    #[test]
    fn missing_nodes_are_named_with_the_way_to_measure_them() {
        let mut measured = Measured {
            group: RunId::new("x-1"),
            runs: vec![RunId::new("x-1-n1")],
            missing: BTreeMap::new(),
            is_interrupted: false,
        };
        assert!(measured.require_all().is_ok());
        measured.missing.insert("n2".to_owned(), "ended".to_owned());
        let error = measured.require_all().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoResult);
        assert!(error.to_string().contains("1 of 2") && error.to_string().contains("n2: ended"));
        assert!(error.hint().unwrap().contains("--nodes n2"));
        measured.is_interrupted = true;
        assert_eq!(measured.require_all().unwrap_err().kind(), ErrorKind::Interrupted);
    }
}
