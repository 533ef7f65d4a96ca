//! Options for tables in files.

use clap::Args;
use tactus_report::TableForm;

/// The form of the table on standard output; without an option, text for people.
#[derive(Args)]
pub(crate) struct TableFormOptions {
    /// Print the table as comma-separated values, durations in nanoseconds
    #[arg(long, conflicts_with_all = ["json", "markdown"])]
    csv: bool,
    /// Print the table as Markdown
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
}

impl TableFormOptions {
    /// The form that was asked for.
    pub(crate) fn form(&self) -> Option<TableForm> {
        match (self.csv, self.markdown) {
            (true, _) => Some(TableForm::Csv),
            (_, true) => Some(TableForm::Markdown),
            _ => None,
        }
    }
}
