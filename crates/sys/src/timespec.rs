//! The kernel's representation of durations and instants.

use tactus_model::time::Nanos;

const SECOND: u64 = 1_000_000_000;

/// Splits nanoseconds into the seconds and nanoseconds of timespec(3type).
#[inline]
pub(crate) const fn timespec(length: Nanos) -> libc::timespec {
    let nanos = length.as_nanos();
    // Neither cast can overflow: 2^64 ns are 1.8e10 s, and the rest is below 1e9. The
    // types are not named, since libc deprecates those names for musl.
    libc::timespec { tv_sec: (nanos / SECOND) as _, tv_nsec: (nanos % SECOND) as _ }
}

/// The same for the functions of rustix.
#[inline]
pub(crate) const fn rustix_timespec(length: Nanos) -> rustix::time::Timespec {
    let nanos = length.as_nanos();
    rustix::time::Timespec { tv_sec: (nanos / SECOND) as i64, tv_nsec: (nanos % SECOND) as i64 }
}

/// Joins seconds and nanoseconds; a negative time becomes zero.
#[inline]
pub(crate) const fn nanos(time: libc::timespec) -> Nanos {
    if time.tv_sec < 0 {
        return Nanos::ZERO;
    }
    Nanos::from_nanos(time.tv_sec as u64 * SECOND + time.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_survives_being_split() {
        for count in [0, 1, 999_999_999, 1_000_000_000, 1_790_000_000_123_456_789] {
            let length = Nanos::from_nanos(count);
            assert_eq!(nanos(timespec(length)), length);
        }
    }
}
