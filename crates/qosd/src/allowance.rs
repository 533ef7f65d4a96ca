//! How many changes a user may request.

use tactus_model::time::Nanos;

use crate::Moment;

/// Changes that may come at once, as seconds of the rate.
const BURST_SECONDS: u64 = 2;

/// A token bucket: so many changes a second, and a few more at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    /// From one change to the next.
    every: Nanos,
    /// When the bucket is full.
    full: Moment,
}

impl Allowance {
    /// A full bucket.
    pub fn of(changes_a_second: u16, now: Moment) -> Self {
        let every = 1_000_000_000 / u64::from(changes_a_second.max(1));
        Self { every: Nanos::from_nanos(every), full: now }
    }

    /// Takes a change; if there is none left, returns when there is.
    pub fn take(&mut self, now: Moment) -> Result<(), Moment> {
        let full = self.full.max(now) + self.every;
        let latest = now + Nanos::from_secs(BURST_SECONDS);
        if full > latest {
            return Err(now + (full - latest));
        }
        self.full = full;
        Ok(())
    }

    /// Whether it is not full.
    pub fn is_used(&self, now: Moment) -> bool {
        self.full > now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_come_at_their_rate_after_a_burst() {
        let at = |ms| Moment::from_nanos(Nanos::from_millis(ms).as_nanos());
        let mut allowance = Allowance::of(10, at(0));
        assert!((0..20).all(|_| allowance.take(at(0)).is_ok()));
        assert_eq!(allowance.take(at(0)), Err(at(100)));
        assert_eq!(allowance.take(at(100)), Ok(()));
        assert!(allowance.take(at(150)).is_err());
    }
}
