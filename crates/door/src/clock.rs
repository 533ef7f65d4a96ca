//! The real-time clock beside the monotonic one, and its jumps.

use tactus_model::time::{Clock, Instant, Monotonic, Nanos, Realtime};
use tactus_stream::Moment;
use tactus_sys::clock;

/// One look at both clocks: the monotonic one before and after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// The monotonic clock before.
    pub before: Moment,
    /// The real-time clock.
    pub real: Instant<Realtime>,
    /// The monotonic clock after.
    pub after: Moment,
}

impl Look {
    /// Looks at both clocks now.
    pub fn now() -> Self {
        Self { before: clock::now(), real: clock::now(), after: clock::now() }
    }

    /// The most exact of some looks now: the thread may lose its CPU during one of them.
    pub fn best() -> Self {
        let looks = std::iter::repeat_with(Self::now).take(16);
        looks.min_by_key(Self::width).unwrap_or_else(Self::now)
    }

    /// How far the offset may be wrong.
    fn width(&self) -> Nanos {
        self.after - self.before
    }

    fn offset(&self) -> i128 {
        let middle = u128::from(self.before.as_nanos()).midpoint(self.after.as_nanos().into());
        i128::from(self.real.as_nanos()) - middle.cast_signed()
    }
}

/// How much the real-time clock is ahead of the monotonic one.
///
/// Linux steers both clocks alike, so their difference is constant until somebody sets the
/// real-time clock. Therefore a measured offset is kept, and instants that were computed with it
/// keep their distances, until a look contradicts it: that is a jump, and the new offset applies
/// to everything that is converted later. What was converted before keeps its instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset(i128);

/// The relation of the clocks over time.
#[derive(Clone, Debug)]
pub struct RealClock {
    offset: Offset,
    /// How far the offset may be wrong.
    width: Nanos,
    jumps: u64,
}

impl RealClock {
    /// The relation by a first look.
    pub fn new(look: &Look) -> Self {
        Self { offset: Offset(look.offset()), width: look.width(), jumps: 0 }
    }

    /// Considers another look. Returns by how much the clock has jumped, in nanoseconds, if it has.
    pub fn consider(&mut self, look: &Look) -> Option<i64> {
        let change = look.offset() - self.offset.0;
        let explained = look.width() + self.width;
        if change.unsigned_abs() > u128::from(explained.as_nanos()) {
            self.adopt(look);
            self.jumps += 1;
            let change = change.clamp(i64::MIN.into(), i64::MAX.into());
            return Some(change as i64);
        }
        None
    }

    /// Takes the offset of another look.
    pub fn adopt(&mut self, look: &Look) {
        (self.offset, self.width) = (Offset(look.offset()), look.width());
    }

    /// The present offset.
    pub const fn offset(&self) -> Offset {
        self.offset
    }

    /// How often the clock has jumped.
    pub const fn jumps(&self) -> u64 {
        self.jumps
    }
}

impl Offset {
    /// The instant of the real-time clock; saturates.
    pub fn real(self, moment: Moment) -> Instant<Realtime> {
        shifted::<Monotonic, _>(moment, self.0)
    }

    /// The instant of the monotonic clock; saturates, so an instant before its start is its start.
    pub fn monotonic(self, real: Instant<Realtime>) -> Moment {
        shifted::<Realtime, _>(real, -self.0)
    }
}

fn shifted<From: Clock, To: Clock>(instant: Instant<From>, by: i128) -> Instant<To> {
    let nanos = i128::from(instant.as_nanos()).saturating_add(by);
    Instant::from_nanos(nanos.clamp(0, u64::MAX.into()) as u64)
}

#[cfg(test)]
mod tests {
    use tactus_osc::TimeTag;

    use super::*;

    fn look(before: u64, width: u64, ahead: u64) -> Look {
        let before_and_half = before + width / 2;
        Look {
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
        assert_eq!(clock.jumps(), 1);
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
    fn instants_before_the_start_are_the_start() {
        let clock = RealClock::new(&look(1000, 0, 5_000_000));
        assert_eq!(clock.offset().monotonic(Instant::from_nanos(7)), Moment::from_nanos(0));
        assert_eq!(
            clock.offset().real(Moment::from_nanos(u64::MAX)),
            Instant::from_nanos(u64::MAX)
        );
    }

    #[test]
    fn the_clocks_of_the_machine_agree() {
        let mut clock = RealClock::new(&Look::now());
        // Somebody may set the clock while this runs, hardly a hundred times.
        let jumps = (0..100).filter_map(|_| clock.consider(&Look::now())).count();
        assert!(jumps < 100);
    }
}
