//! How often something may happen.

use crate::time::{Moment, Nanos};

/// A bucket of tokens that fills at a constant rate: each event takes a token. The generic cell
/// rate algorithm (ITU-T I.371), in nanoseconds. Starts full.
#[derive(Clone, Copy, Debug)]
pub struct TokenBucket {
    /// From one event to the next.
    every: Nanos,
    /// How long an empty bucket takes to fill.
    burst: Nanos,
    /// When the bucket is full again.
    full: Moment,
}

impl TokenBucket {
    /// One event in each `every`, and at most `burst` at once; a burst of 0 is one of 1.
    pub const fn new(every: Nanos, burst: u64) -> Self {
        let burst = every.saturating_mul(if burst == 0 { 1 } else { burst });
        Self { every, burst, full: Moment::from_nanos(0) }
    }

    /// Takes a token.
    ///
    /// # Errors
    /// There is none, and nothing is taken; when there is one.
    pub fn take(&mut self, now: Moment) -> Result<(), Moment> {
        let mut taken = *self;
        match taken.charge(now) {
            Some(until) => Err(until),
            None => {
                *self = taken;
                Ok(())
            }
        }
    }

    /// Takes a token for an event that has happened already, even if there is none. Returns what
    /// [`Self::overdrawn`] does then.
    pub fn charge(&mut self, now: Moment) -> Option<Moment> {
        self.full = self.full.max(now) + self.every;
        self.overdrawn(now)
    }

    /// Until when the next event has to wait, if more tokens were taken than there were.
    pub fn overdrawn(&self, now: Moment) -> Option<Moment> {
        let empty = self.full - self.burst;
        (empty > now).then_some(empty)
    }

    /// Whether it is not full: it must be kept, lest a new one take its place.
    pub fn is_used(&self, now: Moment) -> bool {
        self.full > now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Moment {
        Moment::from_nanos(0) + Nanos::from_millis(ms)
    }

    #[test]
    fn tokens_come_at_their_rate_after_a_burst() {
        let mut bucket = TokenBucket::new(Nanos::from_millis(10), 3);
        assert!(!bucket.is_used(at(100)));
        assert!((0..3).all(|_| bucket.take(at(100)).is_ok()));
        assert_eq!(bucket.take(at(100)), Err(at(110)));
        assert_eq!(bucket.take(at(100)), Err(at(110)), "an event that is refused takes nothing");
        assert_eq!(bucket.take(at(110)), Ok(()));
        assert!(bucket.take(at(115)).is_err());
        assert!(bucket.is_used(at(139)) && !bucket.is_used(at(140)));
    }

    #[test]
    fn events_that_have_happened_are_charged() {
        let mut bucket = TokenBucket::new(Nanos::from_millis(10), 3);
        assert!((0..3).all(|_| bucket.charge(at(100)).is_none()));
        assert_eq!(bucket.charge(at(100)), Some(at(110)));
        assert_eq!(bucket.charge(at(100)), Some(at(120)));
        assert_eq!(bucket.overdrawn(at(119)), Some(at(120)));
        assert_eq!(bucket.overdrawn(at(120)), None);
    }

    #[test]
    fn a_bucket_has_room_for_a_token() {
        let mut bucket = TokenBucket::new(Nanos::from_millis(10), 0);
        assert_eq!(bucket.take(at(0)), Ok(()));
        assert_eq!(bucket.take(at(0)), Err(at(10)));
    }
}
