//! Comparison of kernels: a part of a paper that was measured in several of them.
//!
//! The tables of a paper that compares two kernels cannot be compared with a single kernel.
//! If a run has both kinds, a claim about the two is judged on a pair of them.

use serde::Serialize;

use crate::claim::{Claim, Judged, judge_each};
use crate::condition::{Condition, unmet};
use crate::paper::{Graph, Part};
use crate::{Row, StudyRun, View, row};

/// A comparison of the kernels in which a part was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Across<'a> {
    /// The part of the paper.
    #[serde(rename = "name", serialize_with = "crate::by_name")]
    pub part: &'a Part,
    /// The kernels, in the order of the run.
    pub kernels: Vec<&'a str>,
    /// One view for each cell of each graph, without duplicates, with a row for each kernel.
    pub views: Vec<View<'a>>,
    /// Every claim for every kernel, or for every pair if the claim is about two.
    pub claims: Vec<JudgedAcross<'a>>,
}

/// A claim and its outcome in some kernels.
#[derive(Clone, Debug, Serialize)]
pub struct JudgedAcross<'a> {
    /// The kernels of the deciding figures, in the claim's order.
    pub kernels: Vec<&'a str>,
    /// The claim and its outcome.
    #[serde(flatten)]
    pub judged: Judged<'a>,
}

/// Compares the kernels in which `part` was measured.
pub(super) fn across<'a>(part: &'a Part, machines: &'a [StudyRun<'a>]) -> Across<'a> {
    Across {
        part,
        kernels: machines.iter().filter_map(StudyRun::kernel).collect(),
        views: views(part, machines),
        claims: part.claims.iter().flat_map(|claim| judged(claim, part, machines)).collect(),
    }
}

/// The cells of all graphs, without those that an earlier graph shows with the same figures.
fn views<'a>(part: &'a Part, machines: &'a [StudyRun<'a>]) -> Vec<View<'a>> {
    let mut views: Vec<View<'a>> = Vec::new();
    for graph in &part.graphs {
        for cell in &graph.cells {
            let is_shown = |view: &View<'_>| {
                let same_cell = view.rows.iter().any(|row| row.cell == cell);
                let same_figures = view.graph.columns == graph.columns;
                same_cell && same_figures && view.graph.measures == graph.measures
            };
            let rows = rows(graph, cell, machines);
            if !rows.is_empty() && !views.iter().any(is_shown) {
                views.push(View { graph, rows });
            }
        }
    }
    views
}

fn rows<'a>(graph: &'a Graph, cell: &'a str, machines: &'a [StudyRun<'a>]) -> Vec<Row<'a>> {
    let mut rows = Vec::new();
    for &measure in &graph.measures {
        for machine in machines.iter().filter(|machine| machine.shows(graph)) {
            for transfers in crate::distinct_transfers(graph, machine) {
                let row = row(graph, measure, transfers, cell, &machine.measured);
                rows.extend(row.map(|row| Row { kernel: machine.kernel(), ..row }));
            }
        }
    }
    rows
}

/// Judges a claim in each kernel, or if its figures require different kernels, in each choice
/// of kernels. A kernel that meets all conditions is judged alone.
fn judged<'a>(
    claim: &'a Claim,
    part: &Part,
    machines: &'a [StudyRun<'a>],
) -> Vec<JudgedAcross<'a>> {
    let required: Vec<Condition> =
        claim.holds.figures().into_iter().map(|figure| claim.condition(figure, part)).collect();
    let is_all = |machine: &&StudyRun<'_>| {
        required.iter().all(|condition| unmet(condition, machine.facts).is_none())
    };
    let alone = |machine: &'a StudyRun<'a>| vec![machine; required.len()];
    let (fit, others): (Vec<&StudyRun<'_>>, Vec<_>) = machines.iter().partition(is_all);
    let choices: Vec<Vec<&StudyRun<'_>>> = match choices(&required, &others) {
        none if none.is_empty() => machines.iter().map(alone).collect(),
        of_several => fit.into_iter().map(alone).chain(of_several).collect(),
    };
    let of_choice = |choice: Vec<&'a StudyRun<'a>>| {
        let mut kernels: Vec<&str> = Vec::new();
        // An untestable claim (`Holds::Elsewhere`) names no figure, and so no kernel.
        for kernel in choice.iter().filter_map(|machine| machine.kernel()) {
            if !kernels.contains(&kernel) {
                kernels.push(kernel);
            }
        }
        JudgedAcross { kernels, judged: judge_each(claim, part, Some(&choice)) }
    };
    let mut judged: Vec<JudgedAcross<'_>> = Vec::new();
    for found in choices.into_iter().map(of_choice) {
        if !found.kernels.is_empty() || judged.is_empty() {
            judged.push(found);
        }
    }
    judged
}

/// Every assignment of machines to figures in which each machine meets the figure's condition
/// and equal conditions get the same machine. Empty if all conditions are equal, or if no
/// machine meets one of them.
fn choices<'a>(
    required: &[Condition],
    machines: &[&'a StudyRun<'a>],
) -> Vec<Vec<&'a StudyRun<'a>>> {
    let mut distinct: Vec<Condition> = Vec::new();
    for &condition in required {
        if !distinct.contains(&condition) {
            distinct.push(condition);
        }
    }
    if distinct.len() < 2 {
        return Vec::new();
    }
    let mut ways: Vec<Vec<&StudyRun<'_>>> = vec![Vec::new()];
    for condition in &distinct {
        let fit = machines.iter().filter(|machine| unmet(condition, machine.facts).is_none());
        let longer = ways
            .iter()
            .flat_map(|way| fit.clone().map(move |&machine| [way.as_slice(), &[machine]].concat()));
        ways = longer.collect();
    }
    let place = |condition: &Condition| distinct.iter().position(|known| known == condition);
    let given = |way: Vec<&'a StudyRun<'a>>| -> Vec<&'a StudyRun<'a>> {
        required.iter().filter_map(place).filter_map(|place| way.get(place).copied()).collect()
    };
    ways.into_iter().map(given).collect()
}
