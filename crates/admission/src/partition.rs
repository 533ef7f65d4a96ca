//! Tasks assigned to CPUs, each of which then serves its own tasks only.
//!
//! Tasks are taken in the order of decreasing density. Each goes to a CPU where an exact test of
//! one CPU still passes (D. S. Johnson, *Fast algorithms for bin packing*, JCSS 8, 1974; for tasks,
//! S. K. Dhall and C. L. Liu, *On a real-time scheduling problem*, Operations Research 26(1), 1978).
//! A heuristic that fails does not show that no assignment exists.

use serde::Serialize;

use crate::fixed_priority::{all_meet, ranks};
use crate::{Plan, Policy, Steps, Task, demand, kernel};

/// How the CPU of a task is chosen among those where it fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Heuristic {
    /// The first CPU.
    FirstFit,
    /// The CPU with the highest utilisation.
    BestFit,
    /// The CPU with the lowest utilisation.
    WorstFit,
}

impl Heuristic {
    /// All, in the order in which they are tried.
    pub const ALL: [Self; 3] = [Self::FirstFit, Self::BestFit, Self::WorstFit];
}

/// The result of a heuristic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assignment {
    /// The CPU of each task.
    Complete(Vec<usize>),
    /// A task fits on no CPU beside those assigned before it.
    NoRoom {
        /// The index of the task.
        task: usize,
        /// Whether a test ran out of steps, so that the task may fit nevertheless.
        is_undecided: bool,
    },
}

/// Assigns the tasks of a plan to its CPUs.
pub fn assign(plan: &Plan, heuristic: Heuristic, steps: &mut Steps) -> Assignment {
    let tasks = &plan.tasks;
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    let density = |index: &usize| tasks[*index].density().as_f64();
    order.sort_by(|a, b| density(b).total_cmp(&density(a)));
    let mut cpus: Vec<Cpu> = vec![Cpu::default(); plan.cpus.into()];
    let mut assigned = vec![0; tasks.len()];
    for index in order {
        let mut is_undecided = false;
        let mut choice: Vec<usize> = (0..cpus.len()).collect();
        match heuristic {
            Heuristic::FirstFit => {}
            Heuristic::BestFit => choice.sort_by(|a, b| cpus[*b].load.total_cmp(&cpus[*a].load)),
            Heuristic::WorstFit => choice.sort_by(|a, b| cpus[*a].load.total_cmp(&cpus[*b].load)),
        }
        // Empty CPUs are alike, and one answer is enough.
        let mut empty_was_tried = false;
        let found = choice.into_iter().find(|cpu| {
            if cpus[*cpu].tasks.is_empty() && std::mem::replace(&mut empty_was_tried, true) {
                return false;
            }
            let mut together = cpus[*cpu].tasks.clone();
            together.push(tasks[index].clone());
            let fits = fits_on_one(plan, &together, steps);
            is_undecided |= fits.is_none();
            fits == Some(true)
        });
        let Some(cpu) = found else { return Assignment::NoRoom { task: index, is_undecided } };
        assigned[index] = cpu;
        cpus[cpu].load += tasks[index].utilisation().as_f64();
        cpus[cpu].tasks.push(tasks[index].clone());
    }
    Assignment::Complete(assigned)
}

/// A CPU with its tasks so far.
#[derive(Clone, Debug, Default)]
struct Cpu {
    tasks: Vec<Task>,
    load: f64,
}

/// Whether one CPU serves these tasks by the policy of a plan; `None` if that is undecided.
pub(crate) fn fits_on_one(plan: &Plan, tasks: &[Task], steps: &mut Steps) -> Option<bool> {
    match plan.policy {
        Policy::Fifo => all_meet(tasks, &ranks(tasks), steps),
        Policy::Deadline if !kernel_admits(plan, tasks, 1) => Some(false),
        Policy::Deadline => demand::fits(tasks, steps),
    }
}

/// Whether the kernel admits these tasks on a number of CPUs.
pub(crate) fn kernel_admits(plan: &Plan, tasks: &[Task], cpus: u64) -> bool {
    let total = tasks.iter().map(kernel::bandwidth).sum();
    tasks.iter().all(|task| kernel::refused(task).is_none())
        && kernel::admits(total, cpus, kernel::capacity(plan.capacity))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::tests::plan as plan_of;

    fn plan(cpus: u16, shapes: &[(u64, u64)]) -> Plan {
        plan_of(&format!("cpus = {cpus}\ncapacity = \"100%\""), shapes)
    }

    fn check(cpus: u16, shapes: &[(u64, u64)], expected: [&[usize]; 3]) {
        for (heuristic, expected) in Heuristic::ALL.into_iter().zip(expected) {
            let found = assign(&plan(cpus, shapes), heuristic, &mut Steps::default());
            assert_eq!(found, Assignment::Complete(expected.to_vec()), "{heuristic:?}");
        }
    }

    #[test]
    fn the_heuristics_choose_different_cpus() {
        // Of 60, 50, 30 and 20 %, worst fit balances and the others fill.
        check(
            2,
            &[(6, 10), (5, 10), (3, 10), (2, 10)],
            [&[0, 1, 0, 1], &[0, 1, 0, 1], &[0, 1, 1, 0]],
        );
        // 50, 60, 40 and 40 %: the 40 % fill the 60 % first.
        check(2, &[(5, 10), (6, 10), (4, 10)], [&[1, 0, 0], &[1, 0, 0], &[1, 0, 1]]);
    }

    #[test]
    fn a_task_without_room_is_named() {
        let found = assign(
            &plan(2, &[(6, 10), (6, 10), (6, 10)]),
            Heuristic::FirstFit,
            &mut Steps::default(),
        );
        assert_eq!(found, Assignment::NoRoom { task: 2, is_undecided: false });
    }
}
