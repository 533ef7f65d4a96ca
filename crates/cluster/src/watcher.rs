//! The thread that watches a job: results in the shared directory, tasks of Slurm.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::Job;
use crate::directory::results;
use crate::news::SCAN;
use crate::notice::{Notice, NoticeListener};
use crate::result_file::{SUFFIX, read};
use crate::submitted::Submitted;

/// How many tasks must fail a turn before it counts as failed: a node that dies may kill its guests first.
const FAILURES: usize = 2;

/// A result file that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    pub(crate) node: String,
    pub(crate) digest: String,
    pub(crate) failed: bool,
}

/// What is known of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TurnState {
    /// Its result is still missing.
    Waiting,
    /// This file has it.
    Found(Found),
    /// It has no result, for this reason.
    Lost(String),
}

/// What the watcher found.
#[derive(Debug, Default)]
pub(crate) struct Index {
    results: HashMap<usize, Vec<Found>>,
    given_up: HashMap<usize, String>,
}

impl Index {
    /// The state of a turn.
    pub(crate) fn state(&self, turn: usize) -> TurnState {
        let results = self.results.get(&turn).map(Vec::as_slice).unwrap_or_default();
        if let Some(conflict) = conflict(results) {
            return TurnState::Lost(conflict);
        }
        if let Some(found) = results.iter().find(|found| !found.failed) {
            return TurnState::Found(found.clone());
        }
        let is_given_up = self.given_up.get(&turn);
        match results.last() {
            Some(failed) if results.len() >= FAILURES || is_given_up.is_some() => {
                TurnState::Found(failed.clone())
            }
            _ => is_given_up.map_or(TurnState::Waiting, |reason| TurnState::Lost(reason.clone())),
        }
    }

    /// The first turn that two tasks proved with different results, with a sentence.
    pub(crate) fn conflict(&self) -> Option<(usize, String)> {
        let conflicts =
            self.results.iter().filter_map(|(turn, results)| Some((*turn, conflict(results)?)));
        conflicts.min_by_key(|(turn, _)| *turn)
    }
}

/// A sentence about two results that differ.
fn conflict(results: &[Found]) -> Option<String> {
    let mut finished = results.iter().filter(|found| !found.failed);
    let first = finished.next()?;
    let other = finished.find(|other| other.digest != first.digest)?;
    Some(format!(
        "nodes {} and {} measured this turn with different results ({:.12} and {:.12}), although the host \
         has no effect in deterministic time; suspect their memory, CPU or emulator",
        first.node, other.node, first.digest, other.digest
    ))
}

/// What the watcher and the target share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    index: Mutex<Index>,
    changed: Condvar,
    pub(crate) stop: AtomicBool,
}

impl Shared {
    pub(crate) fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a turn has a state, or `is_ended`; `None` then.
    pub(crate) fn wait(&self, turn: usize, is_ended: &AtomicBool) -> Option<TurnState> {
        let mut index = self.index();
        loop {
            if is_ended.load(Ordering::SeqCst) || self.stop.load(Ordering::SeqCst) {
                return None;
            }
            match index.state(turn) {
                TurnState::Waiting => {}
                state => return Some(state),
            }
            index =
                self.changed.wait_timeout(index, SCAN).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Wakes all that wait.
    pub(crate) fn wake(&self) {
        self.changed.notify_all();
    }
}

/// Watches a job until it is stopped, then cancels it.
pub(crate) struct Watcher {
    pub(crate) job: Arc<Job>,
    pub(crate) digest: String,
    pub(crate) directory: PathBuf,
    /// The job of Slurm; `None` if a person submits it.
    pub(crate) submitted: Option<Submitted>,
    pub(crate) listener: NoticeListener,
    pub(crate) shared: Arc<Shared>,
    /// The result files that were read.
    pub(crate) files: HashSet<PathBuf>,
}

impl Watcher {
    pub(crate) fn watch(mut self) {
        while !self.shared.stop.load(Ordering::SeqCst) {
            self.scan();
            if !self.is_over() {
                self.look();
            }
            let index = self.shared.index();
            if !self.shared.stop.load(Ordering::SeqCst) {
                drop(self.shared.changed.wait_timeout(index, SCAN));
            }
        }
        // A task that ran twice may have ended late.
        self.scan();
        // The last task has written its last result.
        let is_over = self.is_over();
        if let Some(submitted) = &mut self.submitted {
            submitted.cancel(is_over);
        }
    }

    /// Whether every turn has a state.
    fn is_over(&self) -> bool {
        let index = self.shared.index();
        (0..self.job.turns.len()).all(|turn| index.state(turn) != TurnState::Waiting)
    }

    /// Reads new result files.
    fn scan(&mut self) {
        // A directory that cannot be read now is read again soon.
        for (turn, path) in results(&self.directory, SUFFIX).unwrap_or_default() {
            if !self.files.insert(path.clone()) {
                continue;
            }
            match read(&path, &self.job, &self.digest, turn) {
                Ok(checked) => {
                    let found = Found {
                        path,
                        node: checked.node,
                        digest: checked.digest,
                        failed: checked.failed,
                    };
                    self.shared.index().results.entry(turn).or_default().push(found);
                    self.shared.wake();
                }
                Err(reason) => {
                    let file = path.file_name().unwrap_or_default().to_string_lossy();
                    let file = tactus_model::format::printable(&file);
                    (self.listener)(&Notice::Refused { file, reason });
                }
            }
        }
    }

    /// Asks Slurm for the tasks, and submits lost ones again.
    fn look(&mut self) {
        let submitted = self.submitted.as_mut();
        let Some(look) = submitted.and_then(|it| it.look(&self.shared.stop)) else { return };
        // Results that came since the last scan count.
        self.scan();
        let given_up = {
            let index = self.shared.index();
            let is_finished = |turn| index.state(turn) != TurnState::Waiting;
            let submitted = self.submitted.as_mut();
            submitted.map_or_else(Vec::new, |it| it.submit_again(&look, is_finished))
        };
        for (task, ended) in given_up {
            let reason = format!("task {task} {ended}");
            let turns = self.job.turns_of(task).map(|turn| (turn, reason.clone()));
            self.shared.index().given_up.extend(turns);
            self.shared.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(node: &str, digest: &str, failed: bool) -> Found {
        let (node, digest) = (node.to_owned(), digest.to_owned());
        Found { path: PathBuf::from(&node), node, digest, failed }
    }

    fn index(results: &[Found], given_up: Option<&str>) -> Index {
        let given_up = given_up.map(|reason| (3, reason.to_owned()));
        Index { results: [(3, results.to_vec())].into(), given_up: given_up.into_iter().collect() }
    }

    #[test]
    fn results_of_two_nodes_must_agree_and_both_nodes_are_named() {
        let same = [found("n1", "a", false), found("n2", "a", false)];
        assert_eq!(index(&same, None).state(3), TurnState::Found(same[0].clone()));
        assert_eq!(index(&same, None).conflict(), None);
        let other = [found("n1", "a", false), found("n2", "b", false)];
        let TurnState::Lost(reason) = index(&other, None).state(3) else { panic!() };
        assert!(reason.contains("nodes n1 and n2"), "{reason}");
        assert_eq!(index(&other, None).conflict().map(|(turn, _)| turn), Some(3));
    }

    #[test]
    fn one_failure_does_not_count_while_the_turn_can_be_measured_again() {
        let [first, second] = [found("n1", "a", true), found("n2", "b", true)];
        let state = |results: &[&Found], given_up| {
            let results: Vec<Found> = results.iter().map(|found| (*found).clone()).collect();
            index(&results, given_up).state(3)
        };
        assert_eq!(state(&[], None), TurnState::Waiting);
        assert_eq!(state(&[&first], None), TurnState::Waiting);
        assert_eq!(state(&[&first], Some("lost")), TurnState::Found(first.clone()));
        assert_eq!(state(&[], Some("lost")), TurnState::Lost("lost".to_owned()));
        let finished = found("n3", "c", false);
        let all = [&first, &finished, &second];
        assert_eq!(state(&all, None), TurnState::Found(finished.clone()));
        assert_eq!(state(&[&first, &second], None), TurnState::Found(second.clone()));
    }
}
