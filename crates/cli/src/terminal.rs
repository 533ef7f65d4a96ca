//! Texts for the terminal, and its width.

use std::io::{IsTerminal, Write};

use tactus_app::recording;
use tactus_model::experiment::Plan;
use tactus_model::result::Shortfall;
use tactus_record::file::RecordingFile;
use tactus_report::TableOptions;

use crate::error::CommandResult;
use crate::json_lines::write_line;

/// Table options with the width of the terminal.
pub(crate) fn table_options() -> TableOptions {
    let terminal = std::io::stdout().is_terminal().then(width).flatten();
    terminal.map_or_else(TableOptions::default, TableOptions::of_width)
}

fn width() -> Option<usize> {
    console::Term::stdout().size_checked().map(|(_, columns)| usize::from(columns))
}

/// Writes a line to standard error. Nothing depends on these lines: a reader that closed it, or a
/// full disk behind it, does not end a measurement.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($text)*);
    }};
}
pub(crate) use say;

/// What was requested and not granted, with its fix, as lines.
pub(crate) fn shortfall_text(shortfall: &Shortfall) -> String {
    let Shortfall { asked, granted, reason, fix, .. } = shortfall;
    let fix = fix.as_ref().map(|fix| format!("fix: {fix}\n"));
    format!("warning: requested {asked}, got {granted}: {reason}\n{}", fix.unwrap_or_default())
}

/// Warns of a recording without its end.
pub(crate) fn warn_of_missing_end(recording: &RecordingFile) {
    if let Some(lacks) = recording::lacks(recording) {
        say!("warning: {lacks}");
    }
}

/// Prints the cells of a plan and the estimated duration.
pub(crate) fn print_plan(plan: &Plan, json: bool) -> CommandResult {
    if json {
        return Ok(write_line(plan)?);
    }
    Ok(write!(std::io::stdout(), "{}", tactus_report::plan_table(plan, &table_options()))?)
}
