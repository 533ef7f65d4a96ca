//! Why wakeups were late, for people: a Pareto of causes, then the worst samples.
//!
//! What is concluded comes from `tactus_explain` as it stands in an
//! [`Explanation`]; here it only gets its words and its place.

mod lanes;
pub(crate) mod section;
mod strip;
mod text;
mod waits;
mod words;

use tactus_explain::Explanation;

pub(crate) use strip::word as moment_word;
pub use text::explanation_text;
pub use waits::waits_text;
pub(crate) use words::cost as cost_in_words;

/// The explanation of a cell, under its name.
#[derive(Clone, Debug, PartialEq)]
pub struct CellExplanation {
    /// What the cell is called within its run.
    pub label: String,
    /// Why its samples were late.
    pub explanation: Explanation,
    /// What tracing did to its latency; none where fewer than two pairs of stretches tell it.
    pub tracing_cost: Option<TracingCost>,
}

/// By how much a cell's median latency was longer in traced stretches than in
/// the untraced ones beside them.
///
/// The difference is taken within each pair of neighbouring stretches, so that
/// drift of the machine does not enter it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracingCost {
    /// The difference of the medians, traced less untraced, in nanoseconds;
    /// below zero where the traced stretches were the faster ones.
    pub difference_ns: i64,
    /// The lower end of its 95 % confidence interval, in nanoseconds.
    pub low_ns: i64,
    /// The upper end of its 95 % confidence interval, in nanoseconds.
    pub high_ns: i64,
    /// How many pairs of a traced and an untraced stretch were compared.
    pub pairs: u64,
}
