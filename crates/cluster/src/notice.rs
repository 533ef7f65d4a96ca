//! What a person learns of a job while it runs.

use std::fmt;
use std::sync::Arc;

use tactus_model::format::counted;
use tactus_model::time::Nanos;

/// News of a job on a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The job is submitted.
    Submitted {
        /// The job in Slurm's words, e.g. `slurm job 12`.
        job: String,
        /// The number of its tasks.
        tasks: usize,
        /// The number of its turns.
        turns: usize,
    },
    /// A manifest is written, which a person applies.
    Manifest {
        /// Its file.
        file: String,
    },
    /// The tasks of the job changed their states.
    State {
        /// The job.
        job: String,
        /// The number of running tasks, and their nodes.
        running: String,
        /// The waiting tasks with Slurm's reasons.
        waiting: String,
        /// The command that releases a held job.
        fix: Option<String>,
    },
    /// Slurm does not answer.
    Silent {
        /// What its program printed.
        said: String,
    },
    /// Tasks ended without results and are submitted again.
    Again {
        /// The number of tasks.
        tasks: usize,
        /// The job of the new tasks.
        job: String,
        /// The last line of a task's log, if it has one.
        last: Option<String>,
    },
    /// A node handed back its run, which is now in the store.
    Measured {
        /// The node.
        node: String,
        /// The run.
        run: String,
        /// The number of nodes that have finished.
        done: usize,
        /// The number of all nodes.
        of: usize,
    },
    /// A node cannot run its task now.
    Unable {
        /// The node.
        node: String,
        /// Its state in Slurm's words.
        state: String,
        /// How long it is waited for.
        limit: Nanos,
    },
    /// The run of a node cannot be stored.
    Unstored {
        /// The node.
        node: String,
        /// The reason.
        reason: String,
    },
    /// Runs of nodes that a killed process did not import are kept.
    Kept {
        /// The directory of their files.
        folder: String,
    },
    /// How far running nodes are.
    Progress {
        /// The last line of each node, in words.
        nodes: String,
    },
    /// A result file is not accepted.
    Refused {
        /// Its name.
        file: String,
        /// The reason.
        reason: String,
    },
    /// The job is cancelled, but some of its tasks have not ended yet.
    StillEnding {
        /// The job.
        job: String,
    },
}

/// Receives the news of a job, from the thread that watches it.
pub type NoticeListener = Arc<dyn Fn(&Notice) + Send + Sync>;

impl Notice {
    /// Whether it is shown in any case: something is wrong, or a person has to act.
    pub fn is_warning(&self) -> bool {
        match self {
            Self::Submitted { .. }
            | Self::State { fix: None, .. }
            | Self::Measured { .. }
            | Self::Progress { .. } => false,
            Self::Manifest { .. }
            | Self::State { fix: Some(_), .. }
            | Self::Silent { .. }
            | Self::Again { .. }
            | Self::Unable { .. }
            | Self::Unstored { .. }
            | Self::Kept { .. }
            | Self::Refused { .. }
            | Self::StillEnding { .. } => true,
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Submitted { job, tasks, turns } => {
                let (tasks, turns) =
                    (counted(*tasks as u64, "task"), counted(*turns as u64, "turn"));
                write!(f, "submitted {job}: {tasks}, {turns}")
            }
            Self::Manifest { file } => write!(
                f,
                "start the job: kubectl apply -f {file}; afterwards, remove it: kubectl delete -f {file}"
            ),
            Self::State { job, running, waiting, fix } => {
                let states = [running, waiting].map(String::as_str);
                let states: Vec<&str> =
                    states.into_iter().filter(|state| !state.is_empty()).collect();
                write!(f, "{job}: {}", states.join("; "))?;
                fix.as_ref().map_or(Ok(()), |fix| write!(f, "\n  fix: {fix}"))
            }
            Self::Silent { said } => {
                write!(f, "warning: Slurm does not answer: {said}. Waiting for results")
            }
            Self::Again { tasks, job, last } => {
                let tasks = counted(*tasks as u64, "task");
                write!(f, "warning: {tasks} ended without a result. Submitted again as {job}")?;
                last.as_ref().map_or(Ok(()), |last| write!(f, "\n  last line of a log: {last}"))
            }
            Self::Measured { node, run, done, of } => {
                write!(f, "{node} finished ({done} of {of} nodes): {run}")
            }
            Self::Unable { node, state, limit } => write!(
                f,
                "warning: node {node} cannot run its task: its state is {state}. If it stays so for {limit}, \
                 the others finish without it"
            ),
            Self::Unstored { node, reason } => write!(
                f,
                "warning: the run of {node} is not stored yet: {reason}. Its file is kept, and the others go on"
            ),
            Self::Kept { folder } => write!(
                f,
                "warning: a killed command left runs that are not imported. fix: tactus import {folder}/*.run"
            ),
            Self::Progress { nodes } => f.write_str(nodes),
            Self::Refused { file, reason } => {
                write!(f, "warning: the result {file} is refused: {reason}")
            }
            Self::StillEnding { job } => {
                write!(f, "warning: {job} is cancelled, but tasks of it have not ended yet")
            }
        }
    }
}
