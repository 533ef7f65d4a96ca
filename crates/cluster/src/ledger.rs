//! Which tasks are lost. Pure: decides from what Slurm and the results say.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::time::{Duration, Instant};

/// How often a task is submitted.
pub const ATTEMPTS: u32 = 3;

/// How many looks in a row must miss a task before it counts as lost: a result may become visible a
/// little later than the end of its task.
const MISSES: u32 = 2;

/// The tasks of a job.
#[derive(Clone, Debug)]
pub struct Ledger {
    tasks: Vec<Task>,
}

#[derive(Clone, Debug)]
struct Task {
    turns: Range<usize>,
    attempts: u32,
    misses: u32,
    is_given_up: bool,
}

/// What to do after a look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// Lost tasks to submit again.
    pub again: Vec<usize>,
    /// Tasks that were lost too often.
    pub given_up: Vec<usize>,
}

impl Ledger {
    /// The tasks with these turns, submitted once.
    pub fn new(tasks: impl IntoIterator<Item = Range<usize>>) -> Self {
        let task = |turns| Task { turns, attempts: 1, misses: 0, is_given_up: false };
        Self { tasks: tasks.into_iter().map(task).collect() }
    }

    /// Decides after a look at Slurm, which still has the tasks `active`; `is_finished` says
    /// whether a turn has a result.
    pub fn after_look(
        &mut self,
        active: &BTreeSet<usize>,
        is_finished: impl Fn(usize) -> bool,
    ) -> Decision {
        let mut decision = Decision::default();
        for (number, task) in self.tasks.iter_mut().enumerate() {
            let is_lost = !active.contains(&number) && !task.turns.clone().all(&is_finished);
            task.misses = if is_lost { task.misses + 1 } else { 0 };
            if task.misses < MISSES || task.is_given_up {
                continue;
            }
            if task.attempts < ATTEMPTS {
                task.attempts += 1;
                task.misses = 0;
                decision.again.push(number);
            } else {
                task.is_given_up = true;
                decision.given_up.push(number);
            }
        }
        decision
    }
}

/// How long tasks wait for nodes that cannot run them.
#[derive(Clone, Debug)]
pub struct Patience {
    limit: Duration,
    /// The waiting tasks, and since when they wait.
    since: BTreeMap<usize, Instant>,
}

/// The tasks whose wait begins or is over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Tasks that begin to wait.
    pub begun: Vec<usize>,
    /// Tasks that have waited for longer than the limit, in each look.
    pub over: Vec<usize>,
}

impl Patience {
    /// Tasks may wait for this long.
    pub fn new(limit: Duration) -> Self {
        Self { limit, since: BTreeMap::new() }
    }

    /// The limit.
    pub fn limit(&self) -> Duration {
        self.limit
    }

    /// Decides after a look at Slurm at the time `now`, when the tasks `unable` wait for nodes
    /// that cannot run them. A task whose node could run it in between waits anew.
    pub fn after_look<'t>(
        &mut self,
        now: Instant,
        unable: impl IntoIterator<Item = &'t usize>,
    ) -> Waits {
        let before = std::mem::take(&mut self.since);
        let mut waits = Waits::default();
        for task in unable {
            let since = *before.get(task).unwrap_or(&now);
            self.since.insert(*task, since);
            if !before.contains_key(task) {
                waits.begun.push(*task);
            }
            if now.saturating_duration_since(since) >= self.limit {
                waits.over.push(*task);
            }
        }
        waits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_waits_for_its_node_up_to_the_limit_and_anew_after_the_node_was_there() {
        let mut patience = Patience::new(Duration::from_secs(10));
        let start = Instant::now();
        let mut look = |seconds, unable: &[usize]| {
            let waits = patience.after_look(start + Duration::from_secs(seconds), unable);
            (waits.begun, waits.over)
        };
        assert_eq!(look(0, &[]), (vec![], vec![]));
        assert_eq!(look(1, &[2]), (vec![2], vec![]));
        assert_eq!(look(5, &[2, 3]), (vec![3], vec![]));
        assert_eq!(look(11, &[2, 3]), (vec![], vec![2]));
        assert_eq!(look(12, &[2]), (vec![], vec![2]));
        assert_eq!(look(15, &[2, 3]), (vec![3], vec![2]), "its node was there at 12");
        assert_eq!(look(25, &[3]), (vec![], vec![3]));
        let mut none = Patience::new(Duration::ZERO);
        assert_eq!(none.after_look(start, &[7]).over, [7], "without patience, at once");
    }

    #[test]
    fn a_task_without_results_is_submitted_again_a_limited_number_of_times() {
        let mut ledger = Ledger::new([0..2, 2..4, 4..5]);
        let active = BTreeSet::from([1]);
        let mut look = || ledger.after_look(&active, |turn| turn == 4 || turn == 0);
        let nothing = Decision::default();
        let again = Decision { again: vec![0], given_up: vec![] };
        for expected in [&nothing, &again, &nothing, &again, &nothing] {
            assert_eq!(look(), *expected);
        }
        assert_eq!(look(), Decision { again: vec![], given_up: vec![0] });
        assert_eq!(look(), nothing, "it is given up once");
    }

    #[test]
    fn a_task_that_slurm_has_again_or_that_finished_is_not_lost() {
        let mut ledger = Ledger::new(std::iter::once(0..1));
        let (none, one) = (BTreeSet::new(), BTreeSet::from([0]));
        for _ in 0..10 {
            assert_eq!(ledger.after_look(&none, |_| false), Decision::default());
            assert_eq!(ledger.after_look(&one, |_| false), Decision::default());
        }
        for _ in 0..10 {
            assert_eq!(ledger.after_look(&none, |_| true), Decision::default());
        }
    }
}
