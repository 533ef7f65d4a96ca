//! A paper's figures beside this machine's, for people: text, and one page.
//!
//! What is set side by side and what holds comes from `tactus_judge::reproduce`;
//! here it only gets its words and its place.

mod drawings;
mod page;
mod tables;
#[cfg(test)]
mod tests;
mod text;
mod words;

use tactus_model::run::Run;

use crate::explanation::TracingCost;

pub use page::reproduction_page;
pub use text::{papers_table, reproduction_text};

/// What is told of the measuring of one part of a paper on one machine.
#[derive(Clone, Copy, Debug)]
pub struct Measured<'a> {
    /// The run.
    pub run: &'a Run,
    /// Which settings it had.
    pub form: Form,
    /// What recording events did to the latency, over all cells; none where that was not found out.
    pub tracing_cost: Option<TracingCost>,
}

/// Which settings of a paper's experiment were measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Those of the short form.
    Quick,
    /// The paper's own.
    Full,
    /// Others, as the user chose them.
    Own,
}
