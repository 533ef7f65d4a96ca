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

/// The columns of a table, and their least widths: a table that is printed again and again keeps
/// its shape.
pub(crate) struct Columns<const N: usize>(pub(crate) [(&'static str, usize); N]);

impl<const N: usize> Columns<N> {
    /// The row of names, and the rows.
    pub(crate) fn table(&self, rows: impl IntoIterator<Item = [String; N]>) -> String {
        let names = self.0.map(|(name, _)| name.to_owned());
        let rows: Vec<[String; N]> = std::iter::once(names).chain(rows).collect();
        let width_of = |column: usize| {
            let longest = rows.iter().map(|row| row[column].chars().count()).max();
            longest.unwrap_or_default().max(self.0[column].1)
        };
        let widths: [usize; N] = std::array::from_fn(width_of);
        let mut table = String::new();
        for row in &rows {
            let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}  "));
            table.push_str(cells.collect::<String>().trim_end());
            table.push('\n');
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_as_wide_as_its_widest_cell() {
        let rows = [["a", "b", ""], ["µµµµµ", "c", "d"]].map(|row| row.map(str::to_owned));
        assert_eq!(
            Columns([("one", 2), ("two", 5), ("three", 1)]).table(rows),
            "one    two    three\na      b\nµµµµµ  c      d\n"
        );
    }
}
