//! The samples of the last seconds, from which late samples are taken.

use std::collections::VecDeque;

use tactus_explain::{Origin, ProbeTask};
use tactus_model::live::Batch;
use tactus_model::recording::ThreadId;
use tactus_model::sample::Sample;
use tactus_model::time::{Instant, Monotonic, Nanos};

/// The samples of the last second of each task.
#[derive(Clone, Debug)]
pub struct Lately {
    origin: Origin,
    opened: Instant<Monotonic>,
    tasks: Vec<(ThreadId, VecDeque<Sample>)>,
}

/// How long samples are kept.
const REACH: Nanos = Nanos::from_millis(1_500);
/// The maximum number of samples of a task; enough for intervals of 20 µs and longer.
const MOST: usize = 75_000;
/// Time that the host took from a CPU appears in events after the sample, so the newest samples
/// wait.
const AFTERMATH: Nanos = Nanos::from_millis(20);

impl Lately {
    /// Begins without samples, for tasks with these threads.
    pub fn new(origin: Origin, opened: Instant<Monotonic>, threads: &[ThreadId]) -> Self {
        let tasks = threads.iter().map(|thread| (*thread, VecDeque::new())).collect();
        Self { origin, opened, tasks }
    }

    /// Adds the samples of a batch.
    pub fn take(&mut self, batch: &Batch) {
        let Some((_, kept)) = self.tasks.get_mut(batch.task as usize) else { return };
        kept.extend(&batch.samples);
        let newest = kept.back().map_or(Nanos::ZERO, |sample| sample.came);
        let old = kept.partition_point(|sample| sample.came + REACH < newest);
        let surplus = kept.len().saturating_sub(MOST);
        kept.drain(..old.max(surplus));
    }

    /// Removes all samples up to shortly before `now` and returns them; `None` if no sample is
    /// later than `threshold`.
    pub fn late(&mut self, now: Instant<Monotonic>, threshold: Nanos) -> Option<Vec<ProbeTask>> {
        let until = (now - self.opened) - AFTERMATH;
        let (origin, opened) = (self.origin, self.opened);
        let tasks: Vec<ProbeTask> = (0..)
            .zip(&mut self.tasks)
            .map(|(task, (thread, kept))| {
                let ripe = kept.partition_point(|sample| sample.came <= until);
                let samples = kept.drain(..ripe).collect();
                ProbeTask { task, thread: *thread, origin, opened, samples, receiver: None }
            })
            .collect();
        let mut samples = tasks.iter().flat_map(|task| &task.samples);
        samples.any(|sample| sample.latency() > threshold).then_some(tasks)
    }
}

#[cfg(test)]
mod tests {
    use tactus_model::probe::SleepMethod;

    use super::*;

    fn batch(milliseconds: std::ops::Range<u64>, late: u64) -> Batch {
        let sample = |at| {
            let due = Nanos::from_millis(at);
            Sample { due, came: due + Nanos::from_micros(if at == late { 700 } else { 30 }) }
        };
        Batch { samples: milliseconds.map(sample).collect(), ..Batch::default() }
    }

    fn lately() -> Lately {
        let origin = Origin::Due(SleepMethod::Nanosleep);
        Lately::new(origin, Instant::from_nanos(5), &[ThreadId::default()])
    }

    fn at(milliseconds: u64) -> Instant<Monotonic> {
        Instant::from_nanos(5 + milliseconds * 1_000_000)
    }

    #[test]
    fn a_late_sample_is_returned_once_and_after_its_aftermath() {
        let mut lately = lately();
        let threshold = Nanos::from_micros(100);
        lately.take(&batch(0..1000, 990));
        assert_eq!(lately.late(at(1000), threshold), None, "its aftermath is not over");
        lately.take(&batch(1000..2000, 5000));
        let tasks = lately.late(at(2000), threshold).unwrap();
        let samples = &tasks[0].samples;
        assert!(samples.iter().any(|sample| sample.due == Nanos::from_millis(990)));
        assert!(samples.iter().all(|sample| sample.came <= Nanos::from_millis(1980)));
        assert_eq!(lately.late(at(3000), threshold), None);
    }

    #[test]
    fn old_samples_are_dropped() {
        let mut lately = lately();
        for second in 0..10 {
            lately.take(&batch(second * 1000..(second + 1) * 1000, u64::MAX));
        }
        assert!(lately.tasks[0].1.len() <= 1501);
    }
}
