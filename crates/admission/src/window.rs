//! The schedule in the worst window: what a drawing shows.

use serde::Serialize;
use tactus_model::time::Nanos;

use crate::demand::{Overload, deadline_after, demand_in};
use crate::fixed_priority::Response;
use crate::{Steps, Task};

/// The most runs of a window; a longer one is cut.
const RUNS_MOST: usize = 2_000;

/// How many deadlines are compared for the tightest window.
const DEADLINES: usize = 1_000;

/// The schedule of one CPU from the worst instant: all tasks become ready together, as late after
/// their arrival as their jitter permits, and then as soon as they may.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Window {
    /// The length.
    pub length: Nanos,
    /// The row of the task that decides.
    pub decisive: usize,
    /// The deadline that is missed or tightest.
    pub deadline: Nanos,
    /// When the work before this deadline is done.
    pub done: Nanos,
    /// How long a task without a row blocks the CPU at the begin.
    pub blocked: Nanos,
    /// A row for each task.
    pub rows: Vec<WindowRow>,
    /// Whether the schedule is cut, since it has too many runs.
    pub is_cut: bool,
}

/// A task in a window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WindowRow {
    /// The index of the task in its plan.
    pub task: usize,
    /// Its name.
    pub name: String,
    /// When jobs become ready.
    pub ready: Vec<Nanos>,
    /// Deadlines of jobs.
    pub deadlines: Vec<Nanos>,
    /// When it runs.
    pub runs: Vec<Run>,
}

/// A stretch in which a task runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Run {
    /// Its begin.
    pub from: Nanos,
    /// Its end.
    pub to: Nanos,
}

/// A task of a window, with its index in the plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed<'t> {
    pub(crate) index: usize,
    pub(crate) task: &'t Task,
}

/// What decides between two jobs that are ready.
#[derive(Clone, Copy, Debug)]
enum Order<'r> {
    Ranks(&'r [usize]),
    Deadline,
}

impl Window {
    /// The window with the longest response of a task under fixed priorities; `ranks` has a rank
    /// for each task of `placed`.
    pub(crate) fn of_response(
        placed: &[Placed<'_>],
        ranks: &[usize],
        decisive: usize,
        response: &Response,
    ) -> Self {
        let task = placed[decisive].task;
        let arrival = task.period().saturating_mul(response.job);
        let deadline = arrival + task.urgency();
        let done = arrival + response.worst.saturating_sub(task.jitter());
        // Tasks of lower priority have no part in it, and those of equal priority go first.
        let shown: Vec<usize> =
            (0..placed.len()).filter(|row| ranks[*row] <= ranks[decisive]).collect();
        let order: Vec<usize> = shown
            .iter()
            .map(|row| if *row == decisive { usize::MAX } else { ranks[*row] })
            .collect();
        let row = shown.iter().position(|row| *row == decisive).unwrap_or_default();
        let placed: Vec<Placed<'_>> = shown.iter().map(|row| placed[*row]).collect();
        let length = deadline.max(done);
        Self::scheduled(
            &placed,
            Order::Ranks(&order),
            row,
            task.blocking(),
            (length, deadline, done),
        )
    }

    /// The window of an overload under EDF.
    pub(crate) fn of_overload(placed: &[Placed<'_>], overload: &Overload) -> Self {
        let length = overload.instant.max(overload.demand);
        let blocked = blocked(placed, overload.instant);
        let moments = (length, overload.instant, overload.demand);
        Self::scheduled(placed, Order::Deadline, overload.task, blocked, moments)
    }

    /// The window with the least room under EDF, among the first thousand.
    pub(crate) fn tightest(placed: &[Placed<'_>], steps: &mut Steps) -> Self {
        let tasks: Vec<Task> = placed.iter().map(|placed| placed.task.clone()).collect();
        let (mut instant, mut best) = (Nanos::ZERO, None::<(Nanos, Nanos)>);
        for _ in 0..DEADLINES {
            let next = deadline_after(&tasks, instant).filter(|_| steps.take(tasks.len()).is_ok());
            let Some(next) = next else { break };
            instant = next;
            let room = instant - demand_in(&tasks, instant);
            if best.is_none_or(|(least, _)| room < least) {
                best = Some((room, instant));
            }
        }
        let (room, instant) = best.unwrap_or_default();
        let is_due = |task: &Task| {
            instant >= task.urgency()
                && (instant - task.urgency()).as_nanos().is_multiple_of(task.period().as_nanos())
        };
        let row = tasks.iter().position(is_due).unwrap_or_default();
        let moments = (instant, instant, instant - room);
        Self::scheduled(placed, Order::Deadline, row, blocked(placed, instant), moments)
    }

    fn scheduled(
        placed: &[Placed<'_>],
        order: Order<'_>,
        decisive: usize,
        blocked: Nanos,
        (length, deadline, done): (Nanos, Nanos, Nanos),
    ) -> Self {
        let mut rows: Vec<WindowRow> =
            placed.iter().map(|placed| WindowRow::of(placed, length)).collect();
        let reached = schedule(placed, order, blocked, length, &mut rows);
        Self { length, decisive, deadline, done, blocked, rows, is_cut: reached < length }
    }
}

/// The blocking before a deadline.
fn blocked(placed: &[Placed<'_>], instant: Nanos) -> Nanos {
    let tasks = placed.iter().map(|placed| placed.task);
    let due = tasks.filter(|task| task.urgency() <= instant);
    due.map(Task::blocking).max().unwrap_or_default()
}

impl WindowRow {
    fn of(placed: &Placed<'_>, length: Nanos) -> Self {
        let task = placed.task;
        let arrivals = |most: Nanos| {
            let last = most.div_floor(task.period()).min(RUNS_MOST as u64);
            (0..=last).map(|job| task.period().saturating_mul(job))
        };
        let ready = arrivals(length + task.jitter()).map(|arrival| arrival - task.jitter());
        let mut ready: Vec<Nanos> = ready.filter(|ready| *ready < length).collect();
        ready.dedup();
        let deadlines = arrivals(length).map(|arrival| arrival + task.urgency());
        Self {
            task: placed.index,
            name: task.name().to_owned(),
            ready,
            deadlines: deadlines.filter(|deadline| *deadline <= length).collect(),
            runs: Vec::new(),
        }
    }
}

/// Runs the jobs in their order until `length`; returns the instant that was reached.
fn schedule(
    placed: &[Placed<'_>],
    order: Order<'_>,
    blocked: Nanos,
    length: Nanos,
    rows: &mut [WindowRow],
) -> Nanos {
    let mut jobs = vec![0_u64; placed.len()];
    let mut left: Vec<Nanos> = placed.iter().map(|placed| placed.task.cost()).collect();
    let mut now = blocked.min(length);
    let mut runs = 0;
    while now < length && runs < RUNS_MOST {
        let ready = |row: usize| {
            let task = placed[row].task;
            task.period().saturating_mul(jobs[row]) - task.jitter()
        };
        let key = |row: &usize| match order {
            Order::Ranks(ranks) => ranks[*row] as u64,
            Order::Deadline => {
                let task = placed[*row].task;
                (task.period().saturating_mul(jobs[*row]) + task.urgency()).as_nanos()
            }
        };
        let chosen = (0..placed.len()).filter(|row| ready(*row) <= now).min_by_key(key);
        let next = (0..placed.len()).map(ready).filter(|ready| *ready > now).min();
        let next = next.unwrap_or(length).min(length);
        let Some(row) = chosen else {
            now = next;
            continue;
        };
        let to = next.min(now + left[row]);
        match rows[row].runs.last_mut() {
            Some(last) if last.to == now => last.to = to,
            _ => {
                rows[row].runs.push(Run { from: now, to });
                runs += 1;
            }
        }
        left[row] = left[row] - (to - now);
        if left[row] == Nanos::ZERO {
            jobs[row] += 1;
            left[row] = placed[row].task.cost();
        }
        now = to;
    }
    now
}
