//! How much CPU time a thread is given that asked to adapt to its measured use.

use std::collections::VecDeque;

use tactus_model::time::Nanos;

/// The number of periods that are remembered: enough for a p99.9.
const PERIODS: usize = 1000;

/// The number of periods before the first conclusion, and between two of them.
const PAUSE: usize = 50;

/// The cushion above the p99.9, in per cent of it.
const CUSHION: u64 = 50;

/// The difference below which a grant is left alone, in per cent of it: every change costs its
/// neighbours.
const INDIFFERENCE: u64 = 10;

/// The measured use of one thread, and what follows from it.
#[derive(Debug, Default)]
pub(crate) struct Adaptation {
    /// The CPU time in each of the last periods.
    uses: VecDeque<Nanos>,
    since: usize,
}

impl Adaptation {
    /// Takes the use in one period with a grant. Returns the cost that the thread should have, if
    /// it should have another.
    ///
    /// A thread that used all of its grant may need more than can be seen, so it gets twice the
    /// grant at once. Otherwise the cost is the p99.9 of the use and a cushion.
    pub fn observe(&mut self, used: Nanos, granted: Nanos) -> Option<Nanos> {
        if self.uses.len() == PERIODS {
            self.uses.pop_front();
        }
        self.uses.push_back(used);
        self.since += 1;
        if is_used_up(used, granted) {
            self.since = 0;
            return Some(granted.saturating_mul(2));
        }
        if self.since < PAUSE {
            return None;
        }
        self.since = 0;
        let wanted = percent(self.need()?, 100 + CUSHION);
        let is_near = wanted >= percent(granted, 100 - INDIFFERENCE)
            && wanted <= percent(granted, 100 + INDIFFERENCE);
        (!is_near).then_some(wanted)
    }

    /// The p99.9 of the use (the nearest rank); `None` before the first period.
    pub fn need(&self) -> Option<Nanos> {
        let mut sorted: Vec<Nanos> = self.uses.iter().copied().collect();
        sorted.sort_unstable();
        let rank = (sorted.len() * 999).div_ceil(1000);
        sorted.get(rank.checked_sub(1)?).copied()
    }
}

/// Whether a thread used its grant: all of it, but for what metering misses.
pub(crate) fn is_used_up(used: Nanos, granted: Nanos) -> bool {
    used >= percent(granted, 98)
}

fn percent(length: Nanos, percent: u64) -> Nanos {
    Nanos::from_nanos(length.as_nanos() / 100 * percent)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = Nanos::from_millis(1);

    #[test]
    fn the_cost_follows_the_use() {
        let mut adaptation = Adaptation::default();
        let mut found = (0..PAUSE).filter_map(|_| adaptation.observe(MS, MS.saturating_mul(4)));
        assert_eq!(found.next(), Some(Nanos::from_micros(1500)));
        assert_eq!(found.next(), None);
        // Nearly the same is left alone.
        let granted = Nanos::from_micros(1600);
        assert!((0..200).all(|_| adaptation.observe(MS, granted).is_none()));
        // A grant that was used up is too small.
        assert_eq!(adaptation.observe(granted, granted), Some(Nanos::from_micros(3200)));
    }

    #[test]
    fn a_rare_long_period_counts() {
        let mut adaptation = Adaptation::default();
        for _ in 0..998 {
            adaptation.observe(MS, MS.saturating_mul(9));
        }
        for _ in 0..2 {
            adaptation.observe(MS.saturating_mul(5), MS.saturating_mul(9));
        }
        assert_eq!(adaptation.need(), Some(MS.saturating_mul(5)));
    }
}
