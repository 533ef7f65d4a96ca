//! The real-time clock beside the monotonic one, and its jumps.

use tactus_model::time::Nanos;
use tactus_sys::clock::{ClockOffset, ClockPair};

/// The relation of the real-time clock and the monotonic clock over time.
///
/// A measured offset is kept, and instants that were computed with it keep their distances, until
/// a reading contradicts it: that is a jump, and the new offset applies to everything that is
/// converted later. What was converted before keeps its instant.
#[derive(Clone, Debug)]
pub struct RealClock {
    offset: ClockOffset,
    /// How far the offset may be wrong.
    width: Nanos,
}

impl RealClock {
    /// The relation by a first reading.
    pub fn new(read: &ClockPair) -> Self {
        Self { offset: read.offset(), width: read.width() }
    }

    /// Considers another reading. Returns by how much the clock has jumped, in nanoseconds, if it
    /// has.
    pub fn consider(&mut self, read: &ClockPair) -> Option<i64> {
        let change = read.offset().since(self.offset);
        let explained = read.width() + self.width;
        let has_jumped = change.unsigned_abs() > explained.as_nanos();
        has_jumped.then(|| {
            self.adopt(read);
            change
        })
    }

    /// Takes the offset of another reading.
    pub fn adopt(&mut self, read: &ClockPair) {
        *self = Self::new(read);
    }

    /// The present offset.
    pub const fn offset(&self) -> ClockOffset {
        self.offset
    }
}

#[cfg(test)]
mod tests {
    use tactus_model::time::Instant;
    use tactus_osc::TimeTag;
    use tactus_stream::Moment;

    use super::*;

    fn look(before: u64, width: u64, ahead: u64) -> ClockPair {
        let before_and_half = before + width / 2;
        ClockPair {
            before: Moment::from_nanos(before),
            real: Instant::from_nanos(before_and_half + ahead),
            after: Moment::from_nanos(before + width),
        }
    }

    #[test]
    fn distances_stay_until_the_clock_is_set() {
        let mut clock = RealClock::new(&look(1000, 100, 5_000_000));
        let first = clock.offset().monotonic(Instant::from_nanos(5_010_000));
        // Neither an interrupted look nor one that agrees changes anything.
        for other in [look(2000, 80_000, 5_030_000), look(90_000, 100, 5_000_040)] {
            assert_eq!(clock.consider(&other), None);
        }
        let second = clock.offset().monotonic(Instant::from_nanos(5_020_000));
        assert_eq!(second - first, Nanos::from_micros(10));
        let back = look(200_000, 100, 3_000_000);
        assert_eq!(clock.consider(&back), Some(-2_000_000));

        assert_eq!(clock.consider(&back), None);
        let moment = Moment::from_nanos(300_000);
        assert_eq!(clock.offset().real(moment), Instant::from_nanos(3_300_000));
        assert_eq!(clock.offset().monotonic(clock.offset().real(moment)), moment);
    }

    /// PortTime (of PortMidi 217) subtracts seconds and nanoseconds apart and truncates a negative
    /// difference of nanoseconds toward zero: in each second it skips one tick of a millisecond, and
    /// has another one twice.
    #[test]
    fn no_tick_of_a_millisecond_is_skipped_or_doubled() {
        let porttime = |at: i64, start: i64| {
            (at / 1_000_000_000 - start / 1_000_000_000) * 1000
                + (at % 1_000_000_000 - start % 1_000_000_000) / 1_000_000
        };
        let start = 1_800_000_000_700_300_000_i64;
        let irregular = (1..2000)
            .filter(|tick| {
                let at = |tick: i64| porttime(start + tick * 1_000_000 + 500_000, start);
                at(*tick) - at(tick - 1) != 1
            })
            .count();
        assert!(irregular > 0, "the defect is there");

        let clock = RealClock::new(&look(7_654_321, 90, start.cast_unsigned()));
        let mut last = None;
        for tick in 0..4000 {
            let real = Instant::from_nanos(start.cast_unsigned() + tick * 1_000_000);
            let tag = TimeTag::of(real);
            let read = tag.real_time(Instant::from_nanos(start.cast_unsigned())).unwrap();
            let due = clock.offset().monotonic(read);
            let step = last.replace(due).map(|last| due - last);
            assert!(step.is_none_or(|step| step == Nanos::from_millis(1)), "{tick}: {step:?}");
        }
    }

    #[test]
    fn the_clocks_of_the_machine_agree() {
        let mut clock = RealClock::new(&ClockPair::read());
        // Somebody may set the clock while this runs, hardly a hundred times.
        let jumps = (0..100).filter_map(|_| clock.consider(&ClockPair::read())).count();
        assert!(jumps < 100);
    }
}
