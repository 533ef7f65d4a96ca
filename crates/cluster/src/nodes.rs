//! A job with one task a node: each measures the whole plan there, and hands back its run.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use tactus_model::experiment::Plan;
use tactus_model::format::printable;
use tactus_wire::{MESSAGE_LIMIT, parse};

use crate::ClusterError;
use crate::cluster::remove_stale;
use crate::directory::{JOB, JobDirectory, RESULTS, last_line};
use crate::error::of_file;
use crate::ledger::{ATTEMPTS, Ledger};
use crate::news::{self, NEWS, News, SCAN};
use crate::notice::{Notice, NoticeListener};
use crate::scheduler::Scheduler;
use crate::slurm::Slurm;

/// The format of the job's file.
const FORMAT: &str = "tactus-nodes-1";

/// The end of the names of runs.
const SUFFIX: &str = ".run";

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

/// The file into which an attempt of a task writes its run, complete or not at all.
pub fn run_file(directory: &Path, task: usize) -> PathBuf {
    let process = std::process::id();
    directory.join(RESULTS).join(format!("{task}.{process}{SUFFIX}"))
}

/// What became of the file of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It is in the store, by this name.
    Kept(String),
    /// It is not accepted, for this reason.
    Refused(String),
    /// It cannot be stored, so the job ends.
    Failed,
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
}

/// A submitted job. Dropping it cancels what has not ended, and removes its directory.
pub struct NodeJob {
    nodes: Vec<String>,
    scheduler: Box<dyn Scheduler>,
    listener: NoticeListener,
    is_cancelled: bool,
    is_finished: Vec<bool>,
    directory: JobDirectory,
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
        remove_stale(&shared, &settings.search_path, true);
        let directory = JobDirectory::create(&shared)?;
        directory.prepare("node", &settings.executable)?;
        directory.write_job(plan)?;
        let slurm = Slurm::new(&settings.search_path, directory.path(), 1)?;
        let nodes = plan.nodes.clone();
        let mut job = Self {
            scheduler: Box::new(slurm.on_nodes(nodes.clone())),
            is_finished: vec![false; nodes.len()],
            nodes,
            listener,
            is_cancelled: false,
            directory,
        };
        let tasks: Vec<usize> = (0..job.nodes.len()).collect();
        // Dropping the job cancels the tasks that were accepted before one was refused.
        job.scheduler.submit(&tasks)?;
        let turns = plan.plan.turns().len();
        (job.listener)(&Notice::Submitted { job: job.scheduler.job(), tasks: tasks.len(), turns });
        Ok(job)
    }

    /// Watches the job until every node has finished, or `stop` is set, and passes each file of a run to
    /// `take` with the number of its task. Returns the nodes without a run, with the reasons.
    pub fn watch(
        &mut self,
        stop: &AtomicBool,
        take: &mut dyn FnMut(usize, &Path) -> Taken,
    ) -> BTreeMap<String, String> {
        let began = Instant::now();
        let mut seen = Seen {
            ledger: Ledger::new((0..self.nodes.len()).map(|task| task..task + 1)),
            files: HashSet::new(),
            news: News::default(),
            progress: (String::new(), began),
            lost: BTreeMap::new(),
            has_failed: false,
        };
        let mut next_look = began;
        while !stop.load(Ordering::SeqCst) && !self.is_over(&seen) {
            self.scan(&mut seen, take);
            if Instant::now() >= next_look && !self.is_over(&seen) {
                self.look(&mut seen, stop, take);
                next_look = Instant::now() + news::pause(began.elapsed());
            }
            if !self.is_over(&seen) {
                thread::sleep(SCAN);
            }
        }
        // A node may have finished meanwhile.
        self.scan(&mut seen, take);
        self.cancel();
        let mut lost = seen.lost;
        for (task, is_finished) in self.is_finished.iter().enumerate() {
            if !is_finished {
                lost.entry(task).or_insert_with(|| "cancelled before it finished".to_owned());
            }
        }
        lost.into_iter().map(|(task, reason)| (self.nodes[task].clone(), reason)).collect()
    }

    /// Whether every node has finished or was given up, or nothing can be stored.
    fn is_over(&self, seen: &Seen) -> bool {
        let mut tasks = self.is_finished.iter().enumerate();
        seen.has_failed
            || tasks.all(|(task, is_finished)| *is_finished || seen.lost.contains_key(&task))
    }

    /// Takes new files of runs.
    fn scan(&mut self, seen: &mut Seen, take: &mut dyn FnMut(usize, &Path) -> Taken) {
        for (task, path) in list(self.directory.path()) {
            let is_wanted = self.is_finished.get(task).is_some_and(|is_finished| !is_finished);
            if seen.has_failed || !is_wanted || !seen.files.insert(path.clone()) {
                continue;
            }
            match take(task, &path) {
                Taken::Kept(run) => {
                    self.is_finished[task] = true;
                    let done = self.is_finished.iter().filter(|is_finished| **is_finished).count();
                    (self.listener)(&Notice::Measured {
                        node: self.nodes[task].clone(),
                        run,
                        done,
                        of: self.nodes.len(),
                    });
                }
                Taken::Refused(reason) => {
                    let file = path.file_name().unwrap_or_default().to_string_lossy();
                    (self.listener)(&Notice::Refused { file: printable(&file), reason });
                }
                Taken::Failed => seen.has_failed = true,
            }
        }
    }

    /// Asks the scheduler for the tasks, and submits lost ones again.
    fn look(
        &mut self,
        seen: &mut Seen,
        stop: &AtomicBool,
        take: &mut dyn FnMut(usize, &Path) -> Taken,
    ) {
        let look = match self.scheduler.look(stop) {
            Ok(Some(look)) => look,
            Ok(None) => return,
            Err(_) if stop.load(Ordering::SeqCst) => return,
            Err(error) => return seen.news.is_silent(&error, &self.listener),
        };
        seen.news.show(&look, &*self.scheduler, &self.listener);
        self.show_progress(look.running.keys().copied(), seen);
        // Results that came since the last scan count.
        self.scan(seen, take);
        let active: BTreeSet<usize> =
            look.running.keys().chain(look.waiting.keys()).copied().collect();
        let decision = seen.ledger.after_look(&active, |task| self.is_finished[task]);
        if !decision.again.is_empty() {
            let directory = self.directory.path();
            let last = decision.again.iter().find_map(|task| last_line(directory, *task));
            match self.scheduler.submit(&decision.again) {
                Ok(()) => (self.listener)(&Notice::Again {
                    tasks: decision.again.len(),
                    job: self.scheduler.job(),
                    last,
                }),
                Err(error) => seen.news.is_silent(&error, &self.listener),
            }
        }
        for task in decision.given_up {
            let reason = match last_line(self.directory.path(), task) {
                Some(line) => {
                    format!("ended {ATTEMPTS} times without a run; last line of its log: {line}")
                }
                None => format!(
                    "ended {ATTEMPTS} times without a run and without a log; does it see the directory {}?",
                    self.directory.path().display()
                ),
            };
            seen.lost.insert(task, reason);
        }
    }

    /// Shows the last lines of running nodes, if they changed.
    fn show_progress(&self, running: impl Iterator<Item = usize>, seen: &mut Seen) {
        let (shown, when) = &seen.progress;
        if when.elapsed() < NEWS {
            return;
        }
        let known = running.filter_map(|task| {
            let line = last_line(self.directory.path(), task)?;
            Some(format!("{}: {line}", self.nodes.get(task)?))
        });
        let nodes = known.take(SHOWN).collect::<Vec<_>>().join("; ");
        if !nodes.is_empty() && nodes != *shown {
            (self.listener)(&Notice::Progress { nodes: nodes.clone() });
            seen.progress = (nodes, Instant::now());
        }
    }

    /// Cancels what is left, once.
    fn cancel(&mut self) {
        if !std::mem::replace(&mut self.is_cancelled, true) {
            let is_over = self.is_finished.iter().all(|is_finished| *is_finished);
            news::cancel(&mut *self.scheduler, is_over, &self.listener);
        }
    }
}

impl Drop for NodeJob {
    fn drop(&mut self) {
        self.cancel();
    }
}

/// What the watcher has seen and said.
struct Seen {
    ledger: Ledger,
    files: HashSet<PathBuf>,
    news: News,
    /// What was last shown of running nodes, and when.
    progress: (String, Instant),
    /// The tasks that were given up, with the reasons.
    lost: BTreeMap<usize, String>,
    /// Whether a run could not be stored.
    has_failed: bool,
}

/// The files of runs in the directory of a job, with the numbers of their tasks.
fn list(directory: &Path) -> Vec<(usize, PathBuf)> {
    // A directory that cannot be read now is read again soon.
    let entries = fs::read_dir(directory.join(RESULTS)).into_iter().flatten().flatten();
    let found = entries.filter_map(|entry| {
        let name = entry.file_name();
        let task = name.to_str()?.strip_suffix(SUFFIX)?.split('.').next()?.parse().ok()?;
        Some((task, entry.path()))
    });
    let mut found: Vec<_> = found.collect();
    found.sort();
    found
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
        assert_eq!(list(directory.path()), []);
        fs::create_dir(directory.path().join(RESULTS)).unwrap();
        let run = run_file(directory.path(), 2);
        fs::write(&run, "").unwrap();
        for name in [".tactus-1-0", "x.run", "3.turn"] {
            fs::write(directory.path().join(RESULTS).join(name), "").unwrap();
        }
        assert_eq!(list(directory.path()), [(2, run)]);
    }
}
