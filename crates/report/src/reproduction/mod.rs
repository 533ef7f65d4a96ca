//! A paper's figures beside this machine's, for people: text, and one page.
//!
//! What is set side by side, what holds and the words for it come from `tactus_reproduce`;
//! here it only gets its place.

mod drawings;
mod page;
mod tables;
#[cfg(test)]
mod tests;
mod text;
mod words;

use tactus_model::run::Run;
use tactus_reproduce::Form;

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
