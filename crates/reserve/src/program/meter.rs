//! The use of one thread, window by window.

use tactus_model::recording::ThreadId;
use tactus_model::reserve::{Capacity, History, Rung, ThreadUsage, Window};
use tactus_model::time::Nanos;

use crate::{Reserve, Usage};

/// The share of its cost that a thread has used in a period when it has used it up, in per mille:
/// enforcement and reading are not exact.
const USED_UP: u64 = 980;

/// A reserve and the use that was read.
pub(super) struct Metered {
    pub(super) reserve: Reserve,
    /// Its last name: a program gets its own when it is executed.
    name: String,
    since: Nanos,
    last: Usage,
    history: History,
}

impl Metered {
    /// Begins the first window at `since` after the start of the program.
    pub(super) fn begin(reserve: Reserve, name: String, window: Nanos, since: Nanos) -> Self {
        // What cannot be read now is read later.
        let last = reserve.usage().unwrap_or(Usage::NONE);
        Self { reserve, name, since, last, history: History::new(window) }
    }

    /// Ends `count` windows; false if the thread has ended.
    pub(super) fn read(&mut self, window: Nanos, count: u64) -> bool {
        let status = Status::of(self.reserve.thread());
        let Ok(now) = self.reserve.usage() else { return false };
        let is_ready = status.as_ref().is_some_and(|status| status.state == 'R');
        let previous = self.history.windows.last().map(|previous| previous.used);
        let mut all = grown(&self.last, &now, self.reserve.capacity(), window, count, previous);
        // Without more to do at the end, it just used its cost.
        if now.demotions.is_none() && !is_ready {
            all.overruns = 0;
        }
        spread(all, count).for_each(|part| self.history.add(part));
        self.last = now;
        let Some(status) = status else { return false };
        let lives = status.lives();
        self.name = status.name;
        lives
    }

    /// Begins windows of another length.
    pub(super) fn restart(&mut self, window: Nanos, since: Nanos) {
        self.last = self.reserve.usage().unwrap_or(self.last);
        (self.history, self.since) = (History::new(window), since);
    }

    /// Ends the reserve.
    pub(super) fn end(self) -> ThreadUsage {
        let rung = self.reserve.rung();
        ThreadUsage {
            thread: self.reserve.thread().0,
            name: self.name,
            capacity: self.reserve.capacity(),
            rung,
            since: self.since,
            precision: self.last.precision,
            demotions: self.last.demotions.filter(|_| rung == Rung::Priority),
            history: self.history,
        }
    }
}

/// What a thread did in `count` windows between two readings. It overran if it used its cost up, or
/// if its priority was taken away.
///
/// The kernel may enforce a cost at its ticks only: a thread then uses more in one period and less
/// in the next. So a cost is used up, too, if that is so of this window and the `previous` together.
fn grown(
    before: &Usage,
    now: &Usage,
    capacity: Capacity,
    window: Nanos,
    count: u64,
    previous: Option<Nanos>,
) -> Window {
    let used = now.used.saturating_sub(before.used);
    let waited = now.waited.unwrap_or_default().saturating_sub(before.waited.unwrap_or_default());
    let periods = window.saturating_mul(count).div_floor(capacity.period());
    let overruns = match now.demotions.zip(before.demotions) {
        Some((now, before)) => now.saturating_sub(before),
        None => {
            let cost = capacity.cost().saturating_mul(periods);
            let reaches = |used: Nanos, cost: Nanos| {
                used.saturating_mul(1000) >= cost.saturating_mul(USED_UP)
            };
            let with_previous =
                previous.is_some_and(|previous| reaches(used + previous, cost.saturating_mul(2)));
            if reaches(used, cost) || with_previous { periods } else { 0 }
        }
    };
    Window { used, waited, overruns }
}

/// Spreads the use over `count` windows that were read together.
fn spread(all: Window, count: u64) -> impl Iterator<Item = Window> {
    let part = move |whole: u64, number: u64| whole / count + u64::from(number < whole % count);
    (0..count).map(move |number| Window {
        used: Nanos::from_nanos(part(all.used.as_nanos(), number)),
        waited: Nanos::from_nanos(part(all.waited.as_nanos(), number)),
        overruns: part(all.overruns, number),
    })
}

/// What the kernel shows of a thread. See proc_pid_stat(5).
pub(super) struct Status {
    /// Its name, at most 15 bytes.
    pub(super) name: String,
    /// Its state, e.g. `R`.
    state: char,
}

impl Status {
    /// The status of a thread; `None` if it is gone.
    pub(super) fn of(thread: ThreadId) -> Option<Self> {
        let stat = std::fs::read(format!("/proc/{thread}/stat")).ok()?;
        Self::parse(&String::from_utf8_lossy(&stat))
    }

    /// The name is in parentheses and may contain any character.
    fn parse(stat: &str) -> Option<Self> {
        let (before, after) = stat.rsplit_once(')')?;
        let (_, name) = before.split_once('(')?;
        Some(Self { name: name.to_owned(), state: after.trim_start().chars().next()? })
    }

    /// Whether it has not ended. The first thread of a process can end before the others; it is
    /// then a zombie until they end.
    pub(super) const fn lives(&self) -> bool {
        !matches!(self.state, 'Z' | 'X')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(used: u64, demotions: Option<u64>) -> Usage {
        let (used, waited) = (Nanos::from_micros(used), Some(Nanos::ZERO));
        Usage { used, waited, demotions, ..Usage::NONE }
    }

    fn overruns(used: u64, previous: Option<u64>, demotions: Option<u64>) -> u64 {
        let capacity = "1ms/4ms".parse().unwrap();
        let before = usage(0, demotions.map(|_| 0));
        let now = usage(used, demotions);
        let previous = previous.map(Nanos::from_micros);
        grown(&before, &now, capacity, Nanos::from_millis(8), 1, previous).overruns
    }

    #[test]
    fn a_thread_overruns_if_it_used_its_cost_up() {
        assert_eq!(overruns(2_000, None, None), 2);
        assert_eq!(overruns(1_970, None, None), 2);
        assert_eq!(overruns(1_000, None, None), 0);
        assert_eq!(overruns(1_600, Some(2_400), None), 2, "enforced at ticks");
        assert_eq!(overruns(1_000, Some(2_000), None), 0);
        assert_eq!(overruns(1_000, None, Some(1)), 1, "the enforcer knows");
    }

    #[test]
    fn a_name_may_contain_any_character() {
        let status = Status::parse("42 (a) b (\n) R 1 2 3").unwrap();
        assert_eq!((&*status.name, status.state), ("a) b (\n", 'R'));
        assert!(status.lives() && !Status::parse("42 (a) Z 1").unwrap().lives());
        assert!(Status::parse("42").is_none());
        let own = Status::of(tactus_sys::thread::current_id()).unwrap();
        assert!(own.lives() && !own.name.is_empty());
    }

    #[test]
    fn a_use_that_was_read_late_is_spread_and_nothing_is_lost() {
        let all = Window { used: Nanos::from_nanos(10), waited: Nanos::from_nanos(2), overruns: 1 };
        let parts: Vec<Window> = spread(all, 3).collect();
        assert_eq!(parts.iter().map(|part| part.used).sum::<Nanos>(), all.used);
        assert_eq!(parts.iter().map(|part| part.overruns).sum::<u64>(), 1);
        assert_eq!(parts[0].used, Nanos::from_nanos(4));
    }
}
