//! What is known of the terminal.

use std::io::IsTerminal;

use tactus_report::TableOptions;

/// Tables as wide as the terminal they go to.
pub(crate) fn table_options() -> TableOptions {
    let terminal = std::io::stdout().is_terminal().then(width).flatten();
    terminal.map_or_else(TableOptions::default, TableOptions::of_width)
}

fn width() -> Option<usize> {
    console::Term::stdout().size_checked().map(|(_, columns)| usize::from(columns))
}
