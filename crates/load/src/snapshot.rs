//! What a load has achieved so far.

use tactus_model::load::Load;
use tactus_model::result::{Count, LoadResult, PartResult};
use tactus_model::time::Nanos;

use crate::counters::{CopyCounters, State};
use crate::loads::Measure;

/// What a load has achieved so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadSnapshot {
    /// The number of copies at work.
    pub copies: u32,
    /// What one operation is; empty if operations cannot be counted.
    pub unit: &'static str,
    /// Operations so far; `None` if they cannot be counted.
    pub operations: Option<u64>,
    /// Bytes so far; `None` if they cannot be counted.
    pub bytes: Option<u64>,
    /// CPU time so far of all processes of the load, including ended processes that were
    /// waited for; in steps of 10 ms. `None` if it cannot be read.
    pub cpu_time: Option<Nanos>,
    /// What else is counted, and how often it happened so far.
    pub others: Vec<(&'static str, u64)>,
    /// For several loads side by side: what each has achieved, without its CPU time.
    pub parts: Vec<(Load, LoadSnapshot)>,
}

impl LoadSnapshot {
    /// What the copies of one load have achieved, without their CPU time.
    pub(crate) fn of<'c>(
        measure: Measure,
        copies: impl Iterator<Item = CopyCounters<'c>> + Clone,
        alive: bool,
    ) -> Self {
        let sum =
            |count: &dyn Fn(CopyCounters<'_>) -> u64| -> u64 { copies.clone().map(count).sum() };
        let running = copies.clone().filter(|copy| alive && copy.state() == State::Running).count();
        let others = measure.others.iter().enumerate();
        Self {
            copies: u32::try_from(running).unwrap_or(u32::MAX),
            unit: measure.unit,
            operations: (!measure.unit.is_empty()).then(|| sum(&|copy| copy.operations())),
            bytes: measure.bytes.then(|| sum(&|copy| copy.bytes())),
            cpu_time: None,
            others: others.map(|(number, what)| (*what, sum(&|copy| copy.other(number)))).collect(),
            parts: Vec::new(),
        }
    }

    /// What several loads side by side have achieved.
    pub(crate) fn of_parts(parts: Vec<(Load, Self)>) -> Self {
        let copies = parts.iter().map(|(_, part)| part.copies).sum();
        Self { copies, parts, ..Self::default() }
    }

    /// What was achieved since `earlier`, a snapshot of the same load.
    ///
    /// Differences saturate at zero: the CPU time of a process that ended without being waited
    /// for is lost.
    pub fn since(&self, earlier: &Self) -> LoadResult {
        let grown = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        LoadResult {
            copies: earlier.copies,
            ended: earlier.copies.saturating_sub(self.copies),
            unit: self.unit.to_owned(),
            operations: grown(self.operations, earlier.operations),
            bytes: grown(self.bytes, earlier.bytes),
            cpu_time: self.cpu_time.zip(earlier.cpu_time).map(|(now, then)| now - then),
            // Both snapshots are of the same load, so they have the same counts and parts.
            others: self
                .others
                .iter()
                .zip(&earlier.others)
                .map(|((what, now), (_, then))| Count {
                    what: (*what).to_owned(),
                    count: now.saturating_sub(*then),
                })
                .collect(),
            parts: self
                .parts
                .iter()
                .zip(&earlier.parts)
                .map(|((load, now), (_, then))| PartResult {
                    load: load.clone(),
                    achieved: now.since(then),
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_the_difference_of_two_snapshots() {
        let earlier = LoadSnapshot {
            copies: 3,
            unit: "write",
            operations: Some(10),
            bytes: None,
            cpu_time: Some(Nanos::from_millis(20)),
            others: vec![("write refused", 2)],
            parts: Vec::new(),
        };
        let later = LoadSnapshot {
            copies: 2,
            operations: Some(15),
            cpu_time: Some(Nanos::from_millis(50)),
            others: vec![("write refused", 5)],
            ..earlier.clone()
        };
        let expected = LoadResult {
            copies: 3,
            ended: 1,
            unit: "write".to_owned(),
            operations: Some(5),
            bytes: None,
            cpu_time: Some(Nanos::from_millis(30)),
            others: vec![Count { what: "write refused".to_owned(), count: 3 }],
            parts: Vec::new(),
        };
        assert_eq!(later.since(&earlier), expected);
        let load: Load = "disk:3".parse().unwrap();
        let both = [&earlier, &later].map(|part| {
            LoadSnapshot::of_parts(vec![(load.clone(), part.clone()), (load.clone(), part.clone())])
        });
        let together = both[1].since(&both[0]);
        assert_eq!((together.copies, together.ended, together.operations), (6, 2, None));
        assert_eq!(together.parts.len(), 2);
        assert_eq!(together.parts[1].achieved, expected);
    }
}
