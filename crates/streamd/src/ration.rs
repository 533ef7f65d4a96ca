//! How often something may happen.

use tactus_delivery::item::Moment;
use tactus_model::time::Nanos;

/// A bucket that fills at a constant rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ration {
    /// From one event to the next.
    every: Nanos,
    /// How much may be taken in advance.
    burst: Nanos,
    /// When the bucket is full again.
    full: Moment,
}

impl Ration {
    /// One event in each `every`, and at most `burst` at once.
    pub const fn new(every: Nanos, burst: u64) -> Self {
        Self { every, burst: every.saturating_mul(burst), full: Moment::from_nanos(0) }
    }

    /// Counts an event. Returns until when the next ones are to wait, if it was one too many.
    pub fn take(&mut self, now: Moment) -> Option<Moment> {
        self.full = self.full.max(now) + self.every;
        let ahead = self.full - now;
        (ahead > self.burst).then(|| now + (ahead - self.burst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_at_their_rate_after_a_burst() {
        let at = |ms| Moment::from_nanos(Nanos::from_millis(ms).as_nanos());
        let mut ration = Ration::new(Nanos::from_millis(10), 3);
        assert!((0..3).all(|_| ration.take(at(100)).is_none()));
        assert_eq!(ration.take(at(100)), Some(at(110)));
        assert_eq!(ration.take(at(120)), None);
    }
}
