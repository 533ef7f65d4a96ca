//! Facts that are in no file.

use rustix::time::ClockId;
use tactus_model::time::Nanos;

/// Results of system calls about the running machine, in a form that a test can set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallFacts {
    /// The machine name of [uname(2)](https://man7.org/linux/man-pages/man2/uname.2.html).
    pub machine: Option<String>,
    /// The resolution of `CLOCK_MONOTONIC`: 1 ns with high-resolution timers, otherwise a
    /// tick.
    pub timer_resolution: Option<Nanos>,
    /// The resolution of `CLOCK_MONOTONIC_COARSE`, which is always a tick.
    pub tick: Option<Nanos>,
}

impl CallFacts {
    /// Calls the running kernel, by uname(2) and
    /// [clock_getres(2)](https://man7.org/linux/man-pages/man2/clock_getres.2.html).
    pub fn ask() -> Self {
        let resolution = |clock| {
            let resolution = rustix::time::clock_getres(clock);
            let seconds = u64::try_from(resolution.tv_sec).ok()?;
            let nanos = u64::try_from(resolution.tv_nsec).ok()?;
            Some(Nanos::from_secs(seconds) + Nanos::from_nanos(nanos))
        };
        Self {
            machine: rustix::system::uname().machine().to_str().ok().map(str::to_owned),
            timer_resolution: resolution(ClockId::Monotonic),
            tick: resolution(ClockId::MonotonicCoarse),
        }
    }
}
