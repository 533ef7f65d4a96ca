//! Which due times a periodic thread serves when a job takes too long. Pure: time is an argument.

use tactus_model::time::{Instant, Monotonic, Nanos};

/// What happens to the due times that pass while a job still runs.
///
/// Due times have a fixed grid: *k* periods after the first one. A job that ends at or before the
/// next due time is in time, and all policies do the same: the next job is due then. Otherwise
/// due times have passed, which are strictly before the end of the job; a due time equal to it
/// can still be served in time.
///
/// | policy | next job | `missed` | due times |
/// |---|---|---|---|
/// | [`Skip`](Self::Skip) | at the first due time that has not passed | all that passed | on the grid |
/// | [`CatchUp(n)`](Self::CatchUp) | at once, for the oldest of the last *n* that passed | those before it | on the grid |
/// | [`Shift`](Self::Shift) | at once | always 0 | the next one, and with it the grid, moves to the end of the job |
/// | [`Stop`](Self::Stop) | none: the thread ends | all that passed | on the grid |
///
/// For every policy, intended = run + missed: each due time from the first to the last that was
/// served or passed is counted exactly once. A job that begins late is not an overrun: its
/// lateness is recorded, and only its end decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Overrun {
    /// Skips due times that have passed, so no job begins late because of another one.
    #[default]
    Skip,
    /// Runs jobs for due times that have passed, back to back, for the last *n* at most.
    /// `CatchUp(0)` is [`Skip`](Self::Skip); `CatchUp(u32::MAX)` omits none.
    CatchUp(u32),
    /// Begins the next job at once and moves the grid, so the time between two due times is
    /// at least a period. How far it moved is counted in [`Statistics::shifted`](crate::Statistics).
    Shift,
    /// Ends the thread.
    Stop,
}

/// One due time of a periodic thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// Its number on the grid, from 0; missed due times have numbers too.
    pub index: u64,
    /// When the job is due.
    pub at: Instant<Monotonic>,
    /// How many due times were missed directly before this one.
    pub missed: u64,
    /// By how much the grid moved directly before this one.
    pub shifted: Nanos,
}

/// What follows a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Another job.
    Run(Due),
    /// The end of the thread; this many due times had passed.
    Stop {
        /// The due times that passed.
        missed: u64,
    },
}

/// The due times of one thread.
#[derive(Clone, Debug)]
pub struct Schedule {
    period: Nanos,
    overrun: Overrun,
    present: Due,
}

impl Schedule {
    /// Makes a grid of `period`, which is not zero, with the first due time at `first`.
    pub const fn new(first: Instant<Monotonic>, period: Nanos, overrun: Overrun) -> Self {
        let present = Due { index: 0, at: first, missed: 0, shifted: Nanos::ZERO };
        Self { period, overrun, present }
    }

    /// The same grid from the first due time that is not before `now`; those before it do not
    /// exist.
    #[must_use]
    pub fn starting_at(self, now: Instant<Monotonic>) -> Self {
        let late = (now - self.present.at).as_nanos();
        let periods = late.div_ceil(self.period.as_nanos());
        let first = self.present.at + self.period.saturating_mul(periods);
        Self::new(first, self.period, self.overrun)
    }

    /// The due time that is being served.
    pub const fn present(&self) -> Due {
        self.present
    }

    /// Decides what follows the job of the present due time, which ended at `ended`.
    pub fn next(&mut self, ended: Instant<Monotonic>) -> Next {
        let passed = self.passed(ended);
        let due = match self.overrun {
            _ if passed == 0 => self.after(0),
            Overrun::Skip => self.after(passed),
            Overrun::CatchUp(limit) => self.after(passed.saturating_sub(limit.into())),
            Overrun::Shift => {
                let due = self.after(0);
                Due { at: ended, shifted: ended - due.at, ..due }
            }
            Overrun::Stop => return Next::Stop { missed: passed },
        };
        self.present = due;
        Next::Run(due)
    }

    /// How many due times after the present one are strictly before `ended`.
    fn passed(&self, ended: Instant<Monotonic>) -> u64 {
        let since = (ended - self.present.at).saturating_sub(Nanos::from_nanos(1));
        since.div_floor(self.period)
    }

    /// The due time after the next `missed`.
    fn after(&self, missed: u64) -> Due {
        let steps = missed.saturating_add(1);
        Due {
            index: self.present.index.saturating_add(steps),
            at: self.present.at + self.period.saturating_mul(steps),
            missed,
            shifted: Nanos::ZERO,
        }
    }
}

#[cfg(test)]
mod tests;
