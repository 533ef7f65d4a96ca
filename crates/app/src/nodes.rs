//! Measuring a plan on real nodes of a cluster: one run a node.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::{Path, PathBuf};

use tactus_cluster::nodes::{
    Ended, NodeJob, NodePlan, NodeSettings, Taken, check_digest, hand_back,
};
use tactus_cluster::slurm;
use tactus_lab::target::Stopper;
use tactus_model::experiment::Plan;
use tactus_model::facts::NodeFacts;
use tactus_model::format::shell_word;
use tactus_model::run::{RunHeader, RunId, RunStatus};
use tactus_model::time::{Nanos, Realtime};
use tactus_store::{FileRun, Store, run_name};

use crate::cluster::check_shared;
use crate::export::{Exported, Form};
use crate::measure::{GuestSettings, Listener, new_run};
use crate::{Error, ErrorKind, Places, Result};

/// The maximum size of a run that a node hands back, in bytes.
const RUN_BYTES: u64 = 4 << 30;

/// The runs of several nodes.
#[derive(Debug)]
pub struct Measured {
    /// The beginning of the names of all runs.
    pub group: RunId,
    /// The runs, in the order in which nodes finished.
    pub runs: Vec<RunId>,
    /// The nodes without a run, with the reasons.
    pub missing: BTreeMap<String, String>,
    /// The runs that could not be stored.
    pub unstored: Option<Unstored>,
    /// Whether the user stopped it.
    pub is_interrupted: bool,
}

/// Runs of nodes that could not be stored, in files that stay.
#[derive(Debug)]
pub struct Unstored {
    /// The nodes.
    pub nodes: Vec<String>,
    /// The directory of the files.
    pub folder: PathBuf,
    /// Why they could not be stored.
    pub error: Error,
}

impl Unstored {
    /// The error with the place of the files, and the command that imports them; `missing` is the number
    /// of nodes without a run.
    fn into_error(self, missing: usize) -> Error {
        let Self { nodes, folder, error } = self;
        let place = shell_word(&folder.to_string_lossy());
        let others = match missing {
            0 => String::new(),
            more => format!("; nodes without a run: {more}"),
        };
        let (nodes, kind) = (nodes.join(", "), error.kind());
        let files = folder.display();
        error
            .within(
                kind,
                format!("the runs of {nodes} are not stored, but kept in {files}{others}"),
            )
            .with_hint(format!("when the store can be written: tactus import {place}/*.run"))
    }
}

impl Measured {
    /// Requires a stored run of every node.
    ///
    /// # Errors
    /// Runs could not be stored, nodes have no run, or the user stopped it.
    pub fn require_all(self) -> Result<()> {
        if let Some(unstored) = self.unstored {
            return Err(unstored.into_error(self.missing.len()));
        }
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

/// The nodes of a cluster to measure.
#[derive(Clone, Copy, Debug)]
pub struct Nodes<'n> {
    /// Their names, in Slurm's form of a list.
    pub list: &'n str,
    /// A directory that this machine and all nodes see.
    pub shared: &'n Path,
    /// How long to wait for a node that is down or drained.
    pub patience: Nanos,
}

/// Measures a plan on each of these nodes, and imports their runs.
///
/// # Errors
/// The plan has guests, the cluster has no such node, or Slurm refuses a job. Nodes without a run, and runs
/// that cannot be stored, are not an error here.
pub fn measure(
    places: &Places,
    store: &mut Store,
    plan: &Plan,
    nodes: Nodes<'_>,
    listener: &mut dyn Listener,
) -> Result<Measured> {
    if plan.cells.iter().any(|cell| cell.target.guest().is_some()) {
        let reason = "`--nodes` measures the nodes themselves, not guests on them";
        return Err(Error::usage(reason).with_hint("leave out --nodes, or --kernel"));
    }
    let Nodes { list, shared, patience } = nodes;
    check_shared(plan, shared)?;
    let names = slurm::nodes(&places.search_path, list)?;
    let group = run_name(&plan.name, tactus_sys::clock::now::<Realtime>());
    let job = NodePlan::new(plan.clone(), names, group.to_string(), places.command.clone());
    let settings = NodeSettings {
        shared: shared.to_owned(),
        executable: places.executable()?.to_owned(),
        search_path: places.search_path.clone(),
        patience: patience.into(),
    };
    let stopper = Stopper::default();
    listener.begins(&stopper)?;
    let submitted = NodeJob::submit(&job, &settings, listener.cluster())?;
    let (mut runs, mut failure) = (Vec::new(), None);
    let ended = submitted.watch(stopper.requested(), &mut |task, path| {
        let node = &job.nodes[task];
        match import(store, path, &job, node) {
            Ok(run) => {
                runs.push(run.clone());
                Taken::Kept(run.to_string())
            }
            Err(Refusal::File(reason)) => Taken::Refused(reason),
            Err(Refusal::Store(error)) => {
                let reason = error.to_string();
                failure = Some(error);
                Taken::Unstored(reason)
            }
        }
    });
    let is_interrupted = stopper.requested().load(std::sync::atomic::Ordering::SeqCst);
    let Ended { missing, unstored: nodes, folder } = ended;
    let unstored = folder.zip(failure).map(|(folder, error)| Unstored { nodes, folder, error });
    Ok(Measured { group, runs, missing, unstored, is_interrupted })
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
    let opened = tactus_sys::regular_file::open_of_others(path);
    let mut file: File = opened.map_err(|error| refused(&error))?;
    let size = file.metadata().map_err(|error| refused(&error))?.len();
    if size > RUN_BYTES {
        return Err(refused(&format!("it is larger than {} GiB", RUN_BYTES >> 30)));
    }
    check_digest(path, &file).map_err(|reason| refused(&reason))?;
    file.seek(SeekFrom::Start(0)).map_err(|error| refused(&error))?;
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
    let run = Exported::Run { store: &store, run: done.run, with_samples: true };
    hand_back(directory, task, |path| run.write_to(Form::Recording, path))
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
        let results = folder.join("results");
        std::fs::create_dir_all(&results).unwrap();
        hand_back(folder, 0, |path| -> Result<()> {
            store.export(&run, File::create(path).unwrap(), true).unwrap();
            Ok(())
        })
        .unwrap();
        let mut files = std::fs::read_dir(&results).unwrap().map(|file| file.unwrap().path());
        let path = folder.join(files.next().unwrap().file_name().unwrap());
        std::fs::rename(results.join(path.file_name().unwrap()), &path).unwrap();
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
        let altered = folder.path().join("altered");
        std::fs::create_dir(&altered).unwrap();
        let altered = altered.join(path.file_name().unwrap());
        let text = std::fs::read_to_string(&path).unwrap().replacen("\"0\"", "\"1\"", 1);
        std::fs::write(&altered, text).unwrap();
        match import(&mut store, &altered, &job, "n1") {
            Err(Refusal::File(reason)) => assert!(reason.contains("digest"), "{reason}"),
            other => panic!("{other:?}"),
        }
        let run = import(&mut store, &path, &job, "n1").unwrap();
        assert_eq!(run.as_str(), "x-7-n1");
    }

    fn measured(missing: &[(&str, &str)]) -> Measured {
        let text = |(node, why): &(&str, &str)| ((*node).to_owned(), (*why).to_owned());
        Measured {
            group: RunId::new("x-1"),
            runs: vec![RunId::new("x-1-n1")],
            missing: missing.iter().map(text).collect(),
            unstored: None,
            is_interrupted: false,
        }
    }

    #[test]
    fn missing_nodes_are_named_with_the_way_to_measure_them() {
        assert!(measured(&[]).require_all().is_ok());
        let error = measured(&[("n2", "ended")]).require_all().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoResult);
        assert!(error.to_string().contains("1 of 2") && error.to_string().contains("n2: ended"));
        assert!(error.hint().unwrap().contains("--nodes n2"));
        let interrupted = Measured { is_interrupted: true, ..measured(&[("n2", "ended")]) };
        assert_eq!(interrupted.require_all().unwrap_err().kind(), ErrorKind::Interrupted);
    }

    #[test]
    fn runs_that_are_not_stored_are_named_with_the_command_that_imports_them() {
        let unstored = Unstored {
            nodes: vec!["n1".to_owned(), "n3".to_owned()],
            folder: PathBuf::from("/a b/tactus-runs-h-1-0"),
            error: Error::new(ErrorKind::Unavailable, "the disk is full"),
        };
        let measured = Measured { unstored: Some(unstored), ..measured(&[("n2", "ended")]) };
        let error = measured.require_all().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        let text = error.to_string();
        for part in
            ["runs of n1, n3", "in /a b/tactus-runs-h-1-0", "without a run: 1", "disk is full"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(error.hint().unwrap().contains("tactus import '/a b/tactus-runs-h-1-0'/*.run"));
    }
}
