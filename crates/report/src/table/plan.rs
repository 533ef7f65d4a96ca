//! The table of a plan's cells, before anything is measured.

use tactus_model::cell::Cell;
use tactus_model::experiment::Plan;
use tactus_model::label::differing_settings;

use super::TableOptions;
use super::column::{Column, Entry};
use super::content::cell_number;
use super::grid::grid;
use crate::format;
use crate::until::rounds_text;
use crate::wrap::wrapped;

/// Writes the cells of `plan`, their common settings, and how long the plan will take.
pub fn plan_table(plan: &Plan, options: &TableOptions) -> String {
    let mut text = head(plan);
    if !plan.about.is_empty() {
        text.push_str(&wrapped(&plan.about, "", options.width));
    }
    text + &settings(&plan.cells, options)
}

/// The known settings that all cells have in common, and a table of the others.
pub(super) fn settings(cells: &[Cell], options: &TableOptions) -> String {
    let differing = differing_settings(cells);
    let common = cells.first().map_or(String::new(), |cell| common(cell, &differing));
    let mut text = match common.is_empty() {
        true => String::new(),
        false => wrapped(&format!("In every cell: {common}"), "", options.width),
    };
    if differing.is_empty() {
        return text;
    }
    let numbered: Vec<(usize, &Cell)> = cells.iter().enumerate().collect();
    let mut columns = vec![cell_number(&numbered, |(index, _)| *index)];
    columns.extend(differing.iter().map(|setting| {
        Column::names(setting, &numbered, |(_, cell)| Entry::text(value_of(cell, setting)))
    }));
    text.push('\n');
    text.push_str(&grid(columns, options.width));
    text
}

fn head(plan: &Plan) -> String {
    let turns = plan.turns();
    format!(
        "{}: {}, {}, {}, about {}; seed {}\n",
        plan.name,
        format::counted(plan.cells.len() as u64, "cell"),
        rounds_text(plan),
        format::counted(turns.len() as u64, "turn"),
        format::span(plan.estimate(&turns)),
        plan.seed,
    )
}

fn common(cell: &Cell, differing: &[&str]) -> String {
    let is_common = |name| !differing.contains(&name) && cell.knows(name);
    let settings = cell.settings().filter(|(name, _)| is_common(*name));
    settings.map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
}

fn value_of(cell: &Cell, name: &str) -> String {
    cell.settings()
        .find(|(setting, _)| *setting == name)
        .map(|(_, value)| value)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_plan_before_it_is_carried_out() {
        insta::assert_snapshot!(plan_table(
            &fixture::quick().header.plan,
            &TableOptions::default()
        ));
    }
}
