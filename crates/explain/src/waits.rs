//! How long threads ought to have run and did not, and who kept them from it.
//!
//! What the events tell of every thread, not of a probe alone, is how long it waited
//! for a processor: after its timer was due, it was woken, or it had to leave one.
//! [`waits`] finds that in one walk through a recording, and divides the long waits
//! among their causes by the rules by which a probe's samples are divided. A
//! [`WaitWatch`] tells of waits while events come in.

mod explainer;
mod watch;

use serde::{Deserialize, Serialize};
use tactus_model::recording::{EventSource, Item, Priority, SourceError, ThreadId};
use tactus_model::result::Histogram;

use crate::explanation::Explanation;
use crate::task::Options;
use explainer::WaitExplainer;

pub use watch::{Wait, WaitWatch};

/// How long the threads of a recording waited for a processor, and why.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    /// The threads of each name together; those that waited longest over the
    /// threshold, all such waits together, first.
    pub names: Vec<WaitExplanation>,
    /// The names of threads that waited and were not asked for, in alphabetical order.
    pub others: Vec<String>,
}

/// How long the threads of one name waited for a processor, and why.
///
/// A thread that takes another name, as by execve(2), waits under that from then on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaitExplanation {
    /// The name.
    pub name: String,
    /// The threads that waited under it, by number: the tasks of the explanation.
    pub threads: Vec<ThreadId>,
    /// The most favoured priority among them.
    pub priority: Priority,
    /// How long each of their waits was.
    pub lengths: Histogram,
    /// Why the waits over the threshold were so long.
    pub explanation: Explanation,
}

/// Finds how long the threads waited for a processor of which `wanted` says, given
/// the number and the name, that they are asked for; and explains the waits that are
/// longer than the threshold of `options`.
///
/// A wait across a loss of events is not counted: it may have been several. The
/// answer for one name does not depend on what else was asked for.
///
/// # Errors
/// Those of the source.
pub fn waits(
    source: &mut dyn EventSource,
    options: Options,
    wanted: impl Fn(ThreadId, &str) -> bool,
) -> Result<Waits, SourceError> {
    let mut explainer = WaitExplainer::new(source.about(), options, wanted);
    while let Some(item) = source.next_item()? {
        match item {
            Item::Event(event) => explainer.event(&event, source.dictionary()),
            Item::Lost(lost) => explainer.lost(&lost),
        }
    }
    Ok(explainer.finish(source.dictionary()))
}
