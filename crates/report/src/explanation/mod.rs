//! Why wakeups were late, for people: a Pareto table of causes, then the worst samples.
//!
//! `tactus_explain` draws the conclusions, as an [`Explanation`]; this module only puts them into
//! words.

mod jobs;
mod jobs_page;
mod lanes;
pub(crate) mod section;
mod strip;
mod text;
mod thread_time;
mod waits;
mod words;

use tactus_explain::Explanation;

pub use jobs::{JOBS_DETAILED, JobsRest, JobsRows, jobs_rows, jobs_text, late_job_line};
pub(crate) use jobs::{no_period, rhythm};
pub use jobs_page::{LateRecording, jobs_page};
pub(crate) use strip::word as moment_word;
pub use text::{explanation_text, saved_wakeup_text};
pub use waits::waits_text;
pub(crate) use words::{cost as cost_in_words, main_causes};

/// The explanation of a cell, with its name.
#[derive(Clone, Debug, PartialEq)]
pub struct CellExplanation {
    /// The cell's name within its run.
    pub label: String,
    /// Why its samples were late.
    pub explanation: Explanation,
    /// The effect of tracing on its latency; `None` with fewer than two pairs of stretches.
    pub tracing_cost: Option<TracingCost>,
}

/// The difference of a cell's median latency between traced stretches and the untraced stretches
/// next to them.
///
/// The difference is taken within each pair of adjacent stretches, so drift of the machine cancels
/// out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracingCost {
    /// The difference of the medians, traced minus untraced, in nanoseconds; negative if the traced
    /// stretches were faster.
    pub difference_ns: i64,
    /// The lower end of its 95 % confidence interval, in nanoseconds.
    pub low_ns: i64,
    /// The upper end of its 95 % confidence interval, in nanoseconds.
    pub high_ns: i64,
    /// The number of pairs of a traced and an untraced stretch.
    pub pairs: u64,
}
