//! Whether this machine is fit to be measured.

use std::path::Path;
use std::time::{Duration, Instant};

use tactus_judge::doctor::{Finding, examine, examine_between};

/// How often a machine is stirred that is looked at.
const TICK: Duration = Duration::from_secs(1);

/// Examines the machine whose `/proc`, `/sys` and `/boot` lie below `root`: at once, or for
/// so long, while `left` hears once a second how long it still takes.
pub fn findings(
    root: &Path,
    length: Option<Duration>,
    mut left: impl FnMut(Duration),
) -> Vec<Finding> {
    let before = tactus_sys::facts::read(root);
    let Some(length) = length else { return examine(&before) };
    let began = Instant::now();
    while let Some(rest) = length.checked_sub(began.elapsed()).filter(|rest| !rest.is_zero()) {
        left(rest);
        std::thread::sleep(rest.min(TICK));
    }
    examine_between(&before, &tactus_sys::facts::read(root))
}
