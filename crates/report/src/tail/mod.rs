//! Extrapolation to times longer than measured, in words and as a drawing.

mod section;
mod text;

use serde::Serialize;
use tactus_stats::extreme::TailEstimation;
use tactus_stats::unseen::UnseenBound;

pub(crate) use section::TailView;
pub use text::tail_text;

/// The tail estimation of a cell.
#[derive(Clone, Debug, Serialize)]
pub struct CellTail {
    /// The cell's index in the plan.
    #[serde(rename = "number", serialize_with = "tactus_model::address::counted_from_one")]
    pub cell: usize,
    /// The cell's name.
    pub label: String,
    /// From all late wakeups, whatever their cause.
    pub all_causes: TailEstimation,
    /// By cause, if the causes of enough late wakeups are known.
    pub by_cause: Vec<CauseTail>,
    /// The reason, if there is no estimation by cause, in a sentence without its full stop.
    pub not_by_cause: Option<String>,
    /// The bound on the rate of events that were not seen.
    pub unseen: Option<UnseenBound>,
}

/// The tail estimation from the late wakeups with one main cause.
#[derive(Clone, Debug, Serialize)]
pub struct CauseTail {
    /// The cause, in words.
    pub cause: String,
    /// The number of late wakeups with this main cause.
    pub wakeups: usize,
    /// From these wakeups alone.
    pub estimation: TailEstimation,
}
