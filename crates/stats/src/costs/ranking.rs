//! Which way of doing the same is best, by size.
//!
//! Ways compete if all else is equal: the settings, the load and the policy. So one that spins is
//! never ranked with one that sleeps, whose CPU others can use.

use serde::Serialize;
use tactus_model::bytes::Bytes;
use tactus_model::cost::Family;

use super::comparison::Comparison;
use super::resample::{Estimate, estimate};
use super::{CostRow, CostSummary, SIZES};

/// By what ways are ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Criterion {
    /// The typical cost.
    Typical,
    /// The 99th percentile.
    Tail,
}

/// The best ways of a group of competing ones, by size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ranking {
    /// By what they are ranked.
    pub criterion: Criterion,
    /// The cell of one of them, for what they have in common.
    pub cell: usize,
    /// The number of ways.
    pub ways: usize,
    /// The best at each size, ascending; one without a size if the ways have none.
    pub best: Vec<Best>,
    /// Where one way takes over from another; only of typical costs.
    pub crossovers: Vec<Crossover>,
    /// The cells that have too few samples to be ranked by the criterion.
    pub unranked: Vec<usize>,
}

/// The best way at a size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Best {
    /// The size.
    pub size: Option<Bytes>,
    /// Its cell.
    pub cell: usize,
    /// What it takes, in nanoseconds per operation, by the criterion.
    pub takes_ns: f64,
    /// The cells of those that cannot be distinguished from it, the best first.
    pub ties: Vec<usize>,
}

/// Where one way takes over from another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Crossover {
    /// The cell that is best below, at the largest such size.
    pub below: usize,
    /// The cell that is best above, at the smallest such size.
    pub above: usize,
    /// The size at which both cost the same, in bytes: between two measured ones, on the lines
    /// that connect the costs in a drawing with logarithmic axes.
    pub at: Estimate,
}

impl Criterion {
    fn takes(self, cost: &CostSummary) -> Option<f64> {
        match self {
            Self::Typical => Some(cost.typical_ns),
            Self::Tail => cost.p99_ns,
        }
    }

    /// Whether `other` is worse than `best` by more than both can be known.
    fn separates(self, best: &CostSummary, other: &CostSummary) -> bool {
        match self {
            Self::Typical => Comparison::of(best, other, 1.0).is_some_and(|found| found.is_found()),
            // There is no noise floor of tails.
            Self::Tail => match (best.p99_interval, other.p99_interval) {
                (Some([_, best]), Some([other, _])) => best < other,
                _ => false,
            },
        }
    }
}

/// Whether operations of a family are ways of doing the same.
const fn competes(family: Family) -> bool {
    !matches!(family, Family::Trap | Family::Memory)
}

/// Ranks all groups of competing ways, by both criteria.
pub(super) fn rankings(rows: &[CostRow]) -> Vec<Ranking> {
    let without: Vec<&str> = SIZES.into_iter().chain(["operation"]).collect();
    let mut groups: Vec<Vec<&CostRow>> = Vec::new();
    for row in rows.iter().filter(|row| competes(row.family)) {
        let belongs = |group: &&mut Vec<&CostRow>| {
            group[0].family == row.family && group[0].differs_only_in(row, &without)
        };
        match groups.iter_mut().find(belongs) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    let both = [Criterion::Typical, Criterion::Tail];
    groups.iter().flat_map(|group| both.map(|by| ranking(by, group))).flatten().collect()
}

fn ranking(criterion: Criterion, group: &[&CostRow]) -> Option<Ranking> {
    let mut ways: Vec<&str> = group.iter().filter_map(|row| row.operation()).collect();
    ways.sort_unstable();
    ways.dedup();
    let mut sizes: Vec<Option<Bytes>> = group.iter().map(|row| row.size()).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let ranked: Vec<Ranked<'_>> =
        sizes.into_iter().filter_map(|size| Ranked::of(criterion, size, group)).collect();
    let crossovers = match criterion {
        Criterion::Typical => {
            ranked.windows(2).filter_map(|pair| crossover(&pair[0], &pair[1])).collect()
        }
        Criterion::Tail => Vec::new(),
    };
    let best: Vec<Best> = ranked.iter().map(Ranked::best).collect();
    let without = group.iter().filter(|row| criterion.takes(&row.cost).is_none());
    (ways.len() > 1 && !best.is_empty()).then(|| Ranking {
        criterion,
        cell: group[0].cell,
        ways: ways.len(),
        best,
        crossovers,
        unranked: without.map(|row| row.cell).collect(),
    })
}

/// The ways at a size, the best first; at least two.
struct Ranked<'r> {
    size: Option<Bytes>,
    ways: Vec<(&'r CostRow, f64)>,
    /// Those that cannot be distinguished from the best.
    ties: Vec<&'r CostRow>,
}

impl<'r> Ranked<'r> {
    fn of(criterion: Criterion, size: Option<Bytes>, group: &[&'r CostRow]) -> Option<Self> {
        let of_size = group.iter().copied().filter(|row| row.size() == size);
        let mut ways: Vec<(&CostRow, f64)> =
            of_size.filter_map(|row| Some((row, criterion.takes(&row.cost)?))).collect();
        ways.sort_by(|a, b| a.1.total_cmp(&b.1));
        let [(best, _), _, ..] = ways[..] else { return None };
        let others = ways[1..].iter().map(|(row, _)| *row);
        let ties = others.filter(|other| !criterion.separates(&best.cost, &other.cost)).collect();
        Some(Self { size, ways, ties })
    }

    fn best(&self) -> Best {
        let (row, takes_ns) = self.ways[0];
        let ties = self.ties.iter().map(|tie| tie.cell).collect();
        Best { size: self.size, cell: row.cell, takes_ns, ties }
    }

    /// The row of an operation.
    fn way(&self, operation: Option<&str>) -> Option<&'r CostRow> {
        let row = self.ways.iter().find(|(row, _)| row.operation() == operation);
        row.map(|(row, _)| *row)
    }

    fn is_best(&self, operation: Option<&str>) -> bool {
        let ties = self.ties.iter().map(|row| row.operation());
        self.ways[0].0.operation() == operation || ties.into_iter().any(|tie| tie == operation)
    }
}

/// Where the best way changes between two successive sizes; `None` if it stays, or cannot be distinguished
/// from the other at one of them.
fn crossover(lower: &Ranked<'_>, upper: &Ranked<'_>) -> Option<Crossover> {
    let (below, above) = (lower.ways[0].0, upper.ways[0].0);
    if lower.is_best(above.operation()) || upper.is_best(below.operation()) {
        return None;
    }
    let sizes = [lower.size?.get() as f64, upper.size?.get() as f64];
    let four = [below, lower.way(above.operation())?, upper.way(below.operation())?, above];
    let sides = four.map(|row| &row.cost.resamples);
    let value = meeting(sizes, &four.map(|row| row.cost.typical_ns));
    let at = estimate(value, &sides, |medians| meeting(sizes, medians));
    Some(Crossover { below: below.cell, above: above.cell, at })
}

/// The size at which two costs are equal, from both at each of two sizes; within those.
fn meeting([low, high]: [f64; 2], costs: &[f64]) -> f64 {
    let [first, second] = [costs[0] / costs[1], costs[2] / costs[3]].map(f64::ln);
    match (first < 0.0, second > 0.0) {
        (false, _) => low,
        (_, false) => high,
        _ => (low.ln() + first / (first - second) * (high / low).ln()).exp(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::costs::tests::row;

    fn way(cell: usize, operation: &str, wait: &str, size: &str, cost: f64) -> CostRow {
        let settings = [("operation", operation), ("size", size), ("wait", wait)];
        row(cell, Family::Switch, &settings, cost)
    }

    #[test]
    fn the_cheapest_way_depends_on_the_size_and_never_on_one_that_waits_otherwise() {
        let rows = [
            way(0, "ipc-pipe", "block", "64B", 3_000.0),
            way(1, "ipc-pipe", "block", "1MiB", 400_000.0),
            way(2, "ipc-shared-memory", "block", "64B", 6_000.0),
            way(3, "ipc-shared-memory", "block", "1MiB", 100_000.0),
            way(4, "ipc-tcp", "block", "64B", 9_000.0),
            way(5, "ipc-shared-memory", "spin", "64B", 200.0),
        ];
        let found = rankings(&rows);
        let [typical, tail] = &found[..] else { panic!("a way alone has no rank: {found:?}") };
        assert_eq!((typical.criterion, typical.ways), (Criterion::Typical, 3));
        let best: Vec<(usize, usize)> =
            typical.best.iter().map(|best| (best.cell, best.ties.len())).collect();
        assert_eq!(best, [(0, 0), (3, 0)]);
        let [crossover] = &typical.crossovers[..] else { panic!("{typical:?}") };
        assert_eq!((crossover.below, crossover.above), (0, 3));
        let [low, high] = crossover.at.interval.unwrap();
        assert!(low < crossover.at.value && crossover.at.value < high, "{crossover:?}");
        // Equal where half the logarithmic distance in costs is covered: a third of the sizes.
        assert!((1_600.0..1_700.0).contains(&crossover.at.value), "{crossover:?}");
        assert_eq!(tail.criterion, Criterion::Tail);
        assert_eq!(tail.best[0].takes_ns, 6_000.0, "the 99th percentile of the pipe");
    }

    #[test]
    fn what_cannot_be_distinguished_is_a_tie_without_a_crossover() {
        let rows = [
            way(0, "ipc-pipe", "block", "64B", 3_000.0),
            way(1, "ipc-pipe", "block", "1MiB", 400_000.0),
            way(2, "ipc-tcp", "block", "64B", 3_020.0),
            way(3, "ipc-tcp", "block", "1MiB", 398_000.0),
        ];
        let found = rankings(&rows);
        assert_eq!(found[0].best[0].ties, [2]);
        assert_eq!(found[0].best[1].ties, [1]);
        assert!(found[0].crossovers.is_empty(), "{found:?}");
    }

    #[test]
    fn operations_that_do_different_things_have_no_rank() {
        let memory = |cell, operation| row(cell, Family::Memory, &[("operation", operation)], 1.0);
        assert!(rankings(&[memory(0, "memory-read"), memory(1, "memory-copy")]).is_empty());
    }

    #[test]
    fn costs_meet_between_the_sizes_on_logarithmic_axes() {
        let half = meeting([100.0, 10_000.0], &[1.0, 2.0, 2.0, 1.0]);
        assert!((half - 1000.0).abs() < 1e-6, "{half}");
        assert!((meeting([100.0, 10_000.0], &[2.0, 1.0, 3.0, 1.0]) - 100.0).abs() < 1e-6);
        assert!((meeting([100.0, 10_000.0], &[1.0, 2.0, 1.0, 3.0]) - 10_000.0).abs() < 1e-6);
    }
}
