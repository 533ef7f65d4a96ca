//! Facts that no file tells.

use rustix::time::ClockId;
use tactus_model::time::Nanos;

/// What system calls tell of the running machine, in a form that a test can make up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallFacts {
    /// What [uname(2)](https://man7.org/linux/man-pages/man2/uname.2.html) calls the machine.
    pub machine: Option<String>,
    /// The resolution of `CLOCK_MONOTONIC`: 1 ns with timers of high resolution, else a tick.
    pub timer_resolution: Option<Nanos>,
    /// The resolution of `CLOCK_MONOTONIC_COARSE`, which is always a tick.
    pub tick: Option<Nanos>,
}

impl CallFacts {
    /// Asks the running kernel, by uname(2) and
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
