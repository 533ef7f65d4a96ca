//! Evaluation: from the samples of a loop to the result of a task.

use tactus_model::interrupted::Dirt;
use tactus_model::result::{
    Accounting, ByDirt, Granted, Histogram, OfDirt, TaskResult, TaskUsage, TimerInterrupts,
};
use tactus_model::sample::Sample;
use tactus_model::time::Nanos;
use tactus_stats::LatencyHistogram;
use tactus_stats::summary::{SampleSummary, summarise};

use crate::apparatus::Measured;
use crate::schedule::Schedule;
use crate::timer::TakenSamples;

/// The samples of a block that is sent, so that only a few samples are encoded at a time.
pub(crate) const BLOCK_SAMPLES: usize = 1_000_000;

/// What is known about a task besides its samples.
#[derive(Clone, Debug)]
pub(crate) struct Found {
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
    /// The clock interrupts of its CPU, if they were counted.
    pub timer_interrupts: Option<TimerInterrupts>,
    /// The dirt of the caches that its events found, if a program prepared them.
    pub dirt: Dirt,
}

/// What was due in a window, from when its task was ready.
#[derive(Clone, Debug)]
pub(crate) enum Due {
    /// Wakeups: those without a sample follow from the schedule.
    Wakeups(Schedule),
    /// This number of frames, bursts or messages; the missed ones were kept apart.
    Counted(u64),
    /// Nothing: what began was intended.
    Nothing,
}

impl Due {
    /// How many samples were intended. Due times are counted independently of the samples, so that
    /// the sum checks the loop.
    fn intended(&self, taken: &TakenSamples) -> u64 {
        match self {
            Self::Wakeups(schedule) => schedule.remaining(),
            Self::Counted(count) => *count,
            Self::Nothing => taken.samples.len() as u64 + taken.dropped,
        }
    }
}

/// Evaluates what was measured of what was `due`.
pub(crate) fn task_result(found: Found, due: Due, measured: Measured) -> TaskResult {
    let taken = &measured.taken;
    let pinned = found.granted.cpus.iter().eq([found.cpu]);
    let SampleSummary { blocks, series, scope, worst } = summarise(&taken.samples, found.window);
    TaskResult {
        task: found.task,
        cpu: pinned.then_some(found.cpu),
        granted: found.granted,
        accounting: accounting(due.intended(taken), taken),
        blocks,
        missed_latencies: missed_latencies(due, taken),
        series,
        scope,
        worst,
        usage: found.usage,
        timer_interrupts: found.timer_interrupts,
        by_dirt: by_dirt(found.dirt, taken).map(Box::new),
        use_over_time: measured.use_over_time,
        batches: measured.batches,
        clock: measured.clock.map(Box::new),
        messages: measured.messages.map(Box::new),
        playback: measured.playback.map(Box::new),
    }
}

/// The wakeups by the dirt that they found; `None` if no program prepared the caches.
///
/// The first wakeup of a window is unprepared, because nothing was announced before it.
fn by_dirt(dirt: Dirt, taken: &TakenSamples) -> Option<ByDirt> {
    let mut passes = taken.passes.iter().peekable();
    passes.peek()?;
    let mut kinds = Dirt::OF_EVENTS.map(|_| [(); 3].map(|()| LatencyHistogram::new()));
    let mut unprepared = Vec::new();
    for sample in &taken.samples {
        while passes.next_if(|pass| pass.due < sample.due).is_some() {}
        let pass = passes.next_if(|pass| pass.due == sample.due && pass.was_ready);
        let Some(pass) = pass else {
            unprepared.push(sample.due);
            continue;
        };
        let of_event = dirt.of_event(sample.due);
        let place = Dirt::OF_EVENTS.iter().position(|known| *known == of_event).unwrap_or_default();
        let [latencies, first, second] = &mut kinds[place];
        latencies.record(sample.latency());
        first.record(pass.first);
        second.record(pass.second);
    }
    let kinds = Dirt::OF_EVENTS.into_iter().zip(&kinds).filter(|(_, [all, ..])| !all.is_empty());
    let kinds = kinds.map(|(dirt, [latencies, first, second])| OfDirt {
        dirt,
        latencies: latencies.to_record(),
        first_pass: first.to_record(),
        second_pass: second.to_record(),
    });
    Some(ByDirt { kinds: kinds.collect(), unprepared })
}

fn missed_latencies(due: Due, taken: &TakenSamples) -> Histogram {
    let mut histogram = LatencyHistogram::new();
    let mut keep = |missed: Sample| histogram.record(missed.latency());
    match due {
        Due::Wakeups(schedule) => missed_samples(schedule, taken).for_each(keep),
        Due::Counted(_) => taken.skipped.iter().copied().for_each(&mut keep),
        Due::Nothing => {}
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

#[cfg(test)]
mod tests {
    use tactus_model::interrupted::Dirt;

    use super::*;
    use crate::interrupted::Pass;

    #[test]
    fn wakeups_without_ready_caches_are_in_no_kind_of_dirt() {
        let ms = Nanos::from_millis;
        let sample = |due: u64| Sample { due: ms(due), came: ms(due) + Nanos::from_micros(due) };
        let pass = |due: u64, was_ready| Pass {
            due: ms(due),
            was_ready,
            first: Nanos::from_micros(9),
            second: Nanos::from_micros(1),
        };
        let taken = TakenSamples {
            samples: [1, 2, 3, 5, 6].map(sample).into(),
            // Nothing was announced for 1; 4 was announced and missed; the last has no pass.
            passes: vec![pass(2, true), pass(3, false), pass(4, true), pass(5, true)],
            ..TakenSamples::default()
        };
        let found = by_dirt(Dirt::L2, &taken).unwrap();
        assert_eq!(found.unprepared, [ms(1), ms(3), ms(6)]);
        let [kind] = &found.kinds[..] else { panic!("{:?}", found.kinds) };
        assert_eq!(
            (kind.dirt, kind.latencies.count, kind.latencies.max),
            (Dirt::L2, 2, Nanos::from_micros(5))
        );
        assert_eq!(
            (kind.first_pass.sum, kind.second_pass.sum),
            (Nanos::from_micros(18), Nanos::from_micros(2))
        );
        assert_eq!(by_dirt(Dirt::Clean, &TakenSamples::default()), None);
    }
}
