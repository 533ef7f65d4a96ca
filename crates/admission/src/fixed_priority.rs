//! Exact response times under preemptive fixed priorities on one CPU.
//!
//! J. P. Lehoczky, *Fixed priority scheduling of periodic task sets with arbitrary deadlines*, RTSS
//! 1990, Theorem 1; K. W. Tindell, A. Burns and A. J. Wellings, *An extendible approach for
//! analyzing fixed priority hard real-time tasks*, Real-Time Systems 6, 1994, Section 3: the window
//! of job q is the least w with w = (q + 1)·C + B + Σ ⌈(w + J)/T⌉·C over the tasks of higher
//! priority, and its response is w + J − q·T.

use serde::Serialize;
use tactus_model::time::Nanos;

use crate::{Steps, Task, WINDOW_LIMIT};

/// The longest response of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Response {
    /// The longest response found, from arrival to completion.
    pub worst: Nanos,
    /// The number of the job with it, from 0 at the critical instant.
    pub job: u64,
    /// Whether it is the longest of all.
    pub extent: Extent,
}

/// What is known of longer responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Extent {
    /// There is no longer one.
    Longest,
    /// Responses grow without limit: the task and those of higher priority demand more than the CPU.
    Unbounded,
    /// Later jobs were not examined: too many steps, or a window of 13 days.
    Undecided,
}

impl Response {
    /// Whether every job meets the deadline; `None` if that is undecided.
    pub fn meets(&self, deadline: Nanos) -> Option<bool> {
        match self.extent {
            _ if self.worst > deadline => Some(false),
            Extent::Longest => Some(true),
            Extent::Unbounded => Some(false),
            Extent::Undecided => None,
        }
    }
}

/// The rank of each task: 0 is served first. Tasks of equal rank delay each other.
///
/// Priorities of the plan decide. Without them the most urgent task is first: the order by deadline
/// less jitter, which is optimal for deadlines within the period (A. Zuhily and A. Burns, *Optimal
/// (D−J)-monotonic priority assignment*, Information Processing Letters 103(6), 2007).
pub fn ranks(tasks: &[Task]) -> Vec<usize> {
    let mut ranks = vec![0; tasks.len()];
    if tasks.iter().any(|task| task.priority().is_some()) {
        for (rank, task) in ranks.iter_mut().zip(tasks) {
            *rank = task.priority().map_or(usize::MAX, |priority| 99 - usize::from(priority.get()));
        }
        return ranks;
    }
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    order.sort_by_key(|index| tasks[*index].urgency());
    for (rank, index) in order.into_iter().enumerate() {
        ranks[index] = rank;
    }
    ranks
}

/// The response of every task, in the order of `tasks`.
///
/// With equal ranks a response is an upper bound, since the kernel serves them in the order of
/// arrival; otherwise it is exact for sporadic tasks.
pub fn responses(tasks: &[Task], ranks: &[usize], steps: &mut Steps) -> Vec<Response> {
    (0..tasks.len()).map(|index| response(tasks, ranks, index, steps)).collect()
}

/// Whether every task meets its deadline; `None` if that is undecided.
pub(crate) fn all_meet(tasks: &[Task], ranks: &[usize], steps: &mut Steps) -> Option<bool> {
    let mut undecided = false;
    for (index, task) in tasks.iter().enumerate() {
        match first_miss(tasks, ranks, index, steps).meets(task.deadline()) {
            Some(true) => {}
            Some(false) => return Some(false),
            None => undecided = true,
        }
    }
    (!undecided).then_some(true)
}

/// The longest response of a task.
pub fn response(tasks: &[Task], ranks: &[usize], index: usize, steps: &mut Steps) -> Response {
    let task = &tasks[index];
    let above = above(tasks, ranks, index);
    if exceeds_cpu(above.iter().copied().chain([task])) {
        let found = first_miss(tasks, ranks, index, steps);
        return Response { extent: Extent::Unbounded, ..found };
    }
    busy_window(task, &above, steps, None)
}

/// The response up to the first job that misses its deadline.
fn first_miss(tasks: &[Task], ranks: &[usize], index: usize, steps: &mut Steps) -> Response {
    let task = &tasks[index];
    busy_window(task, &above(tasks, ranks, index), steps, Some(task.deadline()))
}

/// The tasks that can delay a task.
fn above<'t>(tasks: &'t [Task], ranks: &[usize], index: usize) -> Vec<&'t Task> {
    let others = tasks.iter().enumerate();
    let above = others.filter(|(other, _)| *other != index && ranks[*other] <= ranks[index]);
    above.map(|(_, task)| task).collect()
}

/// Examines the jobs of a task until its busy window ends, or a response is longer than `enough`.
fn busy_window(task: &Task, above: &[&Task], steps: &mut Steps, enough: Option<Nanos>) -> Response {
    let mut found = Response { worst: Nanos::ZERO, job: 0, extent: Extent::Longest };
    let mut window = task.cost() + task.blocking();
    for job in 0.. {
        let own = task.cost().saturating_mul(job + 1) + task.blocking();
        let arrival = task.period().saturating_mul(job);
        let limit = enough.map_or(WINDOW_LIMIT, |enough| arrival + enough - task.jitter());
        let end = fixed_point(window, own, above, limit, steps);
        // A window that is not complete is a lower bound.
        let (Ok(reached) | Err(reached)) = end;
        window = reached;
        let response = window + task.jitter() - arrival;
        if response > found.worst {
            (found.worst, found.job) = (response, job);
        }
        if end.is_err() {
            return Response { extent: Extent::Undecided, ..found };
        }
        if window + task.jitter() <= task.period().saturating_mul(job + 1) {
            break;
        }
        window = window + task.cost();
    }
    found
}

/// The least window, not below `window`, that holds `own` and the demand of the tasks above; as an
/// error, the window that was reached beyond `limit` or at the end of the steps.
fn fixed_point(
    mut window: Nanos,
    own: Nanos,
    above: &[&Task],
    limit: Nanos,
    steps: &mut Steps,
) -> Result<Nanos, Nanos> {
    loop {
        if window > limit || steps.take(above.len() + 1).is_err() {
            return Err(window);
        }
        let next = own + above.iter().map(|task| released(task, window)).sum();
        if next <= window {
            return Ok(window);
        }
        window = next;
    }
}

/// The cost of all jobs of a task that can become ready in a window of this length.
pub(crate) fn released(task: &Task, window: Nanos) -> Nanos {
    let jobs = (window + task.jitter()).as_nanos().div_ceil(task.period().as_nanos());
    task.cost().saturating_mul(jobs)
}

/// Whether the tasks certainly demand more than a CPU: their utilisation, rounded down, is above 1.
fn exceeds_cpu<'t>(tasks: impl Iterator<Item = &'t Task>) -> bool {
    // A share is at most 2^54, since no cost is longer than its period.
    let share = |task: &Task| {
        let share =
            (u128::from(task.cost().as_nanos()) << 54) / u128::from(task.period().as_nanos());
        share as u64
    };
    tasks.map(share).fold(0, u64::saturating_add) > 1 << 54
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(cost: u64, period: u64, deadline: u64) -> Task {
        let nanos = Nanos::from_nanos;
        Task::new("task", nanos(cost), nanos(period))
            .unwrap()
            .with_deadline(nanos(deadline))
            .unwrap()
    }

    /// Checks the responses of tasks in the order of their priority.
    fn check(tasks: &[Task], expected: &[u64]) {
        let ranks: Vec<usize> = (0..tasks.len()).collect();
        let found = responses(tasks, &ranks, &mut Steps::default());
        let found: Vec<u64> = found.iter().map(|response| response.worst.as_nanos()).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn textbook_examples_have_their_published_responses() {
        // A. Burns and A. Wellings, Real-Time Systems and Programming Languages, the examples of
        // response time analysis: one set that fails, two that fully use their last deadline.
        check(&[task(10, 30, 30), task(10, 40, 40), task(12, 50, 50)], &[10, 20, 52]);
        check(&[task(3, 7, 7), task(3, 12, 12), task(5, 20, 20)], &[3, 6, 20]);
        check(&[task(5, 20, 20), task(10, 40, 40), task(40, 80, 80)], &[5, 15, 80]);
        // The same chapter: deadlines before the end of the period.
        check(&[task(3, 20, 5), task(3, 15, 7), task(4, 10, 10), task(3, 20, 20)], &[3, 6, 10, 20]);
        // Lehoczky 1990: with deadlines after the end of the period, a later job can be the worst.
        check(&[task(52, 100, 110), task(52, 140, 154)], &[52, 156]);
        check(&[task(26, 70, 70), task(62, 100, 120)], &[26, 118]);
        // The figures of the crate response-time-analysis.
        check(
            &[task(5, 25, 25), task(8, 40, 40), task(10, 50, 50), task(20, 100, 100)],
            &[5, 13, 23, 71],
        );
    }

    #[test]
    fn jitter_and_blocking_lengthen_responses() {
        let nanos = Nanos::from_nanos;
        let high = task(2, 10, 10).with_jitter(nanos(3)).unwrap();
        let low = task(6, 30, 30).with_blocking(nanos(1)).unwrap();
        // High becomes ready at 0, 7, 17: w = 7 + 2·⌈(w + 3)/10⌉ = 11, and its own is 2 + 3.
        check(&[high, low], &[5, 11]);
    }

    #[test]
    fn too_much_work_is_unbounded_and_too_many_steps_are_undecided() {
        let tasks = [task(6, 10, 10), task(5, 10, 10)];
        let found = response(&tasks, &[0, 1], 1, &mut Steps::default());
        assert_eq!(found.extent, Extent::Unbounded);
        assert_eq!(found.meets(Nanos::MAX), Some(false));
        let tasks = [task(5, 10, 10), task(5, 10, 10)];
        let found = response(&tasks, &[0, 1], 1, &mut Steps::limited(1));
        assert_eq!((found.extent, found.meets(Nanos::MAX)), (Extent::Undecided, None));
    }

    #[test]
    fn the_most_urgent_task_is_first_without_priorities() {
        let late = task(1, 10, 9).with_jitter(Nanos::from_nanos(5)).unwrap();
        assert_eq!(ranks(&[task(1, 10, 8), late, task(1, 4, 4)]), [2, 0, 1]);
    }
}
