//! The state of a job's tasks.

use std::collections::BTreeMap;

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

/// What the reason `BeginTime` means: the earliest start of a task has not come.
const BEGIN_TIME: &str = ": Slurm delays the start of tasks that it requeued";

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
        let text = |(reason, count): (&str, usize)| {
            let verb = if count == 1 { "waits" } else { "wait" };
            let meaning = if reason == "BeginTime" { BEGIN_TIME } else { "" };
            format!("{count} {verb} ({reason}{meaning})")
        };
        reasons.into_iter().map(text).collect::<Vec<_>>().join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let again = Look { waiting: [(1, text("BeginTime"))].into(), ..Look::default() };
        assert!(again.waiting_text().starts_with("1 waits (BeginTime: Slurm delays"));
        assert_eq!(Look::default().running_text() + &Look::default().waiting_text(), "");
    }
}
