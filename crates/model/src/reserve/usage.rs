//! What a program uses of its reserve.

use serde::{Deserialize, Serialize};

use super::{Capacity, RefusedRung, Rung};
use crate::time::Nanos;

/// How exactly the CPU time of a thread is known while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Precision {
    /// To the nanosecond, by perf's task clock.
    Exact,
    /// In steps of a tick, by the scheduler's statistics.
    Ticks,
}

/// What a thread did in a window of one or more periods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Its CPU time.
    pub used: Nanos,
    /// How long it was ready and not running: preempted or throttled.
    pub waited: Nanos,
    /// In how many periods of the window it used its cost and had more to do.
    pub overruns: u64,
}

impl Window {
    fn with(self, next: Self) -> Self {
        Self {
            used: self.used + next.used,
            waited: self.waited + next.waited,
            overruns: self.overruns + next.overruns,
        }
    }
}

/// The use over time, in windows of equal length.
///
/// It keeps [`WINDOWS_MAX`](Self::WINDOWS_MAX) windows at most. When it is full, each two become
/// one, so that a program that runs for days needs no more memory than one that runs for a minute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    /// The length of a window.
    pub window: Nanos,
    /// The windows, in their order.
    pub windows: Vec<Window>,
    /// How many added windows are one window here.
    joined: u64,
    /// How many of them the last window has.
    in_last: u64,
}

impl History {
    /// The most windows that are kept.
    pub const WINDOWS_MAX: usize = 1 << 13;

    /// Has no windows yet; those that are added have this length.
    pub const fn new(window: Nanos) -> Self {
        Self { window, windows: Vec::new(), joined: 1, in_last: 0 }
    }

    /// Adds the next window.
    pub fn add(&mut self, next: Window) {
        if let Some(last) = self.windows.last_mut().filter(|_| self.in_last < self.joined) {
            *last = last.with(next);
            self.in_last += 1;
            return;
        }
        if self.windows.len() == Self::WINDOWS_MAX {
            self.windows = self.windows.chunks(2).map(|pair| pair[0].with(pair[1])).collect();
            self.window = self.window.saturating_mul(2);
            self.joined *= 2;
        }
        self.windows.push(next);
        self.in_last = 1;
    }

    /// The sum of all windows.
    pub fn total(&self) -> Window {
        self.windows.iter().fold(Window::default(), |sum, window| sum.with(*window))
    }

    /// All windows but the last, which the end of the program cuts.
    pub fn complete(&self) -> &[Window] {
        &self.windows[..self.windows.len().saturating_sub(1)]
    }
}

/// What one thread used of its reserve.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadUsage {
    /// Its ID.
    pub thread: i32,
    /// Its last name.
    pub name: String,
    /// Its capacity, at the end.
    pub capacity: Capacity,
    /// The rung that kept its reserve.
    pub rung: Rung,
    /// From the start of the program to the start of its first window.
    pub since: Nanos,
    /// How exactly its use is known.
    pub precision: Precision,
    /// In how many periods its priority was taken away; `None` for rungs that do not do this.
    pub demotions: Option<u64>,
    /// Its use over time.
    pub history: History,
}

/// How a program that ran under a reserve fared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReserveUsage {
    /// The command.
    pub command: Vec<String>,
    /// The capacity of each of its threads, at the end; `None` if they have different ones.
    pub capacity: Option<Capacity>,
    /// How often the capacity was changed.
    pub changes: u64,
    /// The rung that kept the reserve of its first thread.
    pub rung: Rung,
    /// The better rungs, and why they were refused.
    pub refused: Vec<RefusedRung>,
    /// The largest cost that a better rung would grant with this period, if one was refused and
    /// this is known.
    pub largest_cost: Option<Nanos>,
    /// From its start to its end.
    pub ran: Nanos,
    /// The steal time of all CPUs meanwhile.
    pub steal: Option<Nanos>,
    /// How late the supervisor read the use at most.
    pub read_late_max: Nanos,
    /// Whether it started processes, which have no reserve.
    pub has_children: bool,
    /// Threads that got no reserve, with the reason, and names that no thread had.
    pub without: Vec<String>,
    /// Its threads with a reserve.
    pub threads: Vec<ThreadUsage>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(used: u64) -> Window {
        Window { used: Nanos::from_nanos(used), waited: Nanos::from_nanos(1), overruns: 1 }
    }

    #[test]
    fn a_full_history_joins_its_windows_and_loses_nothing() {
        let mut history = History::new(Nanos::from_millis(10));
        let count = 5 * History::WINDOWS_MAX as u64 + 3;
        (0..count).for_each(|used| history.add(window(used)));
        assert!(history.windows.len() <= History::WINDOWS_MAX);
        assert_eq!(history.window, Nanos::from_millis(80));
        let sum = count * (count - 1) / 2;
        let total = history.total();
        assert_eq!(total.used, Nanos::from_nanos(sum));
        assert_eq!((total.waited, total.overruns), (Nanos::from_nanos(count), count));
        assert_eq!(history.complete().len(), history.windows.len() - 1);
    }

    #[test]
    fn a_short_history_has_the_windows_that_were_added() {
        let mut history = History::new(Nanos::from_millis(10));
        assert_eq!(history.complete(), []);
        (0..3).for_each(|used| history.add(window(used)));
        assert_eq!(history.complete(), [window(0), window(1)]);
    }

    #[test]
    fn the_rungs_that_keep_a_capacity_are_in_the_order_of_the_ladder() {
        assert!(Rung::KEEPING.is_sorted());
        assert!(Rung::ALL.is_sorted());
    }
}
