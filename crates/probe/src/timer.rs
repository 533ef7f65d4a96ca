//! The measured loop of the timer probe.

use tactus_model::sample::Sample;
use tactus_model::time::{Clock, Instant, Nanos};
use tactus_prepare::TouchedVec;
use tactus_sys::SysError;
use tactus_sys::sleep::Sleeper;

use crate::interrupted::Pass;
use crate::schedule::Schedule;

/// What a task does between waking and sleeping again.
pub trait Activity<C: Clock> {
    /// Acts, and returns the time at the end.
    ///
    /// `came` is when the task woke, `next` is its next due time.
    fn act(&mut self, came: Instant<C>, next: Instant<C>) -> Instant<C>;
}

/// The activity of a task that goes back to sleep at once.
#[derive(Clone, Copy, Debug)]
pub struct Rest;

impl<C: Clock> Activity<C> for Rest {
    /// Reads no clock: as far as the task knows, the time is still that of its arrival.
    #[inline]
    fn act(&mut self, came: Instant<C>, _next: Instant<C>) -> Instant<C> {
        came
    }
}

/// The samples that the loop took in a window.
#[derive(Clone, Debug, Default)]
pub struct TakenSamples {
    /// The wakeups that were kept, in order, relative to the opening of the window.
    pub samples: Vec<Sample>,
    /// Frames that came too late to be shown; empty for wakeups, whose missed due times follow
    /// from the schedule.
    pub skipped: Vec<Sample>,
    /// What the task did after its wakeups, if the caches were prepared for them.
    pub passes: Vec<Pass>,
    /// Due times that had passed before the task could sleep for them, or the frames that were
    /// skipped.
    pub missed: u64,
    /// Wakeups for which no memory was left.
    pub dropped: u64,
    /// When the task was last known to be able to sleep, relative to the opening of the window:
    /// its last arrival, or the end of its work after that.
    pub ended: Nanos,
}

/// The counts of the loop in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// As in [`TakenSamples`].
    pub missed: u64,
    /// As in [`TakenSamples`].
    pub dropped: u64,
    /// As in [`TakenSamples`].
    pub ended: Nanos,
}

/// Where the loop stores its samples. An implementation allocates nothing, takes no lock and
/// makes no system call.
pub trait SampleSink {
    /// Keeps a sample; false if there is no room for it.
    fn keep(&mut self, sample: Sample) -> bool;
}

/// Memory for samples, allocated and touched before the window opens.
pub type SampleMemory = TouchedVec<Sample>;

impl SampleSink for SampleMemory {
    #[inline]
    fn keep(&mut self, sample: Sample) -> bool {
        self.try_push(sample).is_ok()
    }
}

/// Measures a window, keeping its samples in memory.
///
/// # Errors
/// The sleeper's.
#[inline]
pub fn measure<C: Clock>(
    sleeper: &mut impl Sleeper<C>,
    activity: &mut impl Activity<C>,
    schedule: Schedule,
    start: Instant<C>,
    mut memory: SampleMemory,
) -> Result<TakenSamples, SysError> {
    let Tally { missed, dropped, ended } =
        keep_measuring(sleeper, activity, schedule, start, &mut memory)?;
    Ok(TakenSamples { samples: memory.into_vec(), missed, dropped, ended, ..Default::default() })
}

/// Sleeps from one due time of `schedule` to the next until the end of the window, which opens
/// at `start`; every sample goes to `sink`.
///
/// After a wakeup, the loop can no longer sleep for due times that have passed as well: they are
/// *missed*, counted, and passed over. Due times that pass while the task acts are missed too.
///
/// Each turn uses up at least one due time, so there are at most as many turns as due times, and
/// a turn ends if its sleeper returns. The loop allocates nothing, takes no lock, and makes no
/// system call besides the sleep (and those of the activity).
///
/// # Errors
/// The sleeper's.
#[inline]
pub fn keep_measuring<C: Clock>(
    sleeper: &mut impl Sleeper<C>,
    activity: &mut impl Activity<C>,
    mut schedule: Schedule,
    start: Instant<C>,
    sink: &mut impl SampleSink,
) -> Result<Tally, SysError> {
    let (mut missed, mut dropped) = (0, 0);
    let mut ended = Nanos::ZERO;
    while let Some(due) = schedule.next() {
        let arrival = sleeper.sleep_until(start + due)?;
        let came = arrival - start;
        if !sink.keep(Sample { due, came }) {
            dropped += 1;
        }
        ended = came;
        missed += schedule.skip_until(came);
        if let Some(next) = schedule.peek() {
            ended = activity.act(arrival, start + next) - start;
            missed += schedule.skip_until(ended);
        }
    }
    Ok(Tally { missed, dropped, ended })
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use proptest::prelude::*;
    use tactus_model::probe::Interval;
    use tactus_model::random::SplitMix64;
    use tactus_model::time::Monotonic;

    use super::*;
    use crate::evaluate::missed_samples;

    /// A machine without time: its clock advances only when a task sleeps or works.
    #[derive(Clone)]
    struct Machine {
        now: Rc<Cell<u64>>,
        arrivals: Rc<std::cell::RefCell<Vec<u64>>>,
        random: SplitMix64,
        /// One wakeup in this many is a stall.
        stall_every: u64,
        stall: u64,
        work: u64,
    }

    impl Machine {
        fn pass(&mut self, length: u64) -> u64 {
            self.now.set(self.now.get() + length);
            self.now.get()
        }
    }

    impl Sleeper<Monotonic> for Machine {
        fn sleep_until(&mut self, due: Instant<Monotonic>) -> Result<Instant<Monotonic>, SysError> {
            self.now.set(self.now.get().max(due.as_nanos()));
            let stalled = self.random.below(self.stall_every) == 0;
            let delay =
                if stalled { self.random.below(self.stall) } else { self.random.below(3_000) };
            let came = self.pass(delay);
            self.arrivals.borrow_mut().push(came);
            Ok(Instant::from_nanos(came))
        }
    }

    impl Activity<Monotonic> for Machine {
        fn act(
            &mut self,
            _came: Instant<Monotonic>,
            _next: Instant<Monotonic>,
        ) -> Instant<Monotonic> {
            let length = self.random.below(self.work);
            Instant::from_nanos(self.pass(length))
        }
    }

    const START: u64 = 1_000_000;

    fn any_interval() -> impl Strategy<Value = Interval> {
        (1_u64..300, 0_u64..300, 0_u8..3).prop_map(|(length, more, kind)| {
            let (short, long) = (Nanos::from_micros(length), Nanos::from_micros(length + more));
            match kind {
                0 => Interval::Fixed(short),
                1 => Interval::Uniform { min: short, max: long },
                _ => Interval::Dithered {
                    interval: short,
                    spread: Nanos::from_micros(more.min(length)),
                },
            }
        })
    }

    proptest! {
        /// Compares the loop with the definition, which is simple to state and slow to compute:
        /// a missed due time ends with the first arrival that is not before it.
        #[test]
        fn every_due_time_is_accounted_for(
            interval in any_interval(),
            seed in any::<u64>(),
            stall_every in 1_u64..50,
            stall in 1_u64..2_000_000,
            work in prop_oneof![Just(1_u64), 1_u64..400_000],
            // Room for all possible due times, or for few.
            limit in prop_oneof![Just(5_001_usize), 0_usize..100],
        ) {
            let machine = Machine {
                now: Rc::new(Cell::new(START)),
                arrivals: Rc::default(),
                random: SplitMix64::new(seed),
                stall_every,
                stall,
                work,
            };
            let schedule = Schedule::new(interval, Nanos::ZERO, Nanos::from_millis(5), seed);
            let due_times: Vec<Nanos> = schedule.clone().collect();
            let taken = measure(
                &mut machine.clone(),
                &mut machine.clone(),
                schedule.clone(),
                Instant::from_nanos(START),
                SampleMemory::take(limit).unwrap(),
            )
            .unwrap();
            let observed = taken.samples.len() as u64;
            prop_assert_eq!(observed + taken.missed + taken.dropped, due_times.len() as u64);
            prop_assert!(observed <= limit as u64);
            prop_assert!(taken.samples.iter().all(|sample| sample.came >= sample.due));
            prop_assert!(taken.samples.is_sorted_by_key(|sample| sample.due));

            let missed: Vec<Sample> = missed_samples(schedule, &taken).collect();
            if taken.dropped == 0 {
                prop_assert_eq!(missed.len() as u64, taken.missed);
            }
            let arrivals = machine.arrivals.borrow();
            for sample in missed {
                let first = arrivals
                    .iter()
                    .map(|came| Nanos::from_nanos(came - START))
                    .find(|came| *came >= sample.due)
                    .unwrap_or(taken.ended);
                prop_assert_eq!(sample.came, first);
            }
        }
    }

    #[test]
    fn a_stall_misses_exactly_the_due_times_it_covers() {
        /// Late by 3.5 ms once, at the due time of 10 ms.
        struct StallsOnce;
        impl Sleeper<Monotonic> for StallsOnce {
            fn sleep_until(
                &mut self,
                due: Instant<Monotonic>,
            ) -> Result<Instant<Monotonic>, SysError> {
                let late = if due.as_nanos() == 10_000_000 { 3_500_000 } else { 1_000 };
                Ok(due + Nanos::from_nanos(late))
            }
        }
        let interval = Interval::Fixed(Nanos::from_millis(1));
        let schedule = Schedule::new(interval, Nanos::ZERO, Nanos::from_millis(20), 0);
        let taken = measure(
            &mut StallsOnce,
            &mut Rest,
            schedule.clone(),
            Instant::from_nanos(0),
            SampleMemory::take(20).unwrap(),
        )
        .unwrap();
        assert_eq!((taken.samples.len(), taken.missed, taken.dropped), (17, 3, 0));
        let late: Vec<u64> = missed_samples(schedule, &taken)
            .map(|sample| sample.latency().as_nanos() / 1_000)
            .collect();
        assert_eq!(late, [2_500, 1_500, 500]);
    }
}
