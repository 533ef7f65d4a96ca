//! What a setting of an operation adds to its cost.

use serde::Serialize;

use super::CostRow;
use super::resample::{Estimate, estimate};

/// The changes that people ask for: a setting, and the values from which and to which it changes.
/// Waiting by sleep and by spinning are not among them: they do not compete for the same use.
const CHANGES: [[&str; 3]; 8] = [
    ["operation", "gettime-syscall", "gettime"],
    ["operation", "recycled", "first-touch"],
    ["operation", "memory-copy", "memory-copy-unaligned"],
    ["operation", "memory-copy", "memory-copy-streaming"],
    ["partner", "thread", "process"],
    ["partner-cpu", "same", "other"],
    ["pages", "normal", "huge"],
    ["buffers", "recycled", "fresh"],
];

/// What a change of one setting adds to a cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The setting that changes.
    pub setting: &'static str,
    /// Its first value, and its second.
    pub values: [&'static str; 2],
    /// The cells compared, in that order.
    pub cells: [usize; 2],
    /// The second cost less the first, in nanoseconds per operation.
    pub added_ns: Estimate,
    /// The second cost divided by the first.
    pub ratio: f64,
    /// Whether its interval excludes zero and it exceeds what two measurements of the same thing
    /// differ by.
    pub is_found: bool,
}

/// The differences between all rows of which one is the other after a change.
pub(super) fn differences(rows: &[CostRow]) -> Vec<Difference> {
    let of_change = |change: [&'static str; 3]| {
        let [setting, from, to] = change;
        let second = move |first: &CostRow| {
            let is_changed = |other: &&CostRow| {
                other.has(setting, to) && first.differs_only_in(other, &[setting])
            };
            rows.iter().find(is_changed)
        };
        let firsts = rows.iter().filter(move |row| row.has(setting, from));
        firsts.filter_map(move |first| difference(change, first, second(first)?))
    };
    CHANGES.into_iter().flat_map(of_change).collect()
}

fn difference(
    [setting, from, to]: [&'static str; 3],
    first: &CostRow,
    second: &CostRow,
) -> Option<Difference> {
    let cells = [first.cell, second.cell];
    let (first, second) = (&first.cost, &second.cost);
    let ratio = (first.typical_ns > 0.0).then(|| second.typical_ns / first.typical_ns)?;
    let sides = [first.of_processes_ns.as_slice(), &second.of_processes_ns];
    let added = second.typical_ns - first.typical_ns;
    let added_ns = estimate(added, &sides, |medians| medians[1] - medians[0]);
    let noise = first.noise_floor.zip(second.noise_floor);
    let is_beyond_noise =
        noise.is_some_and(|(a, b)| f64::max(ratio, 1.0 / ratio) - 1.0 > f64::max(a, b));
    let excludes_zero = added_ns.interval.is_some_and(|[low, high]| low > 0.0 || high < 0.0);
    let is_found = is_beyond_noise && excludes_zero;
    Some(Difference { setting, values: [from, to], cells, added_ns, ratio, is_found })
}

#[cfg(test)]
mod tests {
    use tactus_model::cost::Family;

    use super::*;
    use crate::costs::tests::row;

    fn pipe(cell: usize, partner: &str, cpu: &str, cost: f64) -> CostRow {
        let settings = [("operation", "pipe"), ("partner", partner), ("partner-cpu", cpu)];
        row(cell, Family::Switch, &settings, cost)
    }

    #[test]
    fn a_difference_is_found_if_it_exceeds_the_noise() {
        let rows = [
            pipe(0, "thread", "same", 3_000.0),
            pipe(1, "process", "same", 3_600.0),
            pipe(2, "thread", "other", 15_000.0),
            pipe(3, "process", "other", 15_030.0),
        ];
        let found = differences(&rows);
        let of = |setting: &str, cells: [usize; 2]| {
            let same = |found: &&Difference| found.setting == setting && found.cells == cells;
            *found.iter().find(same).unwrap()
        };
        assert_eq!(found.len(), 4, "{found:?}");
        let switch = of("partner", [0, 1]);
        assert!(switch.is_found && (switch.added_ns.value - 600.0).abs() < 1e-9);
        assert!(!of("partner", [2, 3]).is_found, "0.2 % is within the noise");
        assert!(of("partner-cpu", [1, 3]).ratio > 4.0);
    }
}
