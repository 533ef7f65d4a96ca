//! Tables for the terminal: plain text, readable without colour.

mod cells;
pub(crate) mod column;
pub(crate) mod content;
pub(crate) mod details;
mod file;
mod grid;
pub(crate) mod kernels;
mod plan;
mod runs;

pub use cells::cells_table;
pub use details::run_details;
pub use file::{TableForm, cells_file, comparison_file};
pub use plan::plan_table;
pub use runs::runs_table;

pub(crate) use grid::grid;

/// Options for tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableOptions {
    /// The width of the terminal in columns. Columns that do not fit are omitted and named.
    pub width: usize,
}

impl TableOptions {
    /// Options for a terminal of `width` columns.
    pub const fn of_width(width: usize) -> Self {
        Self { width }
    }
}

impl Default for TableOptions {
    /// 100 columns, for output that is not a terminal.
    fn default() -> Self {
        Self::of_width(100)
    }
}

/// Writes a text, wrapped.
pub fn lines(text: &str, options: &TableOptions) -> String {
    crate::wrap::wrapped(text, "", options.width)
}

/// Writes a name on a line of its own and a text below it, wrapped.
pub fn paragraph(name: &str, text: &str, options: &TableOptions) -> String {
    format!(
        "{}\n{}",
        crate::format::printable(name),
        crate::wrap::wrapped(text, "  ", options.width)
    )
}
