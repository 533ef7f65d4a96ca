//! Slurm: a job array, by the programs `sbatch`, `squeue` and `scancel`.
//!
//! A person's own choices, such as a partition or an account, come from the variables of sbatch(1),
//! e.g. `SBATCH_PARTITION`.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use tactus_model::format::printable;
use tactus_model::text::nearest;

use crate::ClusterError;
use crate::directory::{LOGS, SCRIPT, TASKS_LOG};
use crate::job::TASKS_MAX;
use crate::look::Look;
use crate::program::{find, run};

/// The most characters of a reason or a name that are kept.
const WORD: usize = 200;

/// How far a job that was cancelled has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Nothing is left of it.
    Over,
    /// The engine is ending its last tasks.
    Completing,
    /// Tasks of it wait or run.
    Active,
}

/// A job array of Slurm.
#[derive(Debug)]
pub struct Slurm {
    sbatch: PathBuf,
    squeue: PathBuf,
    sinfo: PathBuf,
    scancel: PathBuf,
    /// The job's directory.
    directory: PathBuf,
    /// The name of the job, which no other job has.
    name: String,
    cpus: usize,
    /// The node of each task, which has it alone; empty if any node may run any task.
    nodes: Vec<String>,
    /// The numbers of its arrays: the first, and those with lost tasks.
    arrays: Vec<String>,
}

impl Slurm {
    /// Finds the programs of Slurm for a job in `directory`, whose tasks get `cpus` CPUs each.
    ///
    /// # Errors
    /// They are not installed.
    pub fn new(search_path: &OsStr, directory: &Path, cpus: usize) -> Result<Self, ClusterError> {
        let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self {
            sbatch: find(search_path, "sbatch")?,
            squeue: find(search_path, "squeue")?,
            sinfo: find(search_path, "sinfo")?,
            scancel: find(search_path, "scancel")?,
            directory: directory.to_owned(),
            name,
            cpus,
            nodes: Vec::new(),
            arrays: Vec::new(),
        })
    }

    /// The same job with a task for each of these nodes, which runs there and has the node alone.
    #[must_use]
    pub fn on_nodes(self, nodes: Vec<String>) -> Self {
        Self { nodes, ..self }
    }

    /// The job in a person's words, e.g. `slurm job 12`.
    pub fn job(&self) -> String {
        format!("slurm job {}", self.arrays.last().map_or("", String::as_str))
    }

    /// Whether Slurm has accepted a task.
    pub fn has_tasks(&self) -> bool {
        !self.arrays.is_empty()
    }

    /// Submits tasks, by their numbers.
    ///
    /// # Errors
    /// Slurm refuses them.
    pub fn submit(&mut self, tasks: &[usize]) -> Result<(), ClusterError> {
        if self.nodes.is_empty() {
            return self.submit_array(tasks, vec![format!("--cpus-per-task={}", self.cpus).into()]);
        }
        for task in tasks {
            let node = format!("--nodelist={}", self.nodes[*task]);
            let place = vec!["--nodes=1".into(), "--exclusive".into(), node.into()];
            self.submit_array(&[*task], place)?;
        }
        Ok(())
    }

    /// The tasks that wait or run. Ends early if `stop` is set.
    ///
    /// # Errors
    /// Slurm does not answer.
    pub fn look(&self, stop: &AtomicBool) -> Result<Look, ClusterError> {
        let mut look = self.squeue(Some(stop))?;
        look.unable = self.unable(&look.waiting, stop)?;
        Ok(look)
    }

    /// Cancels all tasks; returns how far they have ended.
    ///
    /// # Errors
    /// Slurm does not answer.
    pub fn cancel(&self) -> Result<Ending, ClusterError> {
        let arguments = [format!("--name={}", self.name)].map(OsString::from);
        run("scancel", &self.scancel, &arguments, None)?;
        let look = self.squeue(None)?;
        Ok(match look {
            Look { running, waiting, .. } if !running.is_empty() || !waiting.is_empty() => {
                Ending::Active
            }
            Look { completing: 0, .. } => Ending::Over,
            Look { .. } => Ending::Completing,
        })
    }

    /// The command that releases a task which waits for this reason, if a person must do it.
    pub fn release(&self, reason: &str) -> Option<String> {
        let is_held = reason.starts_with("JobHeld") || reason.contains("requeued held");
        is_held.then(|| format!("scontrol release {}", self.arrays.join(" ")))
    }

    /// Submits tasks with one array.
    fn submit_array(&mut self, tasks: &[usize], place: Vec<OsString>) -> Result<(), ClusterError> {
        let said = run("sbatch", &self.sbatch, &self.options(tasks, place), None)?;
        // NUMBER or NUMBER;CLUSTER
        let number = said.trim().split(';').next().unwrap_or_default();
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            let said = format!("it printed no number of a job: {}", printable(said.trim()));
            return Err(ClusterError::Refused { program: "sbatch", said });
        }
        self.arrays.push(number.to_owned());
        Ok(())
    }

    fn options(&self, tasks: &[usize], place: Vec<OsString>) -> Vec<OsString> {
        let with = |option: &str, path: &Path| {
            let mut text = OsString::from(option);
            text.push(path);
            text
        };
        let mut options = vec![
            "--parsable".into(),
            format!("--job-name={}", self.name).into(),
            format!("--array={}", ranges(tasks)).into(),
            "--requeue".into(),
            "--open-mode=append".into(),
            "--ntasks=1".into(),
            "--input=/dev/null".into(),
            with("--chdir=", &self.directory),
            with("--output=", &self.directory.join(LOGS).join(TASKS_LOG)),
        ];
        options.extend(place);
        options.push(self.directory.join(SCRIPT).into());
        options
    }

    /// The tasks that wait or run, by the name of the job.
    fn squeue(&self, stop: Option<&AtomicBool>) -> Result<Look, ClusterError> {
        let arguments = [
            "--noheader".to_owned(),
            "--array".to_owned(),
            format!("--name={}", self.name),
            "--format=%K|%T|%N|%r".to_owned(),
        ]
        .map(OsString::from);
        Ok(read(&run("squeue", &self.squeue, &arguments, stop)?))
    }

    /// Those of these tasks whose node cannot run them, with its state.
    fn unable(
        &self,
        tasks: &BTreeMap<usize, String>,
        stop: &AtomicBool,
    ) -> Result<BTreeMap<usize, String>, ClusterError> {
        let node = |task: &usize| self.nodes.get(*task).map(String::as_str);
        let nodes = tasks.keys().filter_map(node).collect::<Vec<_>>().join(",");
        if nodes.is_empty() {
            return Ok(BTreeMap::new());
        }
        let nodes = format!("--nodes={nodes}");
        let arguments = ["--noheader", "--Node", &nodes, "--format=%N|%T"].map(OsString::from);
        let said = run("sinfo", &self.sinfo, &arguments, Some(stop))?;
        let states = unable(&said);
        let state = |task: &usize| Some((*task, states.get(node(task)?)?.clone()));
        Ok(tasks.keys().filter_map(state).collect())
    }
}

/// The nodes of a list such as `n1,n[4-7]`, each of which the cluster has.
///
/// # Errors
/// The programs of Slurm are not installed or fail, the text is not a list, or the cluster has no such
/// node.
pub fn nodes(search_path: &OsStr, list: &str) -> Result<Vec<String>, ClusterError> {
    let shown = |text: &str| -> String { printable(text).chars().take(WORD).collect() };
    let not_nodes = || ClusterError::NotNodes(shown(list));
    if list.trim().is_empty() || list.starts_with('-') {
        return Err(not_nodes());
    }
    let scontrol = find(search_path, "scontrol")?;
    let arguments = ["show", "hostnames", list].map(OsString::from);
    let named = run("scontrol", &scontrol, &arguments, None)?;
    // It passes on the brackets that it cannot resolve: `x[1-` becomes `x]`.
    if named.contains(['[', ']']) {
        return Err(not_nodes());
    }
    let sinfo = find(search_path, "sinfo")?;
    let arguments = ["--noheader", "--Node", "--format=%N"].map(OsString::from);
    let said = run("sinfo", &sinfo, &arguments, None)?;
    let known: Vec<&str> = said.lines().map(str::trim).filter(|name| !name.is_empty()).collect();
    let mut nodes: Vec<String> = Vec::new();
    for node in named.lines().map(str::trim).filter(|name| !name.is_empty()) {
        if !known.contains(&node) {
            let near = nearest(node, &known).map(str::to_owned);
            return Err(ClusterError::UnknownNode { node: shown(node), near });
        }
        if !nodes.iter().any(|other| other == node) {
            nodes.push(node.to_owned());
        }
    }
    match nodes.len() {
        0 => Err(not_nodes()),
        1..=TASKS_MAX => Ok(nodes),
        all => Err(ClusterError::TooManyNodes { all, most: TASKS_MAX }),
    }
}

/// Reads what `squeue` prints: a line `task|STATE|node|reason` for each task.
fn read(text: &str) -> Look {
    let mut look = Look::default();
    for line in text.lines() {
        let mut fields = line.splitn(4, '|').map(str::trim);
        let (Some(task), Some(state), Some(node), Some(reason)) =
            (fields.next(), fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let Ok(task) = task.parse() else { continue };
        let word = |text: &str| -> String { printable(text).chars().take(WORD).collect() };
        match state {
            // Its script has ended, so its results are written.
            "COMPLETING" => look.completing += 1,
            "RUNNING" | "CONFIGURING" | "STAGE_OUT" | "SIGNALING" => {
                look.running.insert(task, word(node));
            }
            "PENDING" => {
                look.waiting.insert(task, word(reason));
            }
            state => {
                look.waiting.insert(task, word(state));
            }
        }
    }
    look
}

/// Reads what `sinfo` prints, a line `node|state` for each node and partition: the nodes on which no task
/// starts until someone repairs or resumes them. Busy ones are not among them, nor those that Slurm powers up.
fn unable(text: &str) -> BTreeMap<String, String> {
    const STATES: [&str; 6] = ["down", "drain", "fail", "maint", "unknown", "not_responding"];
    let nodes = text.lines().filter_map(|line| {
        let (node, state) = line.trim().split_once('|')?;
        // A star says that the node does not respond.
        let is_unable = state.ends_with('*') || STATES.iter().any(|it| state.starts_with(it));
        let state: String = printable(state).chars().take(WORD).collect();
        is_unable.then(|| (node.to_owned(), state))
    });
    nodes.collect()
}

/// Numbers as Slurm writes a set of tasks: `0-2,5`.
pub(crate) fn ranges(numbers: &[usize]) -> String {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let runs = sorted.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [first, .., last] => format!("{first}-{last}"),
        [one] => one.to_string(),
        [] => String::new(),
    });
    runs.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_tasks_are_short() {
        assert_eq!(ranges(&[5, 0, 1, 2, 9, 8]), "0-2,5,8-9");
        assert_eq!(ranges(&[3]), "3");
        assert_eq!(ranges(&[]), "");
    }

    #[test]
    fn the_states_of_squeue_are_read() {
        let text = "0|RUNNING|n1|None\n1|COMPLETING|n2|None\n2|PENDING||Resources\n\
                    3|PENDING||launch failed requeued held\n4|SUSPENDED|n3|None\nx|RUNNING|n1|None\n5|R\n";
        let look = read(text);
        assert_eq!(look.running, [(0, "n1".to_owned())].into());
        assert_eq!(look.completing, 1);
        let waiting = [(2, "Resources"), (3, "launch failed requeued held"), (4, "SUSPENDED")];
        assert_eq!(look.waiting, waiting.map(|(task, reason)| (task, reason.to_owned())).into());
        assert_eq!(read("").waiting_text(), "");
    }

    #[test]
    fn nodes_that_cannot_run_tasks_differ_from_busy_ones() {
        let text = "n1|idle\nn1|idle\nn2|down*\nn3|draining\nn4|allocated\nn5|idle*\nn6|idle~\n\
                    n7|mixed\nn8|drained\nn9|unknown\nn10|reserved\nx\n";
        let expected = [
            ("n2", "down*"),
            ("n3", "draining"),
            ("n5", "idle*"),
            ("n8", "drained"),
            ("n9", "unknown"),
        ];
        let expected = expected.map(|(node, state)| (node.to_owned(), state.to_owned()));
        assert_eq!(unable(text), expected.into());
    }
}
