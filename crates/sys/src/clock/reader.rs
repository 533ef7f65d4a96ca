//! A clock that is chosen when a program runs.

use tactus_model::cost::ReadClock;
use tactus_model::recording::ThreadId;
use tactus_model::time::Nanos;

use super::{cpu_time_clock_of_process, cpu_time_clock_of_thread, read};
use crate::error::{Errno, SysError};
use crate::timespec::nanos;
use crate::timestamp;

/// A clock, ready to be read by any thread.
#[derive(Clone, Copy, Debug)]
pub struct ClockReader(Source);

#[derive(Clone, Copy, Debug)]
enum Source {
    System(libc::clockid_t),
    /// The CPU's counter, with the duration of a count.
    Counter {
        nanos_per_count: f64,
    },
}

impl ClockReader {
    /// Opens `clock`; `other` is the thread or the process of the clocks of others.
    ///
    /// # Errors
    /// - `EINVAL`: the machine or the kernel does not have the clock, or the other does not exist.
    ///   The alarm clocks need a real-time clock that can wake the machine.
    /// - `ENODEV`: the CPU's counter stops or changes its rate, or there is none.
    #[doc(alias = "clock_gettime")]
    pub fn open(clock: ReadClock, other: ThreadId) -> Result<Self, SysError> {
        let id = match clock {
            ReadClock::Monotonic => libc::CLOCK_MONOTONIC,
            ReadClock::MonotonicRaw => libc::CLOCK_MONOTONIC_RAW,
            ReadClock::MonotonicCoarse => libc::CLOCK_MONOTONIC_COARSE,
            ReadClock::Realtime => libc::CLOCK_REALTIME,
            ReadClock::RealtimeCoarse => libc::CLOCK_REALTIME_COARSE,
            ReadClock::Boottime => libc::CLOCK_BOOTTIME,
            ReadClock::Tai => libc::CLOCK_TAI,
            ReadClock::RealtimeAlarm => libc::CLOCK_REALTIME_ALARM,
            ReadClock::BoottimeAlarm => libc::CLOCK_BOOTTIME_ALARM,
            ReadClock::ThreadCpu => libc::CLOCK_THREAD_CPUTIME_ID,
            ReadClock::ProcessCpu => libc::CLOCK_PROCESS_CPUTIME_ID,
            ReadClock::OtherThreadCpu => cpu_time_clock_of_thread(other),
            ReadClock::OtherProcessCpu => cpu_time_clock_of_process(other.0),
            ReadClock::Tsc => return Self::counter(),
        };
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is valid for the write of one timespec.
        SysError::check("clock_gettime", unsafe { libc::clock_gettime(id, &raw mut time) })?;
        Ok(Self(Source::System(id)))
    }

    fn counter() -> Result<Self, SysError> {
        let unusable = SysError::new("rdtsc", Errno::NODEV);
        let khz = timestamp::is_invariant().then(timestamp::frequency_khz).flatten();
        let khz = khz.filter(|khz| *khz > 0).ok_or(unusable)?;
        Ok(Self(Source::Counter { nanos_per_count: 1e6 / khz as f64 }))
    }

    /// Reads the clock, in units of its own: see [`Self::length`].
    #[inline]
    pub fn read(self) -> u64 {
        match self.0 {
            Source::System(id) => read(id).as_nanos(),
            Source::Counter { .. } => timestamp::ordered_count().unwrap_or_default(),
        }
    }

    /// The duration of a difference of readings.
    pub fn length(self, units: u64) -> Nanos {
        Nanos::from_nanos(match self.0 {
            Source::System(_) => units,
            Source::Counter { nanos_per_count } => (units as f64 * nanos_per_count).ceil() as u64,
        })
    }

    /// The resolution that the kernel claims:
    /// [clock_getres(2)](https://man7.org/linux/man-pages/man2/clock_getres.2.html); `None` for the
    /// CPU's counter.
    pub fn resolution(self) -> Option<Nanos> {
        let Source::System(id) = self.0 else { return None };
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is valid for the write of one timespec.
        let returned = unsafe { libc::clock_getres(id, &raw mut time) };
        (returned == 0).then(|| nanos(time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{process, thread};

    #[test]
    fn every_clock_of_this_machine_runs_forward_or_is_refused() {
        for &clock in ReadClock::ALL {
            let other = match clock {
                ReadClock::OtherProcessCpu => ThreadId(process::parent_id() as i32),
                _ => thread::current_id(),
            };
            let reader = match ClockReader::open(clock, other) {
                Ok(reader) => reader,
                Err(error) => {
                    let optional =
                        [ReadClock::RealtimeAlarm, ReadClock::BoottimeAlarm, ReadClock::Tsc];
                    assert!(optional.contains(&clock) || other.0 == 0, "{clock}: {error}");
                    continue;
                }
            };
            let (first, second) = (reader.read(), reader.read());
            // The realtime clocks may be stepped meanwhile.
            assert!(first > 0 || clock == ReadClock::OtherProcessCpu, "{clock}");
            assert!(second >= first || reader.length(first - second) > Nanos::ZERO, "{clock}");
            assert_eq!(reader.resolution().is_some(), clock != ReadClock::Tsc, "{clock}");
        }
    }

    #[test]
    fn nobody_has_no_clock() {
        // Above the kernel's highest number (PID_MAX_LIMIT).
        let nobody = ClockReader::open(ReadClock::OtherThreadCpu, ThreadId(1 << 23));
        assert_eq!(nobody.err(), Some(SysError::new("clock_gettime", Errno::INVAL)));
    }
}
