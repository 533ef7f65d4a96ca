//! The exact demand of tasks under EDF (earliest deadline first) on one CPU.
//!
//! Tasks meet their deadlines if and only if, in every window, the jobs that arrive and have their
//! deadline in it demand no more than its length (S. K. Baruah, L. E. Rosier and R. R. Howell,
//! *Algorithms and complexity concerning the preemptive scheduling of periodic, real-time tasks on
//! one processor*, Real-Time Systems 2, 1990). QPA examines few of these windows, from the longest
//! to the shortest (F. Zhang and A. Burns, *Schedulability analysis for real-time systems with EDF
//! scheduling*, IEEE Transactions on Computers 58(9), 2009, Theorem 5). Jitter shortens deadlines
//! and lets jobs arrive sooner; blocking adds to every window that is as long as the deadline of a
//! blocked task (M. Spuri, INRIA report 2772, 1996). With blocking the test is sufficient, without
//! it is exact.

use serde::Serialize;
use tactus_model::time::Nanos;

use crate::fixed_priority::released;
use crate::steps::OutOfSteps;
use crate::task::utilisation;
use crate::{Ratio, Steps, Task, WINDOW_LIMIT};

/// Whether the demand fits in every window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Demand {
    /// Every window has room for its demand.
    Fits,
    /// A window has too little room.
    Overload(Overload),
    /// The tasks demand more than a CPU, but not in any of the windows that were examined.
    Unbounded,
    /// Not all windows could be examined: too many steps, or a window of 13 days.
    Undecided,
}

impl Demand {
    /// Whether the demand fits; `None` if that is undecided.
    pub const fn fits(&self) -> Option<bool> {
        match self {
            Self::Fits => Some(true),
            Self::Overload(_) | Self::Unbounded => Some(false),
            Self::Undecided => None,
        }
    }
}

/// A window whose demand is longer than itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Overload {
    /// The end of the window, from the instant at which all tasks become ready.
    pub instant: Nanos,
    /// The demand in the window.
    pub demand: Nanos,
    /// The index of a task with a deadline at the end of the window.
    pub task: usize,
}

/// Examines the windows of tasks under EDF. Of several overloads, the shortest window is returned
/// if it is found within `steps`.
pub fn demand(tasks: &[Task], steps: &mut Steps) -> Demand {
    match examine(tasks, steps) {
        Ok(None) => Demand::Fits,
        Ok(Some(instant)) => Demand::Overload(shortest_overload(tasks, instant, steps)),
        Err(OutOfSteps) if !utilisation(tasks).is_at_most(1) => Demand::Unbounded,
        Err(OutOfSteps) => Demand::Undecided,
    }
}

/// Whether the demand fits in every window; `None` if that is undecided.
pub(crate) fn fits(tasks: &[Task], steps: &mut Steps) -> Option<bool> {
    // A sum of ratios takes about as long as this many demands.
    if steps.take(16 * tasks.len()).is_err() {
        return None;
    }
    if !utilisation(tasks).is_at_most(1) {
        return Some(false);
    }
    examine(tasks, steps).ok().map(|overload| overload.is_none())
}

/// The demand of all jobs with arrival and deadline in a window of this length.
pub fn demand_in(tasks: &[Task], window: Nanos) -> Nanos {
    let blocking = tasks.iter().filter(|task| task.urgency() <= window).map(Task::blocking).max();
    tasks.iter().map(|task| due(task, window)).sum::<Nanos>() + blocking.unwrap_or_default()
}

/// The cost of the jobs of a task with arrival and deadline in a window.
fn due(task: &Task, window: Nanos) -> Nanos {
    if window < task.urgency() {
        return Nanos::ZERO;
    }
    let jobs = (window - task.urgency()).div_floor(task.period()) + 1;
    task.cost().saturating_mul(jobs)
}

/// Looks for an overload by QPA; returns its window.
fn examine(tasks: &[Task], steps: &mut Steps) -> Result<Option<Nanos>, OutOfSteps> {
    let Some(shortest) = tasks.iter().map(Task::urgency).min() else { return Ok(None) };
    let total = utilisation(tasks);
    if !total.is_at_most(1) {
        return overload_by_doubling(tasks, shortest, steps).map(Some);
    }
    let longest = longest_window(tasks, total, steps)?;
    let mut next = deadline_before(tasks, longest + Nanos::from_nanos(1), steps)?;
    while let Some(window) = next {
        steps.take(tasks.len())?;
        let demand = demand_in(tasks, window);
        if demand > window {
            return Ok(Some(window));
        }
        if demand <= shortest {
            break;
        }
        // Between its demand and the window itself, no window can be overloaded.
        next = match demand < window {
            true => Some(demand),
            false => deadline_before(tasks, window, steps)?,
        };
    }
    Ok(None)
}

/// A window such that if any is overloaded, one that is not longer is: the shortest of three bounds.
fn longest_window(tasks: &[Task], total: Ratio, steps: &mut Steps) -> Result<Nanos, OutOfSteps> {
    let blocking = tasks.iter().map(Task::blocking).max().unwrap_or_default();
    // Each task demands at most U·window + U·(T − D), rounded up here.
    let excess = tasks.iter().map(|task| {
        let early = (task.period() - task.urgency()).as_nanos();
        let product = u128::from(early) * u128::from(task.cost().as_nanos());
        product.div_ceil(u128::from(task.period().as_nanos())) as u64
    });
    let excess = excess.fold(blocking.as_nanos(), u64::saturating_add);
    let by_rest = total.amount_over_rest(excess).map_or(Nanos::MAX, Nanos::from_nanos);
    let last_first = tasks.iter().map(Task::urgency).max().unwrap_or_default();
    let shorter = by_rest.max(last_first).min(cycle(tasks) + last_first);
    // The busy window that begins when all tasks become ready together.
    let mut busy = tasks.iter().map(Task::cost).sum::<Nanos>() + blocking;
    while busy < shorter {
        steps.take(tasks.len())?;
        let next = blocking + tasks.iter().map(|task| released(task, busy)).sum();
        if next <= busy {
            break;
        }
        busy = next;
    }
    let longest = busy.min(shorter);
    if longest > WINDOW_LIMIT { Err(OutOfSteps) } else { Ok(longest) }
}

/// The least common multiple of the periods, after which the room only grows. It decides where the
/// CPU is fully used.
fn cycle(tasks: &[Task]) -> Nanos {
    tasks.iter().map(|task| task.period().as_nanos()).fold(Nanos::from_nanos(1), |cycle, period| {
        let (mut a, mut b) = (cycle.as_nanos(), period);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        cycle.saturating_mul(period / a)
    })
}

/// The last deadline before an instant, of jobs that arrive as soon as possible.
fn deadline_before(
    tasks: &[Task],
    instant: Nanos,
    steps: &mut Steps,
) -> Result<Option<Nanos>, OutOfSteps> {
    steps.take(tasks.len())?;
    let last = |task: &Task| {
        let since = instant.as_nanos().checked_sub(task.urgency().as_nanos() + 1)?;
        let jobs = Nanos::from_nanos(since).div_floor(task.period());
        Some(task.urgency() + task.period().saturating_mul(jobs))
    };
    Ok(tasks.iter().filter_map(last).max())
}

/// The first deadline after an instant.
pub(crate) fn deadline_after(tasks: &[Task], instant: Nanos) -> Option<Nanos> {
    let next = |task: &Task| {
        if instant < task.urgency() {
            return task.urgency();
        }
        let jobs = (instant - task.urgency()).div_floor(task.period()) + 1;
        task.urgency() + task.period().saturating_mul(jobs)
    };
    tasks.iter().map(next).min()
}

/// An overloaded window of tasks that demand more than a CPU.
fn overload_by_doubling(
    tasks: &[Task],
    shortest: Nanos,
    steps: &mut Steps,
) -> Result<Nanos, OutOfSteps> {
    let mut window = shortest;
    while window <= WINDOW_LIMIT {
        steps.take(tasks.len())?;
        let instant = deadline_before(tasks, window + Nanos::from_nanos(1), steps)?;
        if let Some(instant) = instant.filter(|instant| demand_in(tasks, *instant) > *instant) {
            return Ok(instant);
        }
        window = window.saturating_mul(2);
    }
    Err(OutOfSteps)
}

/// How many windows are examined for the shortest overload.
const WINDOWS: usize = 100_000;

/// The overload in the shortest window, or the known one if the shortest is not found.
fn shortest_overload(tasks: &[Task], known: Nanos, steps: &mut Steps) -> Overload {
    let mut found = known;
    let mut window = Nanos::ZERO;
    for _ in 0..WINDOWS {
        if steps.take(tasks.len()).is_err() {
            break;
        }
        let Some(next) = deadline_after(tasks, window).filter(|next| *next < known) else { break };
        window = next;
        if demand_in(tasks, window) > window {
            found = window;
            break;
        }
    }
    let is_due = |task: &Task| {
        found >= task.urgency()
            && (found - task.urgency()).as_nanos().is_multiple_of(task.period().as_nanos())
    };
    Overload {
        instant: found,
        demand: demand_in(tasks, found),
        task: tasks.iter().position(is_due).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(cost: u64, deadline: u64, period: u64) -> Task {
        let nanos = Nanos::from_nanos;
        Task::new("task", nanos(cost), nanos(period))
            .unwrap()
            .with_deadline(nanos(deadline))
            .unwrap()
    }

    fn check(tasks: &[Task], expected: Option<(u64, u64)>) {
        let found = demand(tasks, &mut Steps::default());
        let overload = expected
            .map(|(instant, demand)| (Nanos::from_nanos(instant), Nanos::from_nanos(demand)));
        match (found, overload) {
            (Demand::Fits, None) => {}
            (Demand::Overload(found), Some(expected)) => {
                assert_eq!((found.instant, found.demand), expected);
            }
            _ => panic!("{found:?}"),
        }
    }

    #[test]
    fn edf_uses_the_whole_cpu_with_deadlines_at_the_end_of_the_period() {
        // Liu and Layland 1973, Theorem 7.
        check(&[task(2, 5, 5), task(4, 7, 7)], None);
        check(&[task(1, 2, 2), task(1, 3, 3), task(1, 6, 6)], None);
        check(&[task(1, 2, 2), task(1, 3, 3), task(2, 6, 6)], Some((6, 7)));
    }

    #[test]
    fn shorter_deadlines_are_examined_one_by_one() {
        // Two jobs due at 4 need 5; the utilisation is 55 % only.
        check(&[task(2, 3, 8), task(3, 4, 10)], Some((4, 5)));
        check(&[task(2, 3, 8), task(3, 5, 10)], None);
        // G. Buttazzo, Hard Real-Time Computing Systems, the example of the demand criterion.
        check(&[task(2, 4, 6), task(2, 5, 8), task(3, 7, 9)], None);
        check(&[task(2, 4, 6), task(2, 5, 8), task(4, 7, 9)], Some((7, 8)));
    }

    #[test]
    fn jitter_and_blocking_take_room() {
        let late = |jitter| task(2, 5, 5).with_jitter(Nanos::from_nanos(jitter)).unwrap();
        check(&[late(0), task(4, 6, 10)], None);
        // Ready together, the jobs of the late task are due at 2 and at 7.
        check(&[late(3), task(4, 6, 10)], Some((7, 8)));
        let blocked = |blocking| task(2, 5, 5).with_blocking(Nanos::from_nanos(blocking)).unwrap();
        check(&[blocked(3), task(1, 20, 20)], None);
        check(&[blocked(4), task(1, 20, 20)], Some((5, 6)));
    }

    #[test]
    fn work_that_cannot_be_examined_is_undecided() {
        let tasks = [task(5, 9, 10), task(4, 9, 10)];
        assert_eq!(demand(&tasks, &mut Steps::limited(1)), Demand::Undecided);
    }
}
