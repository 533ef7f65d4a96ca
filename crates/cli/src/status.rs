//! The state of a daemon, for people and as JSON.

use std::io::Write as _;

use serde::Serialize;

use crate::error::CommandResult;
use crate::json_lines::write_line;
use crate::terminal::stdout;

/// Prints a status, once or again and again.
pub(crate) fn print_status(
    json: bool,
    is_repeated: bool,
    status: &impl Serialize,
    text: impl FnOnce() -> String,
) -> CommandResult {
    if json {
        write_line(status)?;
    } else {
        let mut out = stdout();
        write!(out, "{}", text())?;
        if is_repeated {
            writeln!(out)?;
        }
        out.flush()?;
    }
    Ok(())
}

/// The columns of a table, and their widths.
pub(crate) struct Columns<const N: usize>(pub(crate) [(&'static str, usize); N]);

impl<const N: usize> Columns<N> {
    /// The row of names.
    pub(crate) fn header(&self) -> String {
        self.row(self.0.map(|(name, _)| name.to_owned()))
    }

    /// A row.
    pub(crate) fn row(&self, cells: [String; N]) -> String {
        let mut line = String::new();
        for (cell, (_, width)) in cells.iter().zip(self.0) {
            line.push_str(&format!("{cell:width$}  "));
        }
        line.trim_end().to_owned() + "\n"
    }
}
