//! What recording an event costs, measured when recording starts.

use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_record::live::{OverwritingRecorder, RecordError};
use tactus_sys::SysError;
use tactus_sys::clock::{self, thread_cpu_time};
use tactus_sys::sleep::Timerfd;

/// The system calls of a series: so few that some series are not disturbed.
const CALLS: u64 = 100;

/// The events of a call: the timer is cancelled, and started again.
const EVENTS: u64 = 2 * CALLS;

/// The series of each kind.
const SERIES: u64 = 15;

/// How far in the future the timer is: it never expires.
const NEVER: Nanos = Nanos::from_secs(3600);

/// The price if it cannot be measured: more than was measured on any machine so far.
pub(crate) const ASSUMED: Nanos = Nanos::from_nanos(600);

/// Prices outside of this range come from a disturbance.
const CREDIBLE: std::ops::RangeInclusive<u64> = 50..=20_000;

/// System calls that start a timer. The kernel's events about timers need no tracing of system calls, which
/// would make those of the whole machine slower.
pub(crate) struct Yardstick {
    timer: Timerfd<Monotonic>,
    /// The CPU time of a series without recording.
    unrecorded: Nanos,
}

impl Yardstick {
    /// Measures the calls before recording starts.
    ///
    /// # Errors
    /// A timer cannot be made.
    pub(crate) fn before() -> Result<Self, SysError> {
        let timer = Timerfd::new()?;
        let due = clock::now::<Monotonic>() + NEVER;
        // The first call cancels nothing.
        timer.set(Some(due))?;
        let unrecorded = fastest(&timer, due)?;
        Ok(Self { timer, unrecorded })
    }

    /// The CPU time of an event, from the time of the same calls without recording, if caches are warm.
    pub(crate) fn price(&self, recorder: &OverwritingRecorder) -> Result<Nanos, RecordError> {
        let before = recorder.counted()?;
        let recorded = fastest(&self.timer, clock::now::<Monotonic>() + NEVER)?;
        let events = recorder.counted()?.saturating_sub(before);
        // Other threads have events too, but these are not all without those of the timer.
        let are_recorded = events >= SERIES * EVENTS;
        let more = recorded.saturating_sub(self.unrecorded).as_nanos() / EVENTS;
        let is_measured = are_recorded && CREDIBLE.contains(&more);
        Ok(if is_measured { Nanos::from_nanos(more) } else { ASSUMED })
    }
}

/// The CPU time of [`CALLS`] calls.
fn series(timer: &Timerfd<Monotonic>, due: Instant<Monotonic>) -> Result<Nanos, SysError> {
    let before = thread_cpu_time();
    for _ in 0..CALLS {
        timer.set(Some(due))?;
    }
    Ok(thread_cpu_time() - before)
}

/// The fastest of some series: disturbances only add time.
fn fastest(timer: &Timerfd<Monotonic>, due: Instant<Monotonic>) -> Result<Nanos, SysError> {
    let mut fastest = Nanos::MAX;
    for _ in 0..SERIES {
        fastest = fastest.min(series(timer, due)?);
    }
    Ok(fastest)
}
