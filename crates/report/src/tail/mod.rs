//! What may be expected of times longer than were measured, in words and as a drawing.

mod section;
mod text;

use serde::Serialize;
use tactus_stats::extreme::TailEstimation;
use tactus_stats::unseen::UnseenBound;

pub(crate) use section::TailView;
pub use text::tail_text;

/// What a cell's measurements say of longer times.
#[derive(Clone, Debug, Serialize)]
pub struct CellTail {
    /// The cell's number in the plan.
    pub cell: usize,
    /// The cell's name.
    pub label: String,
    /// From all late wakeups, whatever made them late.
    pub all_causes: TailEstimation,
    /// A cause at a time, where blame is known of late wakeups enough.
    pub by_cause: Vec<CauseTail>,
    /// Why there is nothing by cause, where there is nothing.
    pub not_by_cause: Option<String>,
    /// The bound of what was not seen.
    pub unseen: Option<UnseenBound>,
}

/// What the late wakeups that had one cause first say of longer times.
#[derive(Clone, Debug, Serialize)]
pub struct CauseTail {
    /// The cause, in words.
    pub cause: String,
    /// How many late wakeups it was the first cause of.
    pub wakeups: usize,
    /// From these alone.
    pub answer: TailEstimation,
}
