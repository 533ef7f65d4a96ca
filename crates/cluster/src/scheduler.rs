//! What a site's engine does for a job.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use crate::ClusterError;

/// The state of a job's tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// The running tasks with their nodes.
    pub running: BTreeMap<usize, String>,
    /// The waiting tasks with the reasons.
    pub waiting: BTreeMap<usize, String>,
    /// The waiting tasks that only one node may run, and which it cannot run now, with the state of the
    /// node, e.g. `down`.
    pub unable: BTreeMap<usize, String>,
    /// The number of tasks whose processes have ended, or are being ended, and whose nodes are not free
    /// yet. On a node that vanished, that takes minutes.
    pub completing: usize,
}

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

/// A site's engine, with one job of ours.
pub trait Scheduler: Send {
    /// The job in a person's words, e.g. `slurm job 12`.
    fn job(&self) -> String;

    /// Whether it has accepted a task.
    fn has_tasks(&self) -> bool;

    /// Submits tasks, by their numbers.
    ///
    /// # Errors
    /// The engine refuses them.
    fn submit(&mut self, tasks: &[usize]) -> Result<(), ClusterError>;

    /// The tasks that wait or run; `None` if this engine is not asked. Ends early if `stop` is set.
    ///
    /// # Errors
    /// The engine does not answer.
    fn look(&mut self, stop: &AtomicBool) -> Result<Option<Look>, ClusterError>;

    /// Cancels all tasks; returns how far they have ended.
    ///
    /// # Errors
    /// The engine does not answer.
    fn cancel(&mut self) -> Result<Ending, ClusterError>;

    /// The command that releases a task which waits for this reason, if a person must do it.
    fn release(&self, reason: &str) -> Option<String>;
}

impl Look {
    /// The running tasks in words, e.g. `2 tasks run on n1, n3`; empty if none runs.
    pub fn running_text(&self) -> String {
        const NAMES: usize = 8;
        let mut nodes: Vec<&str> = self.running.values().map(String::as_str).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let more = if nodes.len() > NAMES { ", …" } else { "" };
        nodes.truncate(NAMES);
        match self.running.len() {
            0 => String::new(),
            1 => format!("1 task runs on {}", nodes.join(", ")),
            count => format!("{count} tasks run on {}{more}", nodes.join(", ")),
        }
    }

    /// The waiting tasks in words, e.g. `3 wait (Resources)`; empty if none waits.
    pub fn waiting_text(&self) -> String {
        let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
        self.waiting.values().for_each(|reason| *reasons.entry(reason).or_default() += 1);
        let text = |(reason, count): (&str, usize)| match count {
            1 => format!("1 waits ({reason})"),
            count => format!("{count} wait ({reason})"),
        };
        reasons.into_iter().map(text).collect::<Vec<_>>().join("; ")
    }
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
    fn states_are_sentences() {
        let text = |text: &str| text.to_owned();
        let look = Look {
            running: [(0, text("n2")), (3, text("n1")), (4, text("n1"))].into(),
            waiting: [(1, text("Resources")), (2, text("JobHeldUser")), (5, text("Resources"))]
                .into(),
            ..Look::default()
        };
        assert_eq!(look.running_text(), "3 tasks run on n1, n2");
        assert_eq!(look.waiting_text(), "1 waits (JobHeldUser); 2 wait (Resources)");
        assert_eq!(Look::default().running_text() + &Look::default().waiting_text(), "");
    }
}
