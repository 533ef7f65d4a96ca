//! Evaluation: from the samples of a loop to the result of a task.

use tactus_model::result::{Accounting, Batch, Granted, Histogram, TaskResult, TaskUsage};
use tactus_model::sample::Sample;
use tactus_model::time::Nanos;
use tactus_stats::LatencyHistogram;
use tactus_stats::summary::{SampleSummary, summarise};

use crate::facility::Course;
use crate::schedule::Schedule;
use crate::timer::TakenSamples;

/// The samples of a block that is sent, so that only a few samples are encoded at a time.
pub(crate) const BLOCK_SAMPLES: usize = 1_000_000;

/// What is known about a task besides its samples.
#[derive(Clone, Debug)]
pub struct Found {
    /// The task's number.
    pub task: u32,
    /// The CPU that was requested for it.
    pub cpu: u32,
    /// How it was scheduled.
    pub granted: Granted,
    /// What it used.
    pub usage: TaskUsage,
    /// The duration of its window.
    pub window: Nanos,
    /// Its CPU time in each interval, if it was measured.
    pub use_over_time: Vec<Nanos>,
    /// The batches of its operation, if it measured one.
    pub batches: Vec<Batch>,
}

/// Evaluates samples; `course` is the course by which they were taken, from when the task was
/// ready.
pub(crate) fn task_result(found: Found, course: Course, taken: &TakenSamples) -> TaskResult {
    let pinned = found.granted.cpus.iter().eq([found.cpu]);
    let SampleSummary { blocks, series, scope, worst } = summarise(&taken.samples, found.window);
    TaskResult {
        task: found.task,
        cpu: pinned.then_some(found.cpu),
        granted: found.granted,
        accounting: accounting(course.intended(taken), taken),
        blocks,
        missed_latencies: missed_latencies(course, taken),
        series,
        scope,
        worst,
        usage: found.usage,
        use_over_time: found.use_over_time,
        batches: found.batches,
    }
}

fn missed_latencies(course: Course, taken: &TakenSamples) -> Histogram {
    let mut histogram = LatencyHistogram::new();
    let mut keep = |missed: Sample| histogram.record(missed.latency());
    match course {
        Course::Wakeups(schedule) => missed_samples(schedule, taken).for_each(keep),
        Course::Frames(_) | Course::Bursts(_) => taken.skipped.iter().copied().for_each(&mut keep),
        // Nothing is due, so nothing is missed.
        Course::Sorts(_) | Course::Operations(_) => {}
    }
    histogram.to_record()
}

/// Accounts for every due time.
fn accounting(intended: u64, taken: &TakenSamples) -> Accounting {
    let early = taken.samples.iter().filter(|sample| sample.came < sample.due).count();
    Accounting {
        intended,
        observed: taken.samples.len() as u64,
        missed: taken.missed,
        dropped: taken.dropped,
        early: early as u64,
    }
}

/// The missed due times, each with the arrival that ended its delay: the first arrival that is
/// not before it.
///
/// Repeats `schedule` from its beginning; its due times without a sample were missed. A due
/// time that passed while the task worked for the last time ended no later than that work. If
/// samples were dropped, what followed the last sample is unknown.
pub fn missed_samples(
    schedule: Schedule,
    taken: &TakenSamples,
) -> impl Iterator<Item = Sample> + '_ {
    let TakenSamples { samples, missed, dropped, ended, .. } = taken;
    let mut samples = samples.iter().copied().peekable();
    let mut last_came = None;
    // Repeated only if there is something to find.
    let due_times = (*missed > 0).then_some(schedule).into_iter().flatten();
    due_times
        .map_while(move |due| {
            if let Some(sample) = samples.next_if(|sample| sample.due == due) {
                last_came = Some(sample.came);
                return Some(None);
            }
            let came = match (last_came, samples.peek()) {
                (Some(came), _) if came >= due => came,
                (_, Some(next)) => next.came,
                (_, None) if *dropped == 0 => *ended,
                (_, None) => return None,
            };
            Some(Some(Sample { due, came }))
        })
        .flatten()
}
