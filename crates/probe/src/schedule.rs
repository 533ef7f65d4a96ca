//! When wakeups are due.

use tactus_model::cell::Cell;
use tactus_model::probe::Interval;
use tactus_model::random::SplitMix64;
use tactus_model::time::Nanos;

/// The due times of a task within a window, in ascending order, relative to the opening of the
/// window.
///
/// They depend only on the parameters, so a schedule can be repeated afterwards: nothing about
/// a missed due time needs to be kept while measuring. Two due times may be equal if the dither
/// is as wide as the interval.
#[derive(Clone, Debug)]
pub struct Schedule {
    interval: Interval,
    window: Nanos,
    random: SplitMix64,
    /// The next point of the grid, before dither.
    grid: Nanos,
    /// The next due time; beyond the window if there is none.
    next: Nanos,
}

impl Schedule {
    /// Starts the schedule. The first due time is `offset`, or up to the spread later if the
    /// interval is dithered; all due times are in `0 .. window`.
    pub fn new(interval: Interval, offset: Nanos, window: Nanos, seed: u64) -> Self {
        let mut schedule =
            Self { interval, window, random: SplitMix64::new(seed), grid: offset, next: offset };
        schedule.next = offset + schedule.dither();
        schedule
    }

    /// The schedule of a task of `cell`, in a turn with this seed.
    pub fn of_task(cell: &Cell, task: u32, seed: u64) -> Self {
        let probe = cell.probe.timer();
        let offset = probe.offset.saturating_mul(task.into());
        Self::new(probe.interval, offset, cell.duration, task_seed(seed, task))
    }

    /// The next due time, without passing over it; `None` after the last in the window.
    #[inline]
    pub fn peek(&self) -> Option<Nanos> {
        (self.next < self.window).then_some(self.next)
    }

    /// Passes over all due times up to and including `now`; returns their number.
    #[inline]
    pub fn skip_until(&mut self, now: Nanos) -> u64 {
        if self.next > now || self.next >= self.window { 0 } else { self.skip(now) }
    }

    /// The number of due times from here to the end of the window.
    pub fn remaining(&self) -> u64 {
        match self.interval {
            Interval::Fixed(interval) => {
                (self.window - self.next).as_nanos().div_ceil(interval.as_nanos().max(1))
            }
            _ => self.clone().count() as u64,
        }
    }

    /// The rare case: a machine that keeps up skips nothing.
    #[cold]
    fn skip(&mut self, now: Nanos) -> u64 {
        if let Interval::Fixed(interval) = self.interval {
            // At 5 µs, a stall of a second would take 200 000 turns of the loop below, which
            // would itself delay the task.
            let passed = (now - self.next).div_floor(interval) + 1;
            let skipped = passed.min(self.remaining());
            self.next = self.next + interval.saturating_mul(skipped);
            return skipped;
        }
        let mut skipped = 0;
        while self.next <= now && self.next < self.window {
            self.advance();
            skipped += 1;
        }
        skipped
    }

    #[inline]
    fn advance(&mut self) {
        match self.interval {
            Interval::Fixed(interval) => self.next = self.next + interval,
            Interval::Uniform { min, max } => {
                let span = (max - min).as_nanos();
                self.next = self.next + min + self.below_or_at(span);
            }
            Interval::Dithered { interval, .. } => {
                self.grid = self.grid + interval;
                self.next = self.grid + self.dither();
            }
        }
    }

    /// The random shift of a grid point; zero without dither.
    #[inline]
    fn dither(&mut self) -> Nanos {
        match self.interval {
            Interval::Dithered { spread, .. } => self.below_or_at(spread.as_nanos()),
            _ => Nanos::ZERO,
        }
    }

    /// A uniform duration from zero to `most`, both included.
    #[inline]
    fn below_or_at(&mut self, most: u64) -> Nanos {
        Nanos::from_nanos(self.random.below(most.saturating_add(1)))
    }
}

impl Iterator for Schedule {
    type Item = Nanos;

    /// Returns the next due time.
    #[inline]
    fn next(&mut self) -> Option<Nanos> {
        let due = self.peek()?;
        self.advance();
        Some(due)
    }
}

/// The seed of a task's schedule: the tasks of a turn have unrelated random sequences.
pub fn task_seed(seed: u64, task: u32) -> u64 {
    let mut random = SplitMix64::new(seed);
    for _ in 0..task {
        random.next_u64();
    }
    random.next_u64()
}

/// The first multiple of `align` that is not before `earliest`, both in nanoseconds of the
/// clock; `earliest` itself if `align` is zero.
pub fn aligned_start(earliest: u64, align: Nanos) -> u64 {
    earliest.checked_next_multiple_of(align.as_nanos()).unwrap_or(earliest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn micros(count: u64) -> Nanos {
        Nanos::from_micros(count)
    }

    /// Any interval, long enough for a window of a few milliseconds to have few due times.
    pub(crate) fn any_interval() -> impl Strategy<Value = Interval> {
        (1_u64..400, 0_u64..400, 0_u8..3).prop_map(|(length, more, kind)| match kind {
            0 => Interval::Fixed(micros(length)),
            1 => Interval::Uniform { min: micros(length), max: micros(length + more) },
            _ => Interval::Dithered { interval: micros(length), spread: micros(more.min(length)) },
        })
    }

    proptest! {
        #[test]
        fn due_times_ascend_within_the_window(
            interval in any_interval(),
            offset in 0_u64..3_000,
            window in 0_u64..3_000,
            seed in any::<u64>(),
        ) {
            let schedule = Schedule::new(interval, micros(offset), micros(window), seed);
            let due_times: Vec<Nanos> = schedule.clone().collect();
            prop_assert!(due_times.is_sorted());
            prop_assert!(due_times.iter().all(|due| (micros(offset)..micros(window)).contains(due)));
            prop_assert_eq!(schedule.remaining(), due_times.len() as u64);
            prop_assert_eq!(schedule.collect::<Vec<_>>(), due_times, "a repetition is the same");
        }

        #[test]
        fn every_due_time_is_returned_or_skipped_once(
            interval in any_interval(),
            seed in any::<u64>(),
            delays in prop::collection::vec(0_u64..2_000_000, 1..200),
        ) {
            let mut schedule = Schedule::new(interval, Nanos::ZERO, micros(5_000), seed);
            let all: Vec<Nanos> = schedule.clone().collect();
            let (mut returned, mut skipped) = (Vec::new(), 0);
            let mut delays = delays.into_iter().cycle();
            while let Some(due) = schedule.next() {
                let place = returned.len() + skipped as usize;
                prop_assert_eq!(due, all[place], "the due times skipped lie between");
                returned.push(due);
                // Most arrivals are on time; some are very late.
                let delay = delays.next().map_or(0, |delay| if delay % 4 == 0 { delay } else { delay % 500 });
                let now = due + Nanos::from_nanos(delay);
                skipped += schedule.skip_until(now);
                prop_assert!(schedule.peek().is_none_or(|next| next > now));
            }
            prop_assert_eq!(returned.len() as u64 + skipped, all.len() as u64);
        }

        #[test]
        fn a_random_gap_stays_within_its_bounds(
            min in 1_u64..200,
            more in 0_u64..200,
            seed in any::<u64>(),
        ) {
            let interval = Interval::Uniform { min: micros(min), max: micros(min + more) };
            let due: Vec<Nanos> = Schedule::new(interval, Nanos::ZERO, micros(5_000), seed).collect();
            for pair in due.windows(2) {
                prop_assert!((micros(min)..=micros(min + more)).contains(&(pair[1] - pair[0])));
            }
        }
    }

    #[test]
    fn a_dithered_point_stays_near_its_grid() {
        let interval = Interval::Dithered { interval: micros(100), spread: micros(30) };
        let schedule = Schedule::new(interval, micros(7), micros(10_000), 1);
        for (place, due) in (0..).zip(schedule) {
            let point = micros(7 + 100 * place);
            assert!((point..=point + micros(30)).contains(&due));
        }
    }

    #[test]
    fn starts_are_aligned_to_the_clock() {
        assert_eq!(aligned_start(1_234, Nanos::ZERO), 1_234);
        assert_eq!(aligned_start(1_234, Nanos::from_nanos(1_000)), 2_000);
        assert_eq!(aligned_start(2_000, Nanos::from_nanos(1_000)), 2_000);
    }

    #[test]
    fn tasks_have_different_seeds() {
        let seeds: Vec<u64> = (0..4).map(|task| task_seed(7, task)).collect();
        assert!((1..4).all(|place| !seeds[..place].contains(&seeds[place])));
    }
}
