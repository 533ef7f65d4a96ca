//! What would fit: the largest cost and the shortest period that pass.
//!
//! The exact tests are sustainable: a task that fits still fits with less cost or a longer period,
//! so a binary search finds the limit (S. Baruah and A. Burns, *Sustainable scheduling analysis*,
//! RTSS 2006). The heuristics of [`partition`](crate::partition) are not, so with several CPUs
//! there may be more room than is found. Every value that is returned has passed.

use serde::Serialize;
use tactus_model::policy::RealtimePriority;
use tactus_model::time::Nanos;

use crate::global::DensityBound;
use crate::partition::{Assignment, Heuristic, assign, fits_on_one, kernel_admits};
use crate::{BadTask, LONGEST, Plan, Policy, Steps, Task, kernel};

/// A value that fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Fit {
    /// The value.
    pub value: Nanos,
    /// Whether no better value fits: the test is exact and was decided everywhere.
    pub is_limit: bool,
}

/// A question about one more task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Question {
    /// The largest cost with this period and deadline.
    Cost {
        /// The period.
        period: Nanos,
        /// The deadline.
        deadline: Nanos,
    },
    /// The shortest period, at whose end the deadline is, with this cost.
    Period {
        /// The cost.
        cost: Nanos,
    },
}

impl Question {
    /// Reads the question for a cost: `PERIOD` or `PERIOD:DEADLINE`.
    ///
    /// # Errors
    /// A duration is wrong.
    pub fn cost_for(text: &str) -> Result<Self, String> {
        let (period, deadline) = text.split_once(':').unwrap_or((text, text));
        let read = |text: &str| text.parse::<Nanos>().map_err(|error| error.to_string());
        let (period, deadline) = (read(period)?, read(deadline)?);
        let possible = Self::task(period.min(deadline), period, deadline, None);
        possible.map_err(|error| error.to_string())?;
        Ok(Self::Cost { period, deadline })
    }

    /// Reads the question for a period: `COST`.
    ///
    /// # Errors
    /// The duration is wrong.
    pub fn period_for(text: &str) -> Result<Self, String> {
        let cost = text.parse::<Nanos>().map_err(|error| error.to_string())?;
        Self::task(cost, LONGEST, LONGEST, None).map_err(|error| error.to_string())?;
        Ok(Self::Period { cost })
    }

    /// The answer for a plan. In a plan with priorities the new task has priority 1, the lowest.
    pub fn answer(self, plan: &Plan) -> Room {
        let has_priorities = plan.tasks.iter().any(|task| task.priority().is_some());
        let priority = RealtimePriority::new(1).filter(|_| has_priorities);
        let mut steps = Steps::default();
        let fit = match self {
            Self::Cost { period, deadline } => {
                Self::task(least_cost(plan), period, deadline, priority)
                    .ok()
                    .and_then(|new| largest_cost(plan, &new, &mut steps))
            }
            Self::Period { cost } => {
                let longest = longest_period(plan);
                let new = Self::task(cost, longest, longest, priority).ok();
                new.and_then(|new| shortest_period(plan, &new, &mut steps))
            }
        };
        Room { question: self, fit }
    }

    fn task(
        cost: Nanos,
        period: Nanos,
        deadline: Nanos,
        priority: Option<RealtimePriority>,
    ) -> Result<Task, BadTask> {
        let task = Task::new("new", cost, period)?.with_deadline(deadline)?;
        Ok(task.with_priority(priority))
    }
}

/// The room for one more task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Room {
    /// What was asked.
    pub question: Question,
    /// The answer; `None` if no such task fits.
    pub fit: Option<Fit>,
}

/// Whether every task of a plan meets its deadline by the test that decides; `None` if that is
/// undecided.
pub fn holds(plan: &Plan, steps: &mut Steps) -> Option<bool> {
    if plan.is_global() {
        let cpus = plan.cpus.into();
        let bound = DensityBound::of(&plan.tasks, cpus).holds(cpus);
        let is_covered = plan.tasks.iter().all(|task| task.blocking() == Nanos::ZERO);
        return Some(bound && is_covered && kernel_admits(plan, &plan.tasks, cpus));
    }
    if plan.cpus == 1 {
        return fits_on_one(plan, &plan.tasks, steps);
    }
    let mut undecided = false;
    for heuristic in Heuristic::ALL {
        match assign(plan, heuristic, steps) {
            Assignment::Complete(_) => return Some(true),
            Assignment::NoRoom { is_undecided, .. } => undecided |= is_undecided,
        }
    }
    (!undecided).then_some(false)
}

/// The largest cost with which one more task of this period and deadline fits.
pub fn largest_cost(plan: &Plan, new: &Task, steps: &mut Steps) -> Option<Fit> {
    let most = new.period().min(new.urgency());
    let test = |cost| Some(plan.with(new.with_cost(cost).ok()?));
    search(plan, least_cost(plan), most, test, steps)
}

/// The shortest period with which one more task of this cost fits.
pub fn shortest_period(plan: &Plan, new: &Task, steps: &mut Steps) -> Option<Fit> {
    let test = |period| Some(plan.with(new.with_period(period).ok()?));
    search(plan, longest_period(plan), new.cost(), test, steps)
}

/// The largest cost with which a task of a plan fits.
pub fn largest_cost_of(plan: &Plan, index: usize, steps: &mut Steps) -> Option<Fit> {
    let task = &plan.tasks[index];
    let most = task.period().min(task.urgency());
    let test = |cost| Some(plan.with_changed(index, task.with_cost(cost).ok()?));
    search(plan, least_cost(plan), most, test, steps)
}

/// The shortest period with which a task of a plan fits.
pub fn shortest_period_of(plan: &Plan, index: usize, steps: &mut Steps) -> Option<Fit> {
    let task = &plan.tasks[index];
    let test = |period| Some(plan.with_changed(index, task.with_period(period).ok()?));
    search(plan, longest_period(plan), task.cost(), test, steps)
}

/// The least cost that a policy accepts.
const fn least_cost(plan: &Plan) -> Nanos {
    match plan.policy {
        Policy::Fifo => Nanos::from_nanos(1),
        Policy::Deadline => kernel::RUNTIME_LEAST,
    }
}

/// The longest period that a policy accepts.
const fn longest_period(plan: &Plan) -> Nanos {
    match plan.policy {
        Policy::Fifo => LONGEST,
        Policy::Deadline => kernel::PERIOD_MOST,
    }
}

/// Searches from `easy`, which must fit, toward `hard` for the last value that fits.
fn search(
    plan: &Plan,
    easy: Nanos,
    hard: Nanos,
    changed: impl Fn(Nanos) -> Option<Plan>,
    steps: &mut Steps,
) -> Option<Fit> {
    let mut was_decided = plan.cpus == 1;
    let mut fits = |value: Nanos| {
        // A value that makes the task impossible does not fit.
        let Some(plan) = changed(value) else { return false };
        let held = holds(&plan, steps);
        was_decided &= held.is_some();
        held == Some(true)
    };
    let (mut fitting, mut failing) = (easy.as_nanos(), hard.as_nanos());
    if !fits(easy) {
        return None;
    }
    if fits(hard) {
        fitting = failing;
    }
    while fitting.abs_diff(failing) > 1 {
        let middle = fitting.midpoint(failing);
        match fits(Nanos::from_nanos(middle)) {
            true => fitting = middle,
            false => failing = middle,
        }
    }
    Some(Fit { value: Nanos::from_nanos(fitting), is_limit: was_decided })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A plan with this head and tasks of these costs and periods in milliseconds.
    pub(crate) fn plan(head: &str, shapes: &[(u64, u64)]) -> Plan {
        let tasks: String = shapes
            .iter()
            .enumerate()
            .map(|(number, (cost, period))| {
                format!(
                    "[[task]]\nname = \"{number}\"\ncost = \"{cost}ms\"\nperiod = \"{period}ms\"\n"
                )
            })
            .collect();
        Plan::parse(&format!("{head}\n{tasks}")).unwrap()
    }

    fn new(cost: u64, period: u64) -> Task {
        Task::new("new", Nanos::from_millis(cost), Nanos::from_millis(period)).unwrap()
    }

    #[test]
    fn the_limit_fits_and_one_nanosecond_more_does_not() {
        for head in ["policy = \"fifo\"", "capacity = \"100%\"", "capacity = \"90%\""] {
            let plan = plan(head, &[(1, 4), (2, 7)]);
            let found = largest_cost(&plan, &new(1, 10), &mut Steps::default()).unwrap();
            assert!(found.is_limit);
            let holds = |cost: Nanos| {
                let task = new(1, 10).with_cost(cost).unwrap();
                holds(&plan.with(task), &mut Steps::default())
            };
            assert_eq!(holds(found.value), Some(true), "{head}: {found:?}");
            assert_eq!(holds(found.value + Nanos::from_nanos(1)), Some(false), "{head}: {found:?}");
        }
    }

    #[test]
    fn edf_fits_what_the_others_leave() {
        let plan = plan("capacity = \"100%\"", &[(1, 4), (2, 8)]);
        let cost = largest_cost(&plan, &new(1, 16), &mut Steps::default()).unwrap();
        assert_eq!(cost, Fit { value: Nanos::from_millis(8), is_limit: true });
        let period = shortest_period(&plan, &new(4, 16), &mut Steps::default()).unwrap();
        assert_eq!(period, Fit { value: Nanos::from_millis(8), is_limit: true });
    }

    #[test]
    fn a_full_cpu_fits_nothing() {
        let plan = plan("capacity = \"100%\"", &[(4, 4)]);
        assert_eq!(largest_cost(&plan, &new(1, 16), &mut Steps::default()), None);
        assert_eq!(shortest_period(&plan, &new(1, 16), &mut Steps::default()), None);
    }

    #[test]
    fn a_question_is_a_period_with_a_deadline_or_a_cost() {
        let ms = Nanos::from_millis;
        let question = Question::cost_for("10ms:5ms");
        assert_eq!(question, Ok(Question::Cost { period: ms(10), deadline: ms(5) }));
        assert_eq!(Question::period_for("2ms"), Ok(Question::Period { cost: ms(2) }));
        assert!(Question::cost_for("10").unwrap_err().contains("write a number and a unit"));
        assert!(Question::cost_for("2h").unwrap_err().contains("the limit is 1h"));
        assert!(Question::period_for("0s").unwrap_err().contains("is zero"));
        let plan = plan("policy = \"fifo\"", &[(1, 4)]);
        let room = Question::Period { cost: ms(3) }.answer(&plan);
        assert_eq!(room.fit.unwrap().value, ms(4));
    }
}
