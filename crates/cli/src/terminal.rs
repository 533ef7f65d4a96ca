//! What goes to the terminal, and how wide that is.

use std::io::{IsTerminal, Write};

use tactus_model::experiment::Plan;
use tactus_report::TableOptions;

use crate::error::CommandResult;
use crate::json_lines::write_line;

/// Tables as wide as the terminal they go to.
pub(crate) fn table_options() -> TableOptions {
    let terminal = std::io::stdout().is_terminal().then(width).flatten();
    terminal.map_or_else(TableOptions::default, TableOptions::of_width)
}

fn width() -> Option<usize> {
    console::Term::stdout().size_checked().map(|(_, columns)| usize::from(columns))
}

/// Prints the cells of a plan and how long they will take.
pub(crate) fn print_plan(plan: &Plan, json: bool) -> CommandResult {
    if json {
        return Ok(write_line(plan)?);
    }
    Ok(write!(std::io::stdout(), "{}", tactus_report::plan_table(plan, &table_options()))?)
}
