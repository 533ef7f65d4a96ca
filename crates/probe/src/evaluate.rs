//! From what a loop kept to what a task found.

use tactus_model::result::{Accounting, Granted, Histogram, TaskResult, TaskUsage};
use tactus_model::sample::Sample;
use tactus_model::time::Nanos;
use tactus_stats::LatencyHistogram;
use tactus_stats::summary::{SampleSummary, summarise};

use crate::facility::Course;
use crate::schedule::Schedule;
use crate::timer::Recording;

/// Samples in a block that is handed over, so that few of them are encoded at a time.
pub(crate) const BLOCK_SAMPLES: usize = 1_000_000;

/// What is known of a task besides its recording.
#[derive(Clone, Debug)]
pub struct Found {
    /// The task's number.
    pub task: u32,
    /// The CPU it was meant for.
    pub cpu: u32,
    /// How it was scheduled.
    pub granted: Granted,
    /// What it used.
    pub usage: TaskUsage,
    /// The length of its window.
    pub window: Nanos,
}

/// Evaluates a recording; `course` is the one by which it was made, from its beginning.
pub(crate) fn task_result(found: Found, course: Course, recording: &Recording) -> TaskResult {
    let pinned = found.granted.cpus.iter().eq([found.cpu]);
    let SampleSummary { blocks, series, scope, worst } =
        summarise(&recording.samples, found.window);
    TaskResult {
        task: found.task,
        cpu: pinned.then_some(found.cpu),
        granted: found.granted,
        accounting: accounting(course.intended(recording), recording),
        blocks,
        missed_latencies: missed_latencies(course, recording),
        series,
        scope,
        worst,
        usage: found.usage,
    }
}

fn missed_latencies(course: Course, recording: &Recording) -> Histogram {
    let mut histogram = LatencyHistogram::new();
    let mut keep = |missed: Sample| histogram.record(missed.latency());
    match course {
        Course::Wakeups(schedule) => missed_samples(schedule, recording).for_each(keep),
        Course::Frames(_) => recording.skipped.iter().copied().for_each(&mut keep),
        // One begins where the one before it ends.
        Course::Sorts(_) => {}
    }
    histogram.to_record()
}

/// What became of every due time.
fn accounting(intended: u64, recording: &Recording) -> Accounting {
    let early = recording.samples.iter().filter(|sample| sample.came < sample.due).count();
    Accounting {
        intended,
        observed: recording.samples.len() as u64,
        missed: recording.missed,
        dropped: recording.dropped,
        early: early as u64,
    }
}

/// The missed due times, each with the arrival that ended its delay: the first
/// that is not before it.
///
/// `schedule` is told again from its beginning; what it holds besides the
/// recorded samples was missed. A due time that passed while the task worked for
/// the last time ended no later than when that work did. Where samples were
/// dropped, nothing is known of what followed the last one kept.
pub fn missed_samples(
    schedule: Schedule,
    recording: &Recording,
) -> impl Iterator<Item = Sample> + '_ {
    let Recording { samples, missed, dropped, ended, .. } = recording;
    let mut samples = samples.iter().copied().peekable();
    let mut last_came = None;
    // Told again only where there is something to find.
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
