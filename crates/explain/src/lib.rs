//! Why samples were late: events and samples in, segments and blame out.
//!
//! Nothing here opens a file, asks the system for anything or reads a clock. Events come
//! from an [`EventSource`], which the caller has opened; reading it may fail, and nothing
//! else can. An explanation can therefore be repeated from a recording anywhere, without
//! privilege.
//!
//! The path of an event: [`machine`] replays who ran where. [`explain`] matches each sample
//! of a probe with what the replay says of its thread ([`outcome`], [`segments`]), divides
//! the late ones among their causes ([`cause`]), adds those up ([`Pareto`]) and draws up who
//! ran where meanwhile ([`timeline`]). [`witness`] adds to every sample, late or not, what
//! else went on meanwhile ([`circumstance`]).
//!
//! From the same replay come results that need no samples: [`waits`](waits()) explains
//! how long any thread waited for a CPU and divides the rest of its time ([`thread_time`]),
//! and [`account`] says where the CPU time went.
//! [`handler_times`] says how long an interrupt handler ran.
//! [`jobs`] finds the jobs of periodic threads and explains the late ones. [`sections`] finds what a
//! thread did between its waits.
//! [`WaitWatch`] explains waits while events come in, and so does [`Explainer`] for samples.
//!
//! The store keeps recordings and samples, never an [`Explanation`]: that is computed anew
//! by the rules of the version that reads them. It has a form in JSON for those who
//! take it further.
//!
//! [`EventSource`]: tactus_model::recording::EventSource
#![forbid(unsafe_code)]

pub mod account;
mod blame;
mod block;
pub mod cause;
pub mod circumstance;
mod cpu_use;
mod explainer;
pub mod explanation;
mod group;
mod handler;
pub mod jobs;
mod lengths;
mod log;
pub mod machine;
mod matcher;
mod number_map;
pub mod outcome;
mod pareto;
mod path;
mod pool;
mod saved;
pub mod sections;
pub mod segments;
mod symbol;
mod tally;
mod task;
pub mod thread_time;
pub mod timeline;
mod waits;

pub use cause::{Cause, CauseKind};
pub use circumstance::{Circumstance, Circumstances, Serving, ServingCount, WitnessedSample};
pub use explainer::{Explainer, explain, witness};
pub use explanation::{ExplainedSample, Explanation, Pareto, ParetoRow, Part, ThrottledGroup};
pub use group::{Group, GroupRows};
pub use handler::handler_times;
pub use outcome::{MatchOutcome, Unmatched};
pub use saved::{explain_saved, saved_wakeup};
pub use segments::{Segment, Segments};
pub use task::{Options, Origin, ProbeTask, Receiver};
pub use waits::{SleepEvidence, Wait, WaitExplanation, WaitWatch, Waits, waits};
