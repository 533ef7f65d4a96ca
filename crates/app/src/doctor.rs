//! Whether this machine is fit for measuring.

use std::path::Path;
use std::time::{Duration, Instant};

use tactus_judge::doctor::{Finding, examine, examine_between};

/// The interval between progress reports. Each report wakes a CPU of the examined machine.
const TICK: Duration = Duration::from_secs(1);

/// Examines the machine whose `/proc`, `/sys` and `/boot` are below `root`.
///
/// With a duration, compares two examinations that far apart, and calls `on_progress` once a
/// second with the time left.
pub fn findings(
    root: &Path,
    duration: Option<Duration>,
    mut on_progress: impl FnMut(Duration),
) -> Vec<Finding> {
    let before = tactus_sys::facts::read(root);
    let Some(duration) = duration else { return examine(&before) };
    let began = Instant::now();
    while let Some(rest) = duration.checked_sub(began.elapsed()).filter(|rest| !rest.is_zero()) {
        on_progress(rest);
        std::thread::sleep(rest.min(TICK));
    }
    examine_between(&before, &tactus_sys::facts::read(root))
}
