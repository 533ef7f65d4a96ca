//! Accounts for every due time while it is measured.

use tactus_model::live::Batch;
use tactus_model::sample::Sample;

use super::ring::SampleRings;
use crate::schedule::Schedule;

/// Follows a task: repeats its schedule along with the samples that it writes, and so finds the due
/// times that were missed between them.
#[derive(Clone, Debug)]
pub struct Follower {
    task: u32,
    schedule: Schedule,
    last: Option<Sample>,
    dropped: u64,
}

impl Follower {
    /// Follows `task`, which measures by `schedule`.
    pub fn new(task: u32, schedule: Schedule) -> Self {
        Self { task, schedule, last: None, dropped: 0 }
    }

    /// Takes the samples that the task has written since the last call.
    pub fn take(&mut self, rings: &SampleRings) -> Batch {
        let mut batch = Batch { task: self.task, ..Batch::default() };
        rings.take(self.task, |sample, dropped| self.add(sample, dropped, &mut batch));
        batch
    }

    /// Adds a sample, and the due times since the sample before it, to `batch`.
    fn add(&mut self, sample: Sample, dropped: u64, batch: &mut Batch) {
        let newly_dropped = dropped.wrapping_sub(self.dropped);
        let mut passed = 0;
        // Bounded by the schedule: a sample's due time is one of its due times.
        for due in self.schedule.by_ref() {
            if due == sample.due {
                break;
            }
            passed += 1;
            // Between dropped samples, it is unknown which due times were missed.
            if newly_dropped == 0 {
                let came = match self.last {
                    Some(last) if last.came >= due => last.came,
                    _ => sample.came,
                };
                batch.missed.push(Sample { due, came });
            }
        }
        if newly_dropped > 0 {
            batch.dropped += newly_dropped;
            batch.missed_unsampled += u64::saturating_sub(passed, newly_dropped);
        }
        batch.samples.push(sample);
        (self.last, self.dropped) = (Some(sample), dropped);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tactus_model::probe::Interval;
    use tactus_model::time::{Instant, Monotonic, Nanos};
    use tactus_sys::SysError;
    use tactus_sys::sleep::Sleeper;

    use super::super::ring::RingLayout;
    use super::*;
    use crate::evaluate::missed_samples;
    use crate::timer::{Rest, SampleSink, TakenSamples, Tally, keep_measuring};
    use std::sync::Arc;

    /// Is late by these nanoseconds, in turn.
    struct Late(std::iter::Cycle<std::vec::IntoIter<u64>>, u64);

    impl Sleeper<Monotonic> for Late {
        fn sleep_until(&mut self, due: Instant<Monotonic>) -> Result<Instant<Monotonic>, SysError> {
            self.1 = self.1.max(due.as_nanos()) + self.0.next().unwrap_or(0);
            Ok(Instant::from_nanos(self.1))
        }
    }

    /// Keeps samples in a ring, and empties the ring after every `every` samples.
    struct Emptied<'a, K> {
        writer: K,
        rings: &'a SampleRings,
        follower: Follower,
        every: usize,
        written: usize,
        kept: Vec<Sample>,
        read: Batch,
    }

    impl<K> Emptied<'_, K> {
        fn empty(&mut self) {
            let batch = self.follower.take(self.rings);
            self.read.samples.extend(batch.samples);
            self.read.missed.extend(batch.missed);
            self.read.missed_unsampled += batch.missed_unsampled;
            self.read.dropped += batch.dropped;
        }
    }

    impl<K: SampleSink> SampleSink for Emptied<'_, K> {
        fn keep(&mut self, sample: Sample) -> bool {
            let kept = self.writer.keep(sample);
            if kept {
                self.kept.push(sample);
            }
            self.written += 1;
            if self.written.is_multiple_of(self.every) {
                self.empty();
            }
            kept
        }
    }

    proptest! {
        /// The samples read in pieces are the samples evaluated afterwards.
        #[test]
        fn what_is_read_adds_up_to_what_the_loop_counted(
            delays in prop::collection::vec(prop_oneof![0_u64..90_000, 0_u64..3_000_000], 1..60),
            seed in any::<u64>(),
            dithered in any::<bool>(),
            every in 1_usize..700,
        ) {
            let step = Nanos::from_micros(100);
            let spread = Nanos::from_micros(60);
            let interval =
                if dithered { Interval::Dithered { interval: step, spread } } else { Interval::Fixed(step) };
            let schedule = Schedule::new(interval, Nanos::ZERO, Nanos::from_millis(100), seed);
            // A ring holds 256 samples, so some are dropped if it is rarely emptied.
            let rings = Arc::new(SampleRings::create(RingLayout::new(1, Nanos::from_secs(9))).unwrap());
            let mut sink = Emptied {
                writer: rings.writer(0),
                rings: &rings,
                follower: Follower::new(0, schedule.clone()),
                every,
                written: 0,
                kept: Vec::new(),
                read: Batch::default(),
            };
            let Tally { missed, dropped, ended } = keep_measuring(
                &mut Late(delays.into_iter().cycle(), 0),
                &mut Rest,
                schedule.clone(),
                Instant::from_nanos(0),
                &mut sink,
            )
            .unwrap();
            sink.empty();
            let Emptied { kept, read, .. } = sink;
            prop_assert_eq!(&read.samples, &kept);
            // Due times after the last sample are read with the next sample, which does not come.
            let read_missed = read.missed.len() as u64 + read.missed_unsampled;
            prop_assert!(read_missed <= missed && read.dropped <= dropped);
            let last = kept.last().map_or(Nanos::ZERO, |sample| sample.due);
            let until_last = schedule.clone().take_while(|due| *due <= last).count() as u64;
            prop_assert_eq!(read.intended(), until_last);
            if dropped == 0 {
                let taken = TakenSamples { samples: kept, missed, dropped, ended, ..TakenSamples::default() };
                let mut whole: Vec<Sample> = missed_samples(schedule, &taken).collect();
                whole.retain(|sample| sample.due <= last);
                prop_assert_eq!(read.missed, whole);
            }
        }
    }
}
