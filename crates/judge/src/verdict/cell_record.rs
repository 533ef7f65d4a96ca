//! What a run holds of a cell, as the rules look at it.

use tactus_model::cell::Cell;
use tactus_model::result::{Accounting, Measurement};
use tactus_model::run::Run;

/// A cell of a run that yielded a result.
pub(super) struct Evidence<'r> {
    /// Its name among the cells of the run.
    pub(super) label: String,
    /// What was asked for.
    pub(super) cell: &'r Cell,
    /// Its measurements, a round each; at least one.
    pub(super) measurements: Vec<&'r Measurement>,
    /// What became of the wakeups of all rounds.
    pub(super) accounting: Accounting,
}

impl<'r> Evidence<'r> {
    /// The cells that yielded a result, in the order of the plan.
    pub(super) fn of_cells(run: &'r Run) -> Vec<Self> {
        let plan = &run.header.plan;
        plan.cells
            .iter()
            .zip(plan.labels())
            .enumerate()
            .filter_map(|(index, (cell, label))| {
                let measurements: Vec<&Measurement> = run.of_cell(index).collect();
                let mut accounting = Accounting::default();
                for measurement in &measurements {
                    accounting += measurement.accounting();
                }
                let seen = !measurements.is_empty();
                seen.then_some(Self { label, cell, measurements, accounting })
            })
            .collect()
    }
}

/// Names a few cells and counts the others.
pub(super) fn named<'e>(cells: impl Iterator<Item = &'e Evidence<'e>>) -> Option<String> {
    let labels: Vec<&str> = cells.map(|cell| cell.label.as_str()).collect();
    match labels[..] {
        [] => None,
        [_] | [_, _] | [_, _, _] => Some(labels.join(", ")),
        [first, second, ..] => {
            Some(format!("{first}, {second} and {} other cells", labels.len() - 2))
        }
    }
}
