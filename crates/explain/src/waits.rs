//! How long threads were runnable and did not run, and why; and where the rest of their time
//! went.
//!
//! For every thread, not only for a probe, the events show the runqueue wait: how long
//! the thread waited for a CPU after its timer was due, after it was woken, or after it
//! was preempted. [`waits`] finds these waits in one walk through a recording and
//! divides the long ones among their causes by the same rules as a probe's samples. The same
//! walk divides the whole recorded time of each thread ([`crate::thread_time`]). A
//! [`WaitWatch`] reports waits while events come in.

mod explainer;
mod watch;

use serde::{Deserialize, Serialize};
use tactus_model::recording::{EventSource, Item, Priority, SourceError, ThreadId};
use tactus_model::result::Histogram;
use tactus_model::time::Nanos;

use crate::explanation::Explanation;
use crate::task::Options;
use crate::thread_time::ThreadTime;
use explainer::WaitExplainer;

pub use watch::{Wait, WaitWatch};

/// How long the threads of a recording waited for a CPU, and why; and where the rest of their
/// time went.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    /// The threads with each name combined, sorted by [`WaitExplanation::delayed`], the
    /// greatest first.
    pub names: Vec<WaitExplanation>,
    /// The names of threads that the caller did not ask for, in alphabetical order.
    pub others: Vec<String>,
    /// What shows why threads slept.
    pub evidence: SleepEvidence,
}

/// What a recording has to show why threads slept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SleepEvidence {
    /// How many sleeps of the threads were recorded.
    pub sleeps: u64,
    /// How many of them have the kernel's call chain.
    pub chains: u64,
}

/// How long the threads with one name waited for a CPU, and why; and where the rest of their
/// time went.
///
/// A thread that changes its name, for example by execve(2), counts under the new name
/// from then on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaitExplanation {
    /// The name.
    pub name: String,
    /// The threads that ran, waited or slept under this name, by thread id: the tasks of the
    /// explanation.
    pub threads: Vec<ThreadId>,
    /// The highest priority among them.
    pub priority: Priority,
    /// The durations of their waits.
    pub lengths: Histogram,
    /// The causes of the waits over the threshold.
    pub explanation: Explanation,
    /// Their whole recorded time, divided.
    pub time: ThreadTime,
}

impl WaitExplanation {
    /// The time for which the threads were kept from running: waits over the threshold, and
    /// sleep that is not how programs wait for work, such as page faults and memory reclaim.
    pub fn delayed(&self) -> Nanos {
        let sleeps = self.time.sleeps.iter();
        let blocked = sleeps.filter(|row| !row.sleep.reason.is_wait_for_work());
        self.explanation.pareto.time + blocked.map(|row| row.time).sum()
    }
}

/// Finds the waits for a CPU of the threads that the caller asks for, explains the waits that
/// are longer than the threshold of `options`, and divides the threads' whole time. `wanted` gets a thread id and
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
