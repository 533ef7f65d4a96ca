//! Waiting for what a test has caused.

use std::fmt::Display;
use std::time::{Duration, Instant};

/// What has not happened by then does not happen. It only ends a failed test, so it is long enough for a
/// busy machine.
pub const PATIENCE: Duration = Duration::from_secs(180);

/// The time between two looks.
pub(crate) const STEP: Duration = Duration::from_millis(10);

/// Looks until there is a value, and fails with what there is in its place otherwise.
///
/// # Panics
/// There is no value within [`PATIENCE`].
#[track_caller]
pub fn eventually<T, E: Display>(mut look: impl FnMut() -> Result<T, E>) -> T {
    let began = Instant::now();
    loop {
        match look() {
            Ok(value) => return value,
            Err(instead) => assert!(began.elapsed() < PATIENCE, "{instead}"),
        }
        std::thread::sleep(STEP);
    }
}

/// Waits until `is_so`, and fails with `what` otherwise.
///
/// # Panics
/// It is not so within [`PATIENCE`].
#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    eventually(|| if is_so() { Ok(()) } else { Err(what) });
}
