//! Which tasks are lost. Pure: decides from what the scheduler and the results say.

use std::collections::BTreeSet;
use std::ops::Range;

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

    /// Decides after a look at the scheduler, which still has the tasks `active`; `is_finished` says
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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_task_that_the_scheduler_has_again_or_that_finished_is_not_lost() {
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
