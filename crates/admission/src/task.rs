//! A periodic or sporadic task.

use serde::Serialize;
use tactus_model::policy::RealtimePriority;
use tactus_model::time::Nanos;

use crate::Ratio;

/// The longest period, deadline, jitter and blocking: an hour.
pub const LONGEST: Nanos = Nanos::from_secs(3600);

/// A task that releases a job at most once in every period.
///
/// The blocking is the longest time for which a task of lower priority can hold a job up, e.g. by
/// a lock. The jitter is how late after its arrival a job can become ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Task {
    name: String,
    cost: Nanos,
    period: Nanos,
    deadline: Nanos,
    jitter: Nanos,
    blocking: Nanos,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "number")]
    priority: Option<RealtimePriority>,
}

fn number<S: serde::Serializer>(
    priority: &Option<RealtimePriority>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    priority.map(RealtimePriority::get).serialize(serializer)
}

/// Why a task is impossible, with the nearest possible value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadTask {
    /// A cost or a period is zero.
    #[error("{what} = \"0ns\" is zero; the least value is 1ns")]
    Zero {
        /// The key.
        what: &'static str,
    },
    /// A duration is beyond [`LONGEST`].
    #[error("{what} = \"{given}\" is too long; the limit is {LONGEST}")]
    TooLong {
        /// The key.
        what: &'static str,
        /// The duration.
        given: Nanos,
    },
    /// The cost is above the period or the deadline.
    #[error("cost = \"{cost}\" is longer than the {what} of {limit}; the largest cost is {limit}")]
    CostTooLong {
        /// The cost.
        cost: Nanos,
        /// What limits it.
        what: &'static str,
        /// The limit.
        limit: Nanos,
    },
    /// A job can become ready too late to meet its deadline.
    #[error(
        "jitter = \"{jitter}\" leaves less than the cost of {cost} before the deadline of {deadline}; the largest jitter is {largest}",
        largest = *deadline - *cost
    )]
    JitterTooLong {
        /// The jitter.
        jitter: Nanos,
        /// The cost.
        cost: Nanos,
        /// The deadline.
        deadline: Nanos,
    },
}

impl Task {
    /// A task with its deadline at the end of its period, without jitter and blocking.
    ///
    /// # Errors
    /// The cost is zero or longer than the period, or the period is too long.
    pub fn new(name: impl Into<String>, cost: Nanos, period: Nanos) -> Result<Self, BadTask> {
        let none = Nanos::ZERO;
        let task = Self {
            name: name.into(),
            cost,
            period,
            deadline: period,
            jitter: none,
            blocking: none,
            priority: None,
        };
        task.checked()
    }

    /// The task with another deadline after its arrival. It may be longer than the period.
    ///
    /// # Errors
    /// The deadline is shorter than the cost, or too long.
    pub fn with_deadline(self, deadline: Nanos) -> Result<Self, BadTask> {
        Self { deadline, ..self }.checked()
    }

    /// The task with a jitter.
    ///
    /// # Errors
    /// The jitter and the cost are longer than the deadline.
    pub fn with_jitter(self, jitter: Nanos) -> Result<Self, BadTask> {
        Self { jitter, ..self }.checked()
    }

    /// The task with a blocking time.
    ///
    /// # Errors
    /// The blocking is too long.
    pub fn with_blocking(self, blocking: Nanos) -> Result<Self, BadTask> {
        Self { blocking, ..self }.checked()
    }

    /// The task with a priority of the fifo class.
    #[must_use]
    pub fn with_priority(self, priority: Option<RealtimePriority>) -> Self {
        Self { priority, ..self }
    }

    /// The task with another cost.
    ///
    /// # Errors
    /// The cost is zero or too long.
    pub fn with_cost(&self, cost: Nanos) -> Result<Self, BadTask> {
        Self { cost, ..self.clone() }.checked()
    }

    /// The task with another period. A deadline at the end of the period moves with it.
    ///
    /// # Errors
    /// The period is shorter than the cost, or too long.
    pub fn with_period(&self, period: Nanos) -> Result<Self, BadTask> {
        let deadline = if self.deadline == self.period { period } else { self.deadline };
        Self { period, deadline, ..self.clone() }.checked()
    }

    /// The keys of the task in a plan.
    pub(crate) fn to_toml(&self) -> toml::Table {
        let mut table = toml::Table::new();
        let mut put = |key: &str, value: toml::Value| table.insert(key.to_owned(), value);
        put("name", self.name.as_str().into());
        put("cost", self.cost.to_string().into());
        put("period", self.period.to_string().into());
        if self.deadline != self.period {
            put("deadline", self.deadline.to_string().into());
        }
        for (key, length) in [("jitter", self.jitter), ("blocking", self.blocking)] {
            if length > Nanos::ZERO {
                put(key, length.to_string().into());
            }
        }
        if let Some(priority) = self.priority {
            put("priority", i64::from(priority.get()).into());
        }
        table
    }

    fn checked(self) -> Result<Self, BadTask> {
        let Self { cost, period, deadline, jitter, blocking, .. } = self;
        for (what, given) in [("cost", cost), ("period", period), ("deadline", deadline)] {
            if given == Nanos::ZERO {
                return Err(BadTask::Zero { what });
            }
        }
        for (what, given) in
            [("period", period), ("deadline", deadline), ("jitter", jitter), ("blocking", blocking)]
        {
            if given > LONGEST {
                return Err(BadTask::TooLong { what, given });
            }
        }
        for (what, limit) in [("period", period), ("deadline", deadline)] {
            if cost > limit {
                return Err(BadTask::CostTooLong { cost, what, limit });
            }
        }
        if jitter + cost > deadline {
            return Err(BadTask::JitterTooLong { jitter, cost, deadline });
        }
        Ok(self)
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The longest CPU time of a job.
    pub const fn cost(&self) -> Nanos {
        self.cost
    }

    /// The shortest time between two arrivals.
    pub const fn period(&self) -> Nanos {
        self.period
    }

    /// The time from a job's arrival to its deadline.
    pub const fn deadline(&self) -> Nanos {
        self.deadline
    }

    /// How late after its arrival a job can become ready.
    pub const fn jitter(&self) -> Nanos {
        self.jitter
    }

    /// The longest time for which a task of lower priority can hold a job up.
    pub const fn blocking(&self) -> Nanos {
        self.blocking
    }

    /// The priority, if the plan gives it.
    pub const fn priority(&self) -> Option<RealtimePriority> {
        self.priority
    }

    /// The time that a job has from the latest instant at which it becomes ready.
    pub const fn urgency(&self) -> Nanos {
        self.deadline.saturating_sub(self.jitter)
    }

    /// The cost as a share of the period.
    pub fn utilisation(&self) -> Ratio {
        Ratio::of(self.cost, self.period)
    }

    /// The cost as a share of the shorter of period and deadline, less the jitter.
    ///
    /// Jobs of a task with jitter are at least a period less the jitter apart, so the task demands
    /// no more than one without jitter and with that period. A jitter as long as the period counts
    /// as full use.
    pub fn density(&self) -> Ratio {
        let shorter = self.period.min(self.deadline).saturating_sub(self.jitter);
        Ratio::of(self.cost, shorter.max(Nanos::from_nanos(1)))
    }
}

/// The utilisation of tasks together.
pub(crate) fn utilisation<'t>(tasks: impl IntoIterator<Item = &'t Task>) -> Ratio {
    tasks.into_iter().fold(Ratio::ZERO, |sum, task| sum.plus(task.utilisation()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_impossible_task_is_answered_with_the_nearest_possible_value() {
        let ms = Nanos::from_millis;
        let good = Task::new("a", ms(2), ms(10)).unwrap();
        let check = |task: Result<Task, BadTask>, expected: &str| {
            assert_eq!(task.unwrap_err().to_string(), expected);
        };
        check(Task::new("a", ms(0), ms(10)), "cost = \"0ns\" is zero; the least value is 1ns");
        check(
            Task::new("a", ms(11), ms(10)),
            "cost = \"11ms\" is longer than the period of 10ms; the largest cost is 10ms",
        );
        check(
            good.clone().with_deadline(ms(1)),
            "cost = \"2ms\" is longer than the deadline of 1ms; the largest cost is 1ms",
        );
        check(
            good.clone().with_jitter(ms(9)),
            "jitter = \"9ms\" leaves less than the cost of 2ms before the deadline of 10ms; the largest jitter is 8ms",
        );
        check(
            good.with_blocking(Nanos::from_secs(3601)),
            "blocking = \"3601s\" is too long; the limit is 1h",
        );
    }
}
