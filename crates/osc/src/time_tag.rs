//! Time tags, and the real-time clock.

use std::fmt;

use tactus_model::time::{Instant, Realtime};

/// Seconds from the first instant of NTP (1900) to the first of Unix (1970).
const NTP_TO_UNIX: i128 = 2_208_988_800;

const SECOND: i128 = 1_000_000_000;

/// Seconds after which the seconds of a time tag are 0 again: 2³².
const ERA: i128 = 1 << 32;

/// An instant in the format of NTP: seconds since 1900 in the upper 32 bits, the fraction of a
/// second in the lower ones. Its seconds start again in February 2036, and every 136 years.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimeTag(pub u64);

impl TimeTag {
    /// As soon as possible.
    pub const IMMEDIATE: Self = Self(1);

    /// No instant. The specification has no such tag; receipts use it for what did not happen.
    pub const NONE: Self = Self(0);

    /// The tag of an instant, exact to a quarter of a nanosecond.
    pub fn of(instant: Instant<Realtime>) -> Self {
        let nanos = i128::from(instant.as_nanos());
        let seconds = (nanos / SECOND + NTP_TO_UNIX) as u32;
        let fraction = ((nanos % SECOND) << 32) / SECOND;
        Self(u64::from(seconds) << 32 | fraction as u64)
    }

    /// The instant, in the era in which it is nearest to `now`; `None` for [`Self::IMMEDIATE`], and
    /// for an instant before 1970 or after 2554.
    pub fn real_time(self, now: Instant<Realtime>) -> Option<Instant<Realtime>> {
        if self == Self::IMMEDIATE {
            return None;
        }
        let fraction = i128::from(self.0 as u32);
        let within_era =
            i128::from(self.0 >> 32) * SECOND + ((fraction * SECOND + (1 << 31)) >> 32);
        let ahead = within_era - (i128::from(now.as_nanos()) + NTP_TO_UNIX * SECOND);
        let half = ERA * SECOND / 2;
        let nearest = (ahead + half).rem_euclid(ERA * SECOND) - half;
        let nanos = i128::from(now.as_nanos()) + nearest;
        u64::try_from(nanos).ok().map(Instant::from_nanos)
    }

    /// The later of two tags. [`Self::IMMEDIATE`] is earlier than every other.
    #[must_use]
    pub const fn later(self, other: Self) -> Self {
        if self.0 == Self::IMMEDIATE.0 {
            return other;
        }
        // The difference, not the numbers: an era may end between both.
        let is_after = self.0.wrapping_sub(other.0) as i64 >= 0;
        if other.0 == Self::IMMEDIATE.0 || is_after { self } else { other }
    }
}

/// Prints the seconds and the fraction, as `ntpq` does.
impl fmt::Display for TimeTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}.{:08x}", self.0 >> 32, self.0 as u32)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn real(seconds: u64, nanos: u64) -> Instant<Realtime> {
        Instant::from_nanos(seconds * 1_000_000_000 + nanos)
    }

    #[test]
    fn tags_count_from_1900() {
        let tag = TimeTag::of(real(0, 500_000_000));
        assert_eq!(tag, TimeTag(0x83AA_7E80_8000_0000));
        assert_eq!(tag.to_string(), "83aa7e80.80000000");
        assert_eq!(TimeTag::IMMEDIATE.real_time(real(5, 0)), None);
    }

    #[test]
    fn the_era_is_that_nearest_to_the_present() {
        // 7 February 2036, 06:28:16 UTC.
        let rollover = 2_085_978_496;
        assert_eq!(TimeTag::of(real(rollover, 0)), TimeTag(0));
        for (tag, now, wanted) in [
            (TimeTag(5 << 32), real(rollover - 5, 0), real(rollover + 5, 0)),
            (TimeTag(u64::MAX << 32), real(rollover + 5, 0), real(rollover - 1, 0)),
        ] {
            assert_eq!(tag.real_time(now), Some(wanted));
        }
        let early = TimeTag(0x8000_0000_0000_0000).real_time(real(0, 0));
        assert_eq!(early, None, "before 1970");
        let late = TimeTag(0x8000_0000_0000_0000).real_time(Instant::from_nanos(u64::MAX));
        assert!(late.is_none_or(|instant| instant.as_nanos() > u64::MAX / 2));
    }

    #[test]
    fn the_later_tag_is_found_across_eras() {
        let (before, after) = (TimeTag(u64::MAX - 5), TimeTag(7));
        assert_eq!(before.later(after), after);
        assert_eq!(after.later(before), after);
        for tag in [before, after, TimeTag::IMMEDIATE] {
            assert_eq!(tag.later(TimeTag::IMMEDIATE), tag);
            assert_eq!(TimeTag::IMMEDIATE.later(tag), tag);
        }
    }

    proptest! {
        #[test]
        fn an_instant_survives_the_way_there_and_back(
            now in 0_u64..9_000_000_000_000_000_000,
            ahead in -2_000_000_000_000_000_000_i64..2_000_000_000_000_000_000,
        ) {
            let instant = Instant::from_nanos(now.saturating_add_signed(ahead));
            let tag = TimeTag::of(instant);
            prop_assume!(tag != TimeTag::IMMEDIATE);
            prop_assert_eq!(tag.real_time(Instant::from_nanos(now)), Some(instant));
        }

        #[test]
        fn every_tag_has_an_instant_near_the_present_or_none(tag: u64, now: u64) {
            let found = TimeTag(tag).real_time(Instant::from_nanos(now));
            if let Some(found) = found {
                let distance = found.as_nanos().abs_diff(now);
                prop_assert!(i128::from(distance) <= ERA * SECOND / 2);
            }
        }
    }
}
