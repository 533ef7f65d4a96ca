//! Reserves: capacity that a program is granted.

mod rung;
mod usage;

use std::fmt;
use std::str::FromStr;

use crate::text::serde_as_text;
use crate::time::{Nanos, NotALength};

pub use rung::{RefusedRung, Rung};
pub use usage::{History, Precision, ReserveUsage, ThreadUsage, Window};

/// The capacity of a reserve: `cost` units of CPU time in every `period`, each by `deadline` after
/// the start of its period. It is the paper's C and T (Mercer, Zelenka, Rajkumar 1994, CMU-CS-94-165, section 2).
///
/// As text: `3ms/10ms`, or `3ms/10ms:8ms` with a deadline before the end of the period. Always
/// 0 < cost ≤ deadline ≤ period; a mechanism may permit less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Capacity {
    cost: Nanos,
    period: Nanos,
    deadline: Nanos,
}

impl Capacity {
    /// Makes a capacity.
    ///
    /// # Errors
    /// One of them is zero, the cost is longer than the deadline, or the deadline is longer than the
    /// period.
    pub fn new(cost: Nanos, period: Nanos, deadline: Nanos) -> Result<Self, NotACapacity> {
        if cost == Nanos::ZERO {
            return Err(NotACapacity::Zero);
        }
        if period == Nanos::ZERO || deadline == Nanos::ZERO {
            return Err(NotACapacity::NoTime);
        }
        if deadline > period {
            return Err(NotACapacity::DeadlineTooLong { deadline, period });
        }
        if cost > deadline {
            let what = if deadline == period { "period" } else { "deadline" };
            return Err(NotACapacity::CostTooLong { cost, what, limit: deadline });
        }
        Ok(Self { cost, period, deadline })
    }

    /// The CPU time in each period.
    pub const fn cost(self) -> Nanos {
        self.cost
    }

    /// From the start of one period to the next.
    pub const fn period(self) -> Nanos {
        self.period
    }

    /// From the start of a period to the deadline of its CPU time.
    pub const fn deadline(self) -> Nanos {
        self.deadline
    }

    /// The cost as a share of the period, above 0 and at most 1.
    pub fn utilisation(self) -> f64 {
        self.cost.as_nanos() as f64 / self.period.as_nanos() as f64
    }
}

impl fmt::Display for Capacity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cost, period, deadline } = self;
        if deadline == period {
            f.pad(&format!("{cost}/{period}"))
        } else {
            f.pad(&format!("{cost}/{period}:{deadline}"))
        }
    }
}

/// The error for a text that is not a capacity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotACapacity {
    /// The text has another form.
    #[error(
        "`{0}` is not a capacity: write the CPU time and the period, e.g. 3ms/10ms, or 3ms/10ms:8ms with a deadline"
    )]
    Form(String),
    /// One of the durations is invalid.
    #[error(transparent)]
    Length(#[from] NotALength),
    /// The cost is zero.
    #[error("a capacity of zero guarantees nothing; write a cost above zero")]
    Zero,
    /// The period or the deadline is zero.
    #[error("a period or a deadline of zero leaves no time; write e.g. 3ms/10ms")]
    NoTime,
    /// The cost is longer than the period or the deadline.
    #[error("the cost of {cost} is longer than the {what} of {limit}; the largest cost is {limit}")]
    CostTooLong {
        /// The cost.
        cost: Nanos,
        /// What limits it.
        what: &'static str,
        /// The limit.
        limit: Nanos,
    },
    /// The deadline is longer than the period.
    #[error(
        "the deadline of {deadline} is longer than the period of {period}; the longest deadline is {period}"
    )]
    DeadlineTooLong {
        /// The deadline.
        deadline: Nanos,
        /// The period.
        period: Nanos,
    },
}

impl FromStr for Capacity {
    type Err = NotACapacity;

    fn from_str(text: &str) -> Result<Self, NotACapacity> {
        let (cost, rest) =
            text.split_once('/').ok_or_else(|| NotACapacity::Form(text.to_owned()))?;
        let (period, deadline) = rest.split_once(':').unwrap_or((rest, rest));
        Self::new(cost.parse()?, period.parse()?, deadline.parse()?)
    }
}

serde_as_text!(Capacity);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capacity_is_parsed_and_formatted() {
        for (text, shown) in [("3ms/10ms", "3ms/10ms"), ("3ms/10ms:8ms", "3ms/10ms:8ms")] {
            let capacity: Capacity = text.parse().unwrap();
            assert_eq!(capacity.to_string(), shown);
        }
        assert_eq!("3ms/10ms:10ms".parse::<Capacity>().unwrap().to_string(), "3ms/10ms");
    }

    #[test]
    fn an_impossible_capacity_names_the_nearest() {
        let check = |text: &str, expected: &str| {
            assert_eq!(text.parse::<Capacity>().unwrap_err().to_string(), expected);
        };
        check("0ms/10ms", "a capacity of zero guarantees nothing; write a cost above zero");
        let no_time = "a period or a deadline of zero leaves no time; write e.g. 3ms/10ms";
        check("1ms/0ms", no_time);
        check("1ms/10ms:0ms", no_time);
        check(
            "12ms/10ms",
            "the cost of 12ms is longer than the period of 10ms; the largest cost is 10ms",
        );
        check(
            "3ms/10ms:2ms",
            "the cost of 3ms is longer than the deadline of 2ms; the largest cost is 2ms",
        );
        check(
            "3ms/10ms:20ms",
            "the deadline of 20ms is longer than the period of 10ms; the longest deadline is 10ms",
        );
        assert!("3ms".parse::<Capacity>().is_err());
    }
}
