//! What a program needs of the CPU.

use serde::{Deserialize, Serialize};
use tactus_model::reserve::{Capacity, NotACapacity};
use tactus_model::time::Nanos;

/// The importance of a need that gives none.
pub const IMPORTANCE_USUAL: u8 = 10;
/// The highest importance; the lowest is 1.
pub const IMPORTANCE_MOST: u8 = 100;

/// A range of CPU time in every period. Durations are in nanoseconds.
///
/// ```
/// use tactus_model::time::Nanos;
/// use tactus_qos::Need;
///
/// // At least 2 ms in every 10 ms, and up to 4 ms while others need less.
/// let need = Need::new(Nanos::from_millis(10), Nanos::from_millis(2));
/// let need = Need { cost_max: Some(Nanos::from_millis(4)), importance: Some(20), ..need };
/// assert_eq!(need.check().unwrap().importance, 20);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Need {
    /// From the start of one period to the next (T).
    pub period: Nanos,
    /// From the start of a period to the deadline of its CPU time (D); usually the period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Nanos>,
    /// The CPU time in each period with which the program can work at all.
    pub cost_min: Nanos,
    /// The most CPU time in each period that the program can use; usually `cost_min`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_max: Option<Nanos>,
    /// The weight with which time above `cost_min` is shared, 1 to [`IMPORTANCE_MOST`]; usually
    /// [`IMPORTANCE_USUAL`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub importance: Option<u8>,
    /// What happens when the thread has used its time; usually [`Overrun::Throttle`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overrun: Option<Overrun>,
    /// Whether the manager adapts the time to the measured use, within the range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapt: Option<bool>,
}

/// What happens when a thread has used its time before the end of the period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overrun {
    /// It waits for its next period.
    #[default]
    Throttle,
    /// It waits for its next period, and followers of the reserve are notified.
    Notify,
    /// It loses its reserve, and goes on under the policy that it had before.
    Release,
}

/// A need that was checked, with its usual values filled in.
///
/// Always 0 < `cost_min` ≤ `cost_max` ≤ `deadline` ≤ `period`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// From the start of one period to the next.
    pub period: Nanos,
    /// From the start of a period to the deadline of its CPU time.
    pub deadline: Nanos,
    /// The least CPU time in each period.
    pub cost_min: Nanos,
    /// The most CPU time in each period.
    pub cost_max: Nanos,
    /// 1 to [`IMPORTANCE_MOST`].
    pub importance: u8,
    /// What happens on overrun.
    pub overrun: Overrun,
    /// Whether the time follows the measured use.
    pub adapt: bool,
}

/// Why a need is impossible, with the nearest possible value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadNeed {
    /// The least cost, the deadline and the period contradict each other.
    #[error(transparent)]
    Capacity(#[from] NotACapacity),
    /// The range is empty.
    #[error("cost_max of {most} is below cost_min of {least}; the least is {least}")]
    EmptyRange {
        /// The `cost_min`.
        least: Nanos,
        /// The `cost_max`.
        most: Nanos,
    },
    /// The most cost does not fit into the deadline.
    #[error(
        "cost_max of {most} is longer than the deadline of {deadline}; the largest is {deadline}"
    )]
    MostTooLong {
        /// The `cost_max`.
        most: Nanos,
        /// The deadline.
        deadline: Nanos,
    },
    /// The period is longer than an hour.
    #[error("the period of {0} is too long; the limit is 1h")]
    PeriodTooLong(Nanos),
    /// The importance is out of range.
    #[error("importance {0} is out of range; write 1 to {IMPORTANCE_MOST}")]
    Importance(u8),
}

impl Need {
    /// The need of exactly `cost` in every `period`.
    pub const fn new(period: Nanos, cost: Nanos) -> Self {
        Self {
            period,
            deadline: None,
            cost_min: cost,
            cost_max: None,
            importance: None,
            overrun: None,
            adapt: None,
        }
    }

    /// Checks the need and fills in usual values.
    ///
    /// # Errors
    /// The need is impossible on any machine.
    pub fn check(&self) -> Result<Terms, BadNeed> {
        if self.period > Nanos::from_secs(3600) {
            return Err(BadNeed::PeriodTooLong(self.period));
        }
        let least = self.cost_min;
        let deadline = self.deadline.unwrap_or(self.period);
        Capacity::new(least, self.period, deadline)?;
        let most = self.cost_max.unwrap_or(least);
        if most < least {
            return Err(BadNeed::EmptyRange { least, most });
        }
        if most > deadline {
            return Err(BadNeed::MostTooLong { most, deadline });
        }
        let importance = self.importance.unwrap_or(IMPORTANCE_USUAL);
        if !(1..=IMPORTANCE_MOST).contains(&importance) {
            return Err(BadNeed::Importance(importance));
        }
        Ok(Terms {
            period: self.period,
            deadline,
            cost_min: least,
            cost_max: most,
            importance,
            overrun: self.overrun.unwrap_or_default(),
            adapt: self.adapt.unwrap_or_default(),
        })
    }
}

impl Terms {
    /// The capacity of `cost` with this period and deadline.
    ///
    /// # Panics
    /// The cost is zero or longer than the deadline.
    pub fn capacity(&self, cost: Nanos) -> Capacity {
        Capacity::new(cost, self.period, self.deadline).expect("the cost is within the deadline")
    }
}

impl From<Capacity> for Need {
    fn from(capacity: Capacity) -> Self {
        let deadline = Some(capacity.deadline()).filter(|deadline| *deadline != capacity.period());
        Self { deadline, ..Self::new(capacity.period(), capacity.cost()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_impossible_need_names_the_nearest_value() {
        let ms = Nanos::from_millis;
        let good = Need::new(ms(10), ms(2));
        let check = |need: Need, expected: &str| {
            assert_eq!(need.check().unwrap_err().to_string(), expected);
        };
        assert_eq!(good.check().unwrap().cost_max, ms(2));
        check(
            Need { cost_max: Some(ms(1)), ..good },
            "cost_max of 1ms is below cost_min of 2ms; the least is 2ms",
        );
        check(
            Need { cost_max: Some(ms(9)), deadline: Some(ms(8)), ..good },
            "cost_max of 9ms is longer than the deadline of 8ms; the largest is 8ms",
        );
        check(
            Need { deadline: Some(ms(11)), ..good },
            "the deadline of 11ms is longer than the period of 10ms; the longest deadline is 10ms",
        );
        check(Need { importance: Some(0), ..good }, "importance 0 is out of range; write 1 to 100");
        check(
            Need::new(Nanos::from_secs(3601), ms(2)),
            "the period of 3601s is too long; the limit is 1h",
        );
    }

    #[test]
    fn a_need_in_json_has_only_known_keys() {
        let need = Need::from("1ms/4ms:3ms".parse::<Capacity>().unwrap());
        let text = serde_json::to_string(&need).unwrap();
        assert_eq!(text, r#"{"period":4000000,"deadline":3000000,"cost_min":1000000}"#);
        assert_eq!(serde_json::from_str::<Need>(&text).unwrap(), need);
        assert!(serde_json::from_str::<Need>(r#"{"period":1,"cost_min":1,"c":2}"#).is_err());
    }
}
