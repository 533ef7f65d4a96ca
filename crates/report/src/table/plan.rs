//! The table of a plan's cells, before anything is measured.

use tactus_model::cell::differing_settings;
use tactus_model::experiment::Plan;

use super::TableOptions;
use super::grid::{Align, Column, grid, wrapped};
use crate::format;

/// Writes the cells of `plan`, what they have in common, and how long they will take.
pub fn plan_table(plan: &Plan, options: &TableOptions) -> String {
    let differing = differing_settings(&plan.cells);
    let turns = plan.turns();
    let mut text = format!(
        "{}: {}, {}, {}, about {}; seed {}\n",
        plan.name,
        format::counted(plan.cells.len() as u64, "cell"),
        format::counted(plan.rounds.into(), "round"),
        format::counted(turns.len() as u64, "turn"),
        format::span(plan.estimate(&turns)),
        plan.seed,
    );
    if !plan.about.is_empty() {
        text.push_str(&wrapped(&plan.about, "", options.width));
    }
    let common = plan.cells.first().map(|cell| {
        let settings = cell.settings().filter(|(name, _)| !differing.contains(name));
        settings.map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
    });
    if let Some(common) = common.filter(|common| !common.is_empty()) {
        text.push_str(&wrapped(&format!("In every cell: {common}"), "", options.width));
    }
    if differing.is_empty() {
        return text;
    }
    let mut columns = vec![Column::new(
        "cell",
        Align::Right,
        0,
        (1..=plan.cells.len()).map(|n| n.to_string()).collect(),
    )];
    columns.extend(differing.iter().map(|setting| {
        let values = plan.cells.iter().map(|cell| value_of(cell, setting)).collect();
        Column::new(setting, Align::Left, 0, values)
    }));
    text.push('\n');
    text.push_str(&grid(columns, options.width));
    text
}

fn value_of(cell: &tactus_model::cell::Cell, name: &str) -> String {
    cell.settings()
        .find(|(setting, _)| *setting == name)
        .map(|(_, value)| value)
        .unwrap_or_default()
}
