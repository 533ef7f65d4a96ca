//! Why samples were late: events and samples in, segments and blame out.
//!
//! Nothing here does I/O or reads a clock, so an explanation can be repeated
//! from a recording anywhere, without privilege. The path of an event:
//! [`machine`] replays who ran where, [`explain`] matches each sample of a probe
//! with what the replay tells of its thread ([`outcome`], [`segments`]), divides
//! the late ones among their causes ([`cause`]), adds those up
//! ([`Pareto`]) and draws up who ran where meanwhile ([`timeline`]). [`witness`] tells
//! of every sample, late or not, what else went on meanwhile ([`circumstance`]).
//!
//! The result is an [`Explanation`], which goes to the store as it is. From the
//! same replay [`account`] tells where the processor time went.
#![forbid(unsafe_code)]

pub mod account;
mod blame;
pub mod cause;
pub mod circumstance;
mod explainer;
pub mod explanation;
mod lengths;
mod log;
pub mod machine;
mod matcher;
mod number_map;
pub mod outcome;
mod pareto;
mod path;
mod pool;
pub mod segments;
mod tally;
mod task;
pub mod timeline;
mod waits;

pub use cause::{Cause, CauseKind};
pub use circumstance::{Circumstance, Circumstances, Serving, ServingCount, WitnessedSample};
pub use explainer::{Explainer, explain, witness};
pub use explanation::{ExplainedSample, Explanation, Pareto, ParetoRow, Part};
pub use outcome::{MatchOutcome, Unmatched};
pub use segments::{Segment, Segments};
pub use task::{Options, Origin, ProbeTask};
pub use waits::{Wait, WaitExplanation, WaitWatch, Waits, waits};
