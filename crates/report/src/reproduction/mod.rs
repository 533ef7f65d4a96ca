//! A paper's figures next to this machine's, for people: text and a page.
//!
//! `tactus_reproduce` compares the figures and judges the claims; this module only lays out the
//! result.

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

/// How one part of a paper was measured on one machine.
#[derive(Clone, Copy, Debug)]
pub struct Measured<'a> {
    /// The run.
    pub run: &'a Run,
    /// The form of the experiment.
    pub form: Form,
    /// The effect of recording on the latency, over all cells; `None` if unknown.
    pub tracing_cost: Option<TracingCost>,
}
