//! clock_nanosleep(2), stamped where the kernel handles the timer.

use tactus_model::time::{Instant, Monotonic, Nanos};

use crate::bpf::TimerStamp;
use crate::clock;
use crate::error::{Errno, SysError};
use crate::sleep::{Nanosleep, Sleeper};

/// Sleeps like [`Nanosleep`]; the arrival is the time at which a
/// [bpf(2)](https://man7.org/linux/man-pages/man2/bpf.2.html) program ran in the timer's
/// interrupt, before the thread was woken.
///
/// A due time in the past has no timer: its arrival is that of the thread.
#[doc(alias = "bpf")]
#[derive(Debug)]
pub struct KernelHandler {
    stamp: TimerStamp,
}

/// How far ahead the timer is set with which the program is tried.
const TRIAL: Nanos = Nanos::from_millis(1);
/// The most trials: on a busy machine the time of a timer may pass before it is set.
const TRIALS_MAX: u32 = 5;

impl KernelHandler {
    /// Attaches the program, and tries it.
    ///
    /// # Errors
    /// - `EPERM`: the process has neither `CAP_SYS_ADMIN` nor `CAP_BPF` with `CAP_PERFMON`.
    /// - `ENOSYS`: the kernel was built without `CONFIG_BPF_SYSCALL`.
    /// - `EINVAL`, `ENOENT`: it is older than Linux 5.5, or has no such tracepoint.
    /// - `EOPNOTSUPP`: its timers have another layout than the program expects.
    pub fn new() -> Result<Self, SysError> {
        let mut sleeper = Self { stamp: TimerStamp::attach()? };
        for _ in 0..TRIALS_MAX {
            sleeper.sleep_until(clock::now::<Monotonic>() + TRIAL)?;
            if sleeper.stamp.handled().is_some() {
                return Ok(sleeper);
            }
        }
        Err(SysError::new("bpf", Errno::OPNOTSUPP))
    }
}

impl Sleeper<Monotonic> for KernelHandler {
    #[inline]
    fn sleep_until(&mut self, due: Instant<Monotonic>) -> Result<Instant<Monotonic>, SysError> {
        self.stamp.expect(due.as_nanos());
        let woken = Nanosleep.sleep_until(due)?;
        Ok(self.stamp.handled().map_or(woken, Instant::from_nanos))
    }
}
