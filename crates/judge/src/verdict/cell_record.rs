//! The data of a cell that the rules use.

use tactus_model::cell::Cell;
use tactus_model::result::{Accounting, Measurement};
use tactus_model::run::Run;

/// A cell of a run that has a result.
pub(super) struct CellRecord<'r> {
    /// The cell's name in the run.
    pub(super) label: String,
    /// The settings from the plan.
    pub(super) cell: &'r Cell,
    /// Its measurements, one per round; at least one.
    pub(super) measurements: Vec<&'r Measurement>,
    /// The accounting of the wakeups of all rounds.
    pub(super) accounting: Accounting,
}

impl<'r> CellRecord<'r> {
    /// The cells with a result, in the order of the plan.
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

/// The names of a few cells and the number of the others.
pub(super) fn named<'e>(cells: impl Iterator<Item = &'e CellRecord<'e>>) -> Option<String> {
    let labels: Vec<&str> = cells.map(|cell| cell.label.as_str()).collect();
    match labels[..] {
        [] => None,
        [_] | [_, _] | [_, _, _] => Some(labels.join(", ")),
        [first, second, ..] => {
            Some(format!("{first}, {second} and {} other cells", labels.len() - 2))
        }
    }
}
