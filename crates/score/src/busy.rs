//! Which task runs, for another thread that watches.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Shows which task runs at present: one that never waits keeps all others from running, and only
/// another thread can see that.
#[derive(Debug, Default)]
pub struct Busy {
    /// Grows when a task begins to run and when it has run; odd while one runs.
    turns: AtomicU64,
    branch: AtomicUsize,
    names: Mutex<Vec<String>>,
}

/// A task that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Its number: as long as it is the same, the task has not waited.
    pub number: u64,
    /// The name of the task's branch.
    pub task: String,
}

impl Busy {
    /// The task that runs; `None` if none does.
    pub fn turn(&self) -> Option<Turn> {
        let number = self.turns.load(Ordering::Acquire);
        let branch = self.branch.load(Ordering::Acquire);
        let task = self.names.lock().ok()?.get(branch)?.clone();
        // Both are of one turn if it still lasts.
        let is_the_same = self.turns.load(Ordering::Acquire) == number;
        (number % 2 == 1 && is_the_same).then_some(Turn { number, task })
    }

    pub(crate) fn named(&self, branch: &str) {
        if let Ok(mut names) = self.names.lock() {
            names.push(branch.to_owned());
        }
    }

    pub(crate) fn begins(&self, branch: usize) {
        self.branch.store(branch, Ordering::Release);
        self.turns.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn ends(&self) {
        self.turns.fetch_add(1, Ordering::AcqRel);
    }
}
