//! How long threads were runnable and did not run, and why.
//!
//! For every thread, not only for a probe, the events show the runqueue wait: how long
//! the thread waited for a CPU after its timer was due, after it was woken, or after it
//! was preempted. [`waits`] finds these waits in one walk through a recording and
//! divides the long ones among their causes by the same rules as a probe's samples. A
//! [`WaitWatch`] reports waits while events come in.

mod explainer;
mod watch;

use serde::{Deserialize, Serialize};
use tactus_model::recording::{EventSource, Item, Priority, SourceError, ThreadId};
use tactus_model::result::Histogram;

use crate::explanation::Explanation;
use crate::task::Options;
use explainer::WaitExplainer;

pub use watch::{Wait, WaitWatch};

/// How long the threads of a recording waited for a CPU, and why.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    /// The threads with each name combined, sorted by the total time of their waits
    /// over the threshold, the greatest first.
    pub names: Vec<WaitExplanation>,
    /// The names of threads that waited and that the caller did not ask for, in
    /// alphabetical order.
    pub others: Vec<String>,
}

/// How long the threads with one name waited for a CPU, and why.
///
/// A thread that changes its name, for example by execve(2), counts under the new name
/// from then on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaitExplanation {
    /// The name.
    pub name: String,
    /// The threads that waited under this name, by thread id: the tasks of the
    /// explanation.
    pub threads: Vec<ThreadId>,
    /// The highest priority among them.
    pub priority: Priority,
    /// The durations of their waits.
    pub lengths: Histogram,
    /// The causes of the waits over the threshold.
    pub explanation: Explanation,
}

/// Finds the waits for a CPU of the threads that the caller asks for, and explains the
/// waits that are longer than the threshold of `options`. `wanted` gets a thread id and
/// a name and returns whether to include the thread.
///
/// A wait across a loss of events is not counted: it may have been several waits. The
/// result for a name does not depend on the names of other threads.
///
/// # Errors
/// The errors of the source.
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
