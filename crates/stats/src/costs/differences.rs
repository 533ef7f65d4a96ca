//! What a setting of an operation adds to its cost.

use serde::Serialize;
use tactus_model::bytes::Bytes;

use super::CostRow;
use super::comparison::Comparison;
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

/// The amount of memory to which costs of different amounts are scaled.
const PER: Bytes = Bytes::new(1 << 20);

/// What a change of one setting adds to a cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The setting that changes.
    pub setting: &'static str,
    /// Its first value, and its second.
    pub values: [&'static str; 2],
    /// The cells compared, in that order.
    pub cells: [usize; 2],
    /// The amount of memory to which both costs are scaled, because operations of the two cells touch
    /// different amounts; `None` if the costs are those of an operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per: Option<Bytes>,
    /// The second cost less the first, in nanoseconds.
    pub added_ns: Estimate,
    /// The second cost divided by the first.
    pub ratio: Estimate,
    /// The relative difference that independent measurements of both can have by chance.
    pub noise: Option<f64>,
    /// Whether the interval of the ratio excludes one and the ratio exceeds the noise.
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
    let per = (first.touched != second.touched).then_some(PER);
    let scale = [first, second].map(|row| match (per, row.touched) {
        (Some(per), Some(touched)) => per.get() as f64 / touched.get().max(1) as f64,
        _ => 1.0,
    });
    let costs = [&first.cost, &second.cost];
    let comparison = Comparison::of(costs[0], costs[1], scale[1] / scale[0])?;
    let added = |costs: &[f64]| scale[1] * costs[1] - scale[0] * costs[0];
    let resamples = costs.map(|cost| &cost.resamples);
    Some(Difference {
        setting,
        values: [from, to],
        cells: [first.cell, second.cell],
        per,
        added_ns: estimate(added(&costs.map(|cost| cost.typical_ns)), &resamples, added),
        ratio: comparison.ratio,
        noise: comparison.noise,
        is_found: comparison.is_found(),
    })
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
    fn pages_of_different_sizes_are_compared_by_the_memory() {
        let fault = |cell, pages, touched: u64, cost| {
            let settings = [("operation", "fault"), ("pages", pages)];
            CostRow {
                touched: Some(Bytes::new(touched)),
                ..row(cell, Family::Trap, &settings, cost)
            }
        };
        let rows = [fault(0, "normal", 4 << 10, 1_000.0), fault(1, "huge", 2 << 20, 50_000.0)];
        let [found] = differences(&rows)[..] else { panic!() };
        // 256 faults for a mebibyte, or half of one.
        assert!((found.added_ns.value - (25_000.0 - 256_000.0)).abs() < 1e-6, "{found:?}");
        assert!((found.ratio.value - 25.0 / 256.0).abs() < 1e-9 && found.is_found, "{found:?}");
        assert_eq!(found.per, Some(Bytes::new(1 << 20)));
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
        let [low, high] = switch.ratio.interval.unwrap();
        assert!((1.1..1.2).contains(&low) && (1.2..1.3).contains(&high), "{switch:?}");
        assert!(of("partner-cpu", [1, 3]).ratio.value > 4.0);
    }
}
