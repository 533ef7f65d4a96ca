//! The due times of threads that are woken regularly.

use std::collections::VecDeque;

use tactus_model::time::{Instant, Monotonic};

use super::period::Period;

/// The number of the last wakeups by which the due times of a regularly woken thread are
/// aligned.
pub const GRID: usize = 32;

/// The due times of a regularly woken thread.
///
/// A wakeup may be late but not early. Each wakeup is compared with a whole number of periods
/// after the first; the earliest of the last [`GRID`] wakeups in this sense was on time. The
/// grid can so follow a slow drift between the waker's clock and ours.
#[derive(Debug, Default)]
pub(super) struct Grid {
    origin: u64,
    periods: u64,
    /// How much later than the grid from `origin` each of the last wakeups was, in
    /// nanoseconds; negative if it was earlier.
    offsets: VecDeque<i64>,
    last_due: u64,
}

impl Grid {
    /// Begins the grid at a wakeup.
    pub(super) fn first(&mut self, wakeup: Instant<Monotonic>) -> Instant<Monotonic> {
        let origin = wakeup.as_nanos();
        *self = Self { origin, periods: 0, offsets: VecDeque::from([0]), last_due: origin };
        wakeup
    }

    fn last_due(&self) -> Instant<Monotonic> {
        Instant::from_nanos(self.last_due)
    }

    /// The due time of a wakeup, and the number of periods since the last.
    pub(super) fn next(
        &mut self,
        wakeup: Instant<Monotonic>,
        period: &Period,
    ) -> (Instant<Monotonic>, u64) {
        let length = period.length.as_nanos().max(1);
        let spacing = wakeup - self.last_due() + period.tolerance();
        let periods = (spacing.as_nanos() / length).max(1);
        self.periods += periods;
        let expected = self.origin.saturating_add(self.periods.saturating_mul(length));
        if self.offsets.len() >= GRID {
            self.offsets.pop_front();
        }
        self.offsets.push_back(wakeup.as_nanos().wrapping_sub(expected) as i64);
        let earliest = self.offsets.iter().copied().min().unwrap_or(0);
        self.last_due = expected.saturating_add_signed(earliest);
        (self.last_due(), periods)
    }
}

#[cfg(test)]
mod tests {
    use tactus_model::time::Nanos;

    use super::*;

    fn micros(micros: u64) -> Instant<Monotonic> {
        Instant::from_nanos(micros * 1000)
    }

    #[test]
    fn a_late_wakeup_does_not_move_the_grid_and_a_drift_does() {
        let period = Period::of_length(Nanos::from_millis(5), &[Nanos::from_millis(5); 16]);
        let mut grid = Grid::default();
        assert_eq!(grid.first(micros(1000)), micros(1000));
        assert_eq!(grid.next(micros(6000), &period), (micros(6000), 1));
        // 2 ms late, then 1 ms late after a due time without a wakeup.
        assert_eq!(grid.next(micros(13_000), &period), (micros(11_000), 1));
        assert_eq!(grid.next(micros(22_000), &period), (micros(21_000), 2));
        // The waker's clock is slower than ours by one part in a thousand.
        let (mut wakeup, mut late) = (26_000, Nanos::ZERO);
        for _ in 0..1000 {
            late = micros(wakeup) - grid.next(micros(wakeup), &period).0;
            wakeup += 5005;
        }
        assert!(late <= Nanos::from_micros(5 * GRID as u64), "{late}");
    }
}
