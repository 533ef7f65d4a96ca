//! The causes of late wakeups, counted by a bounded number of names.

use std::collections::BTreeMap;

use tactus_explain::{Cause, Explanation};

/// The most names; what has another name counts as `other`.
pub const CAUSES_MAX: usize = 32;

/// The name of causes that came after [`CAUSES_MAX`] others.
const OTHER: &str = "other";

/// The most characters of a name.
const NAME_MAX: usize = 100;

/// Why a late wakeup has no cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// Nothing was recorded at that time.
    NotRecorded,
    /// The events do not reach back to it, or do not explain it.
    NotExplained,
}

impl Unknown {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::NotRecorded => "not recorded",
            // The word of explanations for time without a cause.
            Self::NotExplained => "unexplained gap",
        }
    }
}

/// How many wakeups were late by which cause.
#[derive(Clone, Debug, Default)]
pub(crate) struct Causes(BTreeMap<String, u64>);

impl Causes {
    /// Counts late wakeups of one cause.
    pub(crate) fn add(&mut self, name: &str, count: u64) {
        let name: String = name.chars().take(NAME_MAX).collect();
        let is_known = self.0.contains_key(&name);
        let name = if is_known || self.0.len() < CAUSES_MAX { name } else { OTHER.to_owned() };
        *self.0.entry(name).or_default() += count;
    }

    /// The names with their counts.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, count)| (name.as_str(), *count))
    }
}

/// The greatest part of the worst wakeup of an explanation.
pub(crate) fn main_cause(explanation: &Explanation) -> Option<String> {
    explanation.worst.first()?.parts.first().map(|part| name(&part.cause))
}

/// The main causes of the late wakeups of an explanation, each with the number of its wakeups.
pub(crate) fn main_causes(explanation: &Explanation) -> Vec<(String, u64)> {
    let rows = explanation.pareto.rows.iter().filter(|row| row.first > 0);
    rows.map(|row| (name(&row.cause), row.first)).collect()
}

fn name(cause: &Cause) -> String {
    cause.by_name().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_beyond_the_limit_count_as_other() {
        let mut causes = Causes::default();
        for number in 0..1000 {
            causes.add(&format!("thread {number}"), 2);
        }
        causes.add("thread 3", 1);
        assert_eq!(causes.iter().count(), CAUSES_MAX + 1);
        assert_eq!(causes.iter().map(|(_, count)| count).sum::<u64>(), 2001);
        let found = |wanted| causes.iter().find(|(name, _)| *name == wanted).unwrap().1;
        assert_eq!((found("thread 3"), found(OTHER)), (3, 2 * (1000 - CAUSES_MAX as u64)));
    }

    #[test]
    fn the_unexplained_has_one_name() {
        assert_eq!(Unknown::NotExplained.name(), name(&Cause::UnexplainedGap));
    }

    #[test]
    fn long_names_are_cut() {
        let mut causes = Causes::default();
        causes.add(&"µ".repeat(1000), 1);
        assert_eq!(causes.iter().next().unwrap().0.chars().count(), NAME_MAX);
    }
}
