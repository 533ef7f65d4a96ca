//! The real-time clock and the monotonic clock, read together.

use tactus_model::time::{Clock, Instant, Monotonic, Nanos, Realtime};

use super::now;

/// One reading of the real-time clock between two of the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockPair {
    /// The monotonic clock before.
    pub before: Instant<Monotonic>,
    /// The real-time clock.
    pub real: Instant<Realtime>,
    /// The monotonic clock after.
    pub after: Instant<Monotonic>,
}

/// How much the real-time clock is ahead of the monotonic one. Linux steers both alike, so this is
/// constant until somebody sets the real-time clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockOffset(i128);

impl ClockPair {
    /// Reads both clocks now.
    pub fn read() -> Self {
        Self { before: now(), real: now(), after: now() }
    }

    /// The most exact of some readings now: the thread may lose its CPU during one of them.
    pub fn read_best() -> Self {
        let pairs = std::iter::repeat_with(Self::read).take(16);
        pairs.min_by_key(Self::width).unwrap_or_else(Self::read)
    }

    /// How far the offset may be wrong.
    pub fn width(&self) -> Nanos {
        self.after - self.before
    }

    /// The offset, if the real-time clock was read in the middle.
    pub fn offset(&self) -> ClockOffset {
        let middle = u128::from(self.before.as_nanos()).midpoint(self.after.as_nanos().into());
        ClockOffset(i128::from(self.real.as_nanos()) - middle.cast_signed())
    }

    /// When the monotonic clock was at a time stamp of the real-time clock; saturates.
    pub fn monotonic(&self, stamp: Instant<Realtime>) -> Instant<Monotonic> {
        self.offset().monotonic(stamp)
    }
}

impl ClockOffset {
    /// How much more this is than another, in nanoseconds; saturates.
    pub fn since(self, other: Self) -> i64 {
        let change = self.0.saturating_sub(other.0);
        change.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }

    /// The instant of the real-time clock; saturates.
    pub fn real(self, moment: Instant<Monotonic>) -> Instant<Realtime> {
        shifted(moment, self.0)
    }

    /// The instant of the monotonic clock; saturates, so an instant before its start is its start.
    pub fn monotonic(self, real: Instant<Realtime>) -> Instant<Monotonic> {
        shifted(real, -self.0)
    }
}

fn shifted<From: Clock, To: Clock>(instant: Instant<From>, by: i128) -> Instant<To> {
    let nanos = i128::from(instant.as_nanos()).saturating_add(by);
    Instant::from_nanos(nanos.clamp(0, u64::MAX.into()) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_converted_by_the_middle_and_saturate() {
        let pair = ClockPair {
            before: Instant::from_nanos(1000),
            real: Instant::from_nanos(5_001_050),
            after: Instant::from_nanos(1100),
        };
        assert_eq!(pair.width(), Nanos::from_nanos(100));
        assert_eq!(pair.monotonic(Instant::from_nanos(5_001_000)), Instant::from_nanos(1000));
        assert_eq!(pair.monotonic(Instant::from_nanos(7)), Instant::from_nanos(0));
        let last = pair.offset().real(Instant::from_nanos(u64::MAX));
        assert_eq!(last, Instant::from_nanos(u64::MAX));
        let set = ClockPair { real: Instant::from_nanos(1_050), ..pair };
        assert_eq!(set.offset().since(pair.offset()), -5_000_000);
    }

    #[test]
    fn the_clocks_of_the_machine_are_read_in_order() {
        let pair = ClockPair::read_best();
        assert!(pair.before <= pair.after);
        assert!((pair.before..=pair.after).contains(&pair.monotonic(pair.real)));
    }
}
