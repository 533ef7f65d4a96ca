//! What recording an event costs, measured when recording starts.

use tactus_model::time::{Monotonic, Nanos};
use tactus_record::live::{OverwritingRecorder, RecordError};
use tactus_sys::SysError;
use tactus_sys::clock::{self, thread_cpu_time};
use tactus_sys::sleep::{Nanosleep, Sleeper};

/// The system calls of a series.
const CALLS: u32 = 500;

/// The series of each kind.
const SERIES: usize = 3;

/// The price if it cannot be measured: more than was measured on any machine so far.
pub(crate) const ASSUMED: Nanos = Nanos::from_nanos(600);

/// Prices outside of this range come from a disturbance.
const CREDIBLE: std::ops::RangeInclusive<u64> = 50..=20_000;

/// The CPU time of [`CALLS`] sleeps until a time that has passed. They do not sleep, and are
/// recorded if the calling thread's system calls are.
fn series() -> Result<Nanos, SysError> {
    let past = clock::now::<Monotonic>();
    let before = thread_cpu_time();
    for _ in 0..CALLS {
        let _: tactus_model::time::Instant<Monotonic> = Nanosleep.sleep_until(past)?;
    }
    Ok(thread_cpu_time() - before)
}

/// The fastest of some series: disturbances only add time.
fn fastest() -> Result<Nanos, SysError> {
    let mut fastest = Nanos::MAX;
    for _ in 0..SERIES {
        fastest = fastest.min(series()?);
    }
    Ok(fastest)
}

/// The time of some system calls of the calling thread, before recording starts.
pub(crate) fn before() -> Result<Nanos, SysError> {
    fastest()
}

/// The CPU time of an event, from the time of the same calls without recording. The calling
/// thread must be one whose system calls `recorder` records.
pub(crate) fn of_event(
    recorder: &OverwritingRecorder,
    unrecorded: Nanos,
) -> Result<Nanos, RecordError> {
    let before = recorder.counted()?;
    let recorded = fastest()?;
    let events = recorder.counted()?.saturating_sub(before) / SERIES as u64;
    let more = recorded.saturating_sub(unrecorded).as_nanos();
    let price = more.checked_div(events).filter(|price| CREDIBLE.contains(price));
    // Other events than these were among them.
    let is_enough = events >= u64::from(CALLS);
    Ok(price.filter(|_| is_enough).map_or(ASSUMED, Nanos::from_nanos))
}
