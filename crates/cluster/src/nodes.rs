//! A job with one task a node: each measures the whole plan there, and hands back its run.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tactus_model::digest::sha256_of;
use tactus_model::experiment::Plan;
use tactus_model::format::printable;
use tactus_model::time::{Nanos, Realtime};
use tactus_wire::{MESSAGE_LIMIT, parse};

use crate::ClusterError;
use crate::cluster::remove_stale;
use crate::directory::{JOB, JobDirectory, RESULTS, RUN, last_line, results};
use crate::error::of_file;
use crate::ledger::Patience;
use crate::news::{NEWS, SCAN};
use crate::notice::{Notice, NoticeListener};
use crate::slurm::Slurm;
use crate::submitted::Submitted;

/// The format of the job's file.
const FORMAT: &str = "tactus-nodes-1";

/// The most nodes whose progress is shown in a line.
const SHOWN: usize = 8;

/// What the nodes measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodePlan {
    /// The format of the file.
    format: String,
    /// The version of Tactus that wrote it.
    version: String,
    /// The plan.
    pub plan: Plan,
    /// The node of each task.
    pub nodes: Vec<String>,
    /// The beginning of the names of all runs.
    pub group: String,
    /// The command that began them.
    pub command: Option<String>,
}

impl NodePlan {
    /// A plan for nodes.
    pub fn new(plan: Plan, nodes: Vec<String>, group: String, command: Option<String>) -> Self {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Self { format: FORMAT.to_owned(), version, plan, nodes, group, command }
    }

    /// Reads the plan in the directory of a job, for the task that runs on `node`.
    ///
    /// # Errors
    /// The file cannot be read, or the task is one of another node.
    pub fn read(directory: &Path, task: usize, node: &str) -> Result<Self, ClusterError> {
        let file = directory.join(JOB);
        let text =
            tactus_sys::regular_file::read(&file, MESSAGE_LIMIT).map_err(of_file("read", &file))?;
        let not_a_job = |reason: String| ClusterError::NotAJob { path: file.clone(), reason };
        let job: Self = parse(&text).map_err(|error| not_a_job(error.to_string()))?;
        if job.format != FORMAT || job.version != env!("CARGO_PKG_VERSION") {
            return Err(not_a_job(format!("its format is not {FORMAT} of this version")));
        }
        match job.nodes.get(task) {
            Some(planned) if planned == node => Ok(job),
            Some(planned) => Err(not_a_job(format!("task {task} is for {planned}, not {node}"))),
            None => Err(not_a_job(format!("it has no task {task}"))),
        }
    }
}

/// Hands back the run of a task, which `write` writes to the path it gets. Its file appears complete or
/// not at all, under a name with its digest.
///
/// # Errors
/// Those of `write`, or the file cannot be moved.
pub fn hand_back<E: From<ClusterError>>(
    directory: &Path,
    task: usize,
    write: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<(), E> {
    // A directory of its own: on a network filesystem, a node may not see that another holds a file in a
    // shared one, and take it for one that was left.
    let now = tactus_sys::clock::now::<Realtime>().as_nanos();
    let results = directory.join(RESULTS);
    let place = results.join(format!(".{task}.{}-{now}", std::process::id()));
    fs::create_dir(&place).map_err(of_file("create", &place))?;
    let file = place.join("run");
    let handed = write(&file).and_then(|()| {
        let digest = File::open(&file).and_then(sha256_of).map_err(of_file("read", &file))?;
        let to = results.join(format!("{task}.{digest}{RUN}"));
        Ok(fs::rename(&file, &to).map_err(of_file("write", &to))?)
    });
    // What stays has no name of a run, and goes with the directory of the job.
    let _ = fs::remove_dir_all(&place);
    handed
}

/// Requires that the content of a file that was [handed back](hand_back) has the digest in its name.
///
/// # Errors
/// A sentence that says why the file is not accepted.
pub fn check_digest(path: &Path, content: impl Read) -> Result<(), String> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let named = name.strip_suffix(RUN).and_then(|name| name.split_once('.'));
    let digest = sha256_of(content).map_err(|error| error.to_string())?;
    match named {
        Some((_, named)) if named == digest => Ok(()),
        _ => Err("the digest of its content is not the one in its name".to_owned()),
    }
}

/// What became of the file of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It is in the store, by this name.
    Kept(String),
    /// It is not accepted, for this reason.
    Refused(String),
    /// It is a run of the job, but cannot be stored now, for this reason.
    Unstored(String),
}

/// Where a job for nodes runs.
#[derive(Clone, Debug)]
pub struct NodeSettings {
    /// The directory that all nodes see.
    pub shared: PathBuf,
    /// The program `tactus`, which tasks execute.
    pub executable: PathBuf,
    /// The directories of programs, in the form of `PATH`.
    pub search_path: OsString,
    /// How long to wait for a node that cannot run its task.
    pub patience: Duration,
}

/// What became of the nodes of a job that has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// The nodes without a run, with the reasons.
    pub missing: BTreeMap<String, String>,
    /// The nodes whose runs could not be stored.
    pub unstored: Vec<String>,
    /// The directory with the files of those runs, which stays.
    pub folder: Option<PathBuf>,
}

/// Takes the file of a run of the task with this number.
pub type Take<'t> = dyn FnMut(usize, &Path) -> Taken + 't;

/// A submitted job. Dropping it cancels what has not ended, and removes its directory.
pub struct NodeJob {
    nodes: Vec<String>,
    submitted: Submitted,
    patience: Patience,
    tasks: Vec<TaskState>,
    /// The files that were looked at.
    files: HashSet<PathBuf>,
    /// What was last shown of running nodes, and when.
    progress: (String, Instant),
    // After the job was cancelled.
    directory: JobDirectory,
}

/// What is known of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
enum TaskState {
    /// It is waited for.
    Open,
    /// Its run is in the store.
    Stored,
    /// Its run is in this file, and could not be stored.
    Unstored(PathBuf),
    /// It was given up, for this reason.
    Lost(String),
}

impl TaskState {
    fn is_measured(&self) -> bool {
        matches!(self, Self::Stored | Self::Unstored(_))
    }
}

impl NodeJob {
    /// Submits a task for each node of a plan.
    ///
    /// # Errors
    /// The shared directory cannot be written, or Slurm refuses a task.
    pub fn submit(
        plan: &NodePlan,
        settings: &NodeSettings,
        listener: NoticeListener,
    ) -> Result<Self, ClusterError> {
        let shared =
            fs::canonicalize(&settings.shared).map_err(of_file("open", &settings.shared))?;
        remove_stale(&shared, &settings.search_path, true, &listener);
        let directory = JobDirectory::create(&shared)?;
        directory.prepare("node", &settings.executable)?;
        directory.write_job(plan)?;
        let nodes = plan.nodes.clone();
        let slurm = Slurm::new(&settings.search_path, directory.path(), 1)?;
        let slurm = slurm.on_nodes(nodes.clone());
        // Each task is one unit of work, as a turn is in a job of turns.
        let tasks = (0..nodes.len()).map(|task| task..task + 1).collect();
        let turns = plan.plan.turns().len();
        Ok(Self {
            submitted: Submitted::new(slurm, listener, directory.path(), tasks, turns)?,
            patience: Patience::new(settings.patience),
            tasks: vec![TaskState::Open; nodes.len()],
            nodes,
            files: HashSet::new(),
            progress: (String::new(), Instant::now()),
            directory,
        })
    }

    /// Watches the job until every node has finished or was given up, or `stop` is set, and passes each file
    /// of a run to `take`.
    pub fn watch(mut self, stop: &AtomicBool, take: &mut Take<'_>) -> Ended {
        while !stop.load(Ordering::SeqCst) && !self.is_over() {
            self.scan(take);
            if !self.is_over() {
                self.look(stop, take);
            }
            if !self.is_over() {
                thread::sleep(SCAN);
            }
        }
        self.cancel();
        // A node may have finished meanwhile.
        self.scan(take);
        self.store_again(take);
        self.ended()
    }

    /// Whether nothing is waited for.
    fn is_over(&self) -> bool {
        self.tasks.iter().all(|task| *task != TaskState::Open)
    }

    /// Takes new files of runs, and removes those that are not needed any more.
    fn scan(&mut self, take: &mut Take<'_>) {
        // A directory that cannot be read now is read again soon.
        for (task, path) in results(self.directory.path(), RUN).unwrap_or_default() {
            let Some(state) = self.tasks.get(task) else { continue };
            if !self.files.insert(path.clone()) {
                continue;
            }
            if !state.is_measured() {
                match take(task, &path) {
                    Taken::Kept(run) => self.is_stored(task, run),
                    Taken::Refused(reason) => {
                        let file = path.file_name().unwrap_or_default().to_string_lossy();
                        self.submitted.show(&Notice::Refused { file: printable(&file), reason });
                    }
                    Taken::Unstored(reason) => {
                        let node = self.nodes[task].clone();
                        self.submitted.show(&Notice::Unstored { node, reason });
                        self.tasks[task] = TaskState::Unstored(path);
                        continue;
                    }
                }
            }
            // A file that stays is looked at once only.
            let _ = fs::remove_file(&path);
        }
    }

    fn is_stored(&mut self, task: usize, run: String) {
        self.tasks[task] = TaskState::Stored;
        let done = self.tasks.iter().filter(|task| **task == TaskState::Stored).count();
        let (node, of) = (self.nodes[task].clone(), self.nodes.len());
        self.submitted.show(&Notice::Measured { node, run, done, of });
    }

    /// Tries once more to store what could not be stored.
    fn store_again(&mut self, take: &mut Take<'_>) {
        for task in 0..self.tasks.len() {
            let TaskState::Unstored(path) = &self.tasks[task] else { continue };
            let path = path.clone();
            if let Taken::Kept(run) = take(task, &path) {
                self.is_stored(task, run);
                // What is in the store needs no file.
                let _ = fs::remove_file(&path);
            }
        }
    }

    /// Asks Slurm for the tasks, submits lost ones again, and gives up those whose node is not
    /// there any more.
    fn look(&mut self, stop: &AtomicBool, take: &mut Take<'_>) {
        let Some(look) = self.submitted.look(stop) else { return };
        self.show_progress(look.running.keys().copied());
        // Results that came since the last scan count.
        self.scan(take);
        let tasks = &self.tasks;
        let is_finished = |task: usize| tasks[task] != TaskState::Open;
        for (task, reason) in self.submitted.submit_again(&look, is_finished) {
            self.tasks[task] = TaskState::Lost(reason);
        }
        let open =
            look.unable.iter().filter(|(task, _)| self.tasks.get(**task) == Some(&TaskState::Open));
        let unable: BTreeMap<usize, &String> = open.map(|(task, state)| (*task, state)).collect();
        let waits = self.patience.after_look(Instant::now(), unable.keys());
        let limit = Nanos::from(self.patience.limit());
        for task in waits.begun {
            let (node, state) = (self.nodes[task].clone(), unable[&task].clone());
            self.submitted.show(&Notice::Unable { node, state, limit });
        }
        for task in waits.over {
            let (node, state) = (&self.nodes[task], unable[&task]);
            self.tasks[task] = TaskState::Lost(format!(
                "its state in Slurm was {state} for {limit}; the reason: scontrol show node {node}"
            ));
        }
    }

    /// Shows the last lines of running nodes, if they changed.
    fn show_progress(&mut self, running: impl Iterator<Item = usize>) {
        let (shown, when) = &self.progress;
        if when.elapsed() < NEWS {
            return;
        }
        let known = running.filter_map(|task| {
            let line = last_line(self.directory.path(), task)?;
            Some(format!("{}: {line}", self.nodes.get(task)?))
        });
        let nodes = known.take(SHOWN).collect::<Vec<_>>().join("; ");
        if !nodes.is_empty() && nodes != *shown {
            self.submitted.show(&Notice::Progress { nodes: nodes.clone() });
            self.progress = (nodes, Instant::now());
        }
    }

    /// Cancels what is left, once.
    fn cancel(&mut self) {
        let is_over = self.tasks.iter().all(TaskState::is_measured);
        self.submitted.cancel(is_over);
    }

    /// What became of the nodes. The files of runs that could not be stored move to a directory that stays.
    fn ended(&mut self) -> Ended {
        let mut ended = Ended::default();
        for (node, task) in self.nodes.iter().zip(&self.tasks) {
            let reason = match task {
                TaskState::Stored => continue,
                TaskState::Unstored(_) => {
                    ended.unstored.push(node.clone());
                    continue;
                }
                TaskState::Open => "cancelled before it finished".to_owned(),
                TaskState::Lost(reason) => reason.clone(),
            };
            ended.missing.insert(node.clone(), reason);
        }
        if !ended.unstored.is_empty() {
            ended.folder = self.directory.keep_runs();
        }
        ended
    }
}

impl Drop for NodeJob {
    fn drop(&mut self) {
        self.cancel();
    }
}

#[cfg(test)]
mod tests {
    use tactus_model::experiment::{Experiment, Overrides};

    use super::*;

    #[test]
    fn a_task_reads_the_plan_of_its_own_node_only() {
        let directory = tempfile::tempdir().unwrap();
        let plan = Experiment::parse("name = \"x\"").unwrap().plan(&Overrides::default()).unwrap();
        let nodes = ["n1", "n2"].map(str::to_owned).to_vec();
        let job = NodePlan::new(plan, nodes, "x-1".to_owned(), None);
        fs::write(directory.path().join(JOB), serde_json::to_vec(&job).unwrap()).unwrap();
        let read = |task, node| NodePlan::read(directory.path(), task, node);
        assert_eq!(read(1, "n2").unwrap(), job);
        for (task, node, reason) in [(1, "n1", "is for n2, not n1"), (2, "n1", "has no task 2")] {
            let error = read(task, node).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
        let other = NodePlan { format: "tactus-nodes-0".to_owned(), ..job };
        fs::write(directory.path().join(JOB), serde_json::to_vec(&other).unwrap()).unwrap();
        assert!(read(1, "n2").unwrap_err().to_string().contains("its format is not"));
    }

    #[test]
    fn only_complete_files_of_runs_are_listed() {
        let directory = tempfile::tempdir().unwrap();
        assert!(results(directory.path(), RUN).is_err());
        fs::create_dir(directory.path().join(RESULTS)).unwrap();
        hand_back(directory.path(), 2, |path| {
            fs::write(path, "a run").map_err(of_file("write", path))
        })
        .unwrap();
        let failed = hand_back(directory.path(), 1, |path| {
            fs::write(path, "a part").unwrap();
            Err(ClusterError::Ended)
        });
        assert!(matches!(failed, Err(ClusterError::Ended)));
        for name in [".tactus-1-0", "x.run", "3.turn"] {
            fs::write(directory.path().join(RESULTS).join(name), "").unwrap();
        }
        let found = results(directory.path(), RUN).unwrap();
        let [(2, run)] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(check_digest(run, "a run".as_bytes()), Ok(()));
        assert!(check_digest(run, "a rum".as_bytes()).unwrap_err().contains("digest"));
        assert!(check_digest(Path::new("2.run"), "a run".as_bytes()).is_err());
        let names = fs::read_dir(directory.path().join(RESULTS)).unwrap().count();
        assert_eq!(names, 4, "the run and what was planted");
    }
}
