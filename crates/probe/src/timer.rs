//! The measured loop of the timer probe.

use tactus_model::sample::Sample;
use tactus_model::time::{Clock, Instant, Nanos};
use tactus_rt::TouchedVec;
use tactus_sys::SysError;
use tactus_sys::sleep::Sleeper;

use crate::schedule::Schedule;

/// What a task does after it woke, before it sleeps again.
pub trait Activity<C: Clock> {
    /// Does it, and returns what the time is then.
    ///
    /// `came` is when the task woke, `next` when it is due again.
    fn act(&mut self, came: Instant<C>, next: Instant<C>) -> Instant<C>;
}

/// The activity of a task that goes back to sleep at once.
#[derive(Clone, Copy, Debug)]
pub struct Rest;

impl<C: Clock> Activity<C> for Rest {
    /// Reads no clock: the time is still that of the arrival, as far as the task knows.
    #[inline]
    fn act(&mut self, came: Instant<C>, _next: Instant<C>) -> Instant<C> {
        came
    }
}

/// What the loop kept of a window.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// The wakeups that were kept, in order, since the window opened.
    pub samples: Vec<Sample>,
    /// Frames that came too late to be shown; empty in a recording of wakeups, whose
    /// missed due times follow from its schedule.
    pub skipped: Vec<Sample>,
    /// Due times that had passed when the task could have gone to sleep for them, or
    /// the frames that were skipped.
    pub missed: u64,
    /// Wakeups for which no memory was left.
    pub dropped: u64,
    /// When the task was last known to be able to sleep, since the window opened:
    /// its last arrival, or the end of its work after that.
    pub ended: Nanos,
}

/// What the loop counted of a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// As in [`Recording`].
    pub missed: u64,
    /// As in [`Recording`].
    pub dropped: u64,
    /// As in [`Recording`].
    pub ended: Nanos,
}

/// Where the loop puts its samples. It allocates nothing, takes no lock and makes no
/// system call.
pub trait SampleKeeper {
    /// Keeps a sample; false when there is no room for it.
    fn keep(&mut self, sample: Sample) -> bool;
}

/// Memory for samples, taken and touched before the window opens.
pub type SampleMemory = TouchedVec<Sample>;

impl SampleKeeper for SampleMemory {
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
) -> Result<Recording, SysError> {
    let Tally { missed, dropped, ended } =
        keep_measuring(sleeper, activity, schedule, start, &mut memory)?;
    Ok(Recording { samples: memory.into_vec(), skipped: Vec::new(), missed, dropped, ended })
}

/// Sleeps from one due time of `schedule` to the next until the window, which
/// opens at `start`, holds no further; every sample goes to `keeper`.
///
/// After a wakeup, due times that have passed as well cannot be slept for any
/// more: they are *missed*, counted, and passed over. Due times that pass while
/// the task acts are missed too.
///
/// Each turn uses up at least one due time, so there are no more turns than due
/// times; and a turn whose sleeper returns ends. The loop allocates nothing,
/// takes no lock, and makes no system call besides the sleep (and what the
/// activity does).
///
/// # Errors
/// The sleeper's.
#[inline]
pub fn keep_measuring<C: Clock>(
    sleeper: &mut impl Sleeper<C>,
    activity: &mut impl Activity<C>,
    mut schedule: Schedule,
    start: Instant<C>,
    keeper: &mut impl SampleKeeper,
) -> Result<Tally, SysError> {
    let (mut missed, mut dropped) = (0, 0);
    let mut ended = Nanos::ZERO;
    while let Some(due) = schedule.next() {
        let arrival = sleeper.sleep_until(start + due)?;
        let came = arrival - start;
        if !keeper.keep(Sample { due, came }) {
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

    /// A machine without time: its clock goes on only when a task sleeps or works.
    #[derive(Clone)]
    struct Machine {
        now: Rc<Cell<u64>>,
        arrivals: Rc<std::cell::RefCell<Vec<u64>>>,
        random: SplitMix64,
        /// One wakeup in so many is a stall.
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
        /// Holds the loop against the definition, which is simple to state and slow to compute:
        /// a missed due time ends with the first arrival that is not before it.
        #[test]
        fn every_due_time_is_accounted_for(
            interval in any_interval(),
            seed in any::<u64>(),
            stall_every in 1_u64..50,
            stall in 1_u64..2_000_000,
            work in prop_oneof![Just(1_u64), 1_u64..400_000],
            // Room for all the due times that there can be, or for few.
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
            let recording = measure(
                &mut machine.clone(),
                &mut machine.clone(),
                schedule.clone(),
                Instant::from_nanos(START),
                SampleMemory::take(limit).unwrap(),
            )
            .unwrap();
            let observed = recording.samples.len() as u64;
            prop_assert_eq!(observed + recording.missed + recording.dropped, due_times.len() as u64);
            prop_assert!(observed <= limit as u64);
            prop_assert!(recording.samples.iter().all(|sample| sample.came >= sample.due));
            prop_assert!(recording.samples.is_sorted_by_key(|sample| sample.due));

            let missed: Vec<Sample> = missed_samples(schedule, &recording).collect();
            if recording.dropped == 0 {
                prop_assert_eq!(missed.len() as u64, recording.missed);
            }
            let arrivals = machine.arrivals.borrow();
            for sample in missed {
                let first = arrivals
                    .iter()
                    .map(|came| Nanos::from_nanos(came - START))
                    .find(|came| *came >= sample.due)
                    .unwrap_or(recording.ended);
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
        let recording = measure(
            &mut StallsOnce,
            &mut Rest,
            schedule.clone(),
            Instant::from_nanos(0),
            SampleMemory::take(20).unwrap(),
        )
        .unwrap();
        assert_eq!((recording.samples.len(), recording.missed, recording.dropped), (17, 3, 0));
        let late: Vec<u64> = missed_samples(schedule, &recording)
            .map(|sample| sample.latency().as_nanos() / 1_000)
            .collect();
        assert_eq!(late, [2_500, 1_500, 500]);
    }
}
