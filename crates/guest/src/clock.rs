//! Waiting for the clock that is measured by.

use std::fs;
use std::thread;
use std::time::Duration;

/// The clock sources that are read without leaving user mode. The kernel boots by
/// another one and changes when it has calibrated and watched them for about a second.
const FAST: [&str; 2] = ["tsc", "kvm-clock"];

const CURRENT: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// How long the change is waited for, and how often it is looked for.
const PATIENCE: Duration = Duration::from_secs(8);
const STEP: Duration = Duration::from_millis(50);

/// Waits until the kernel reads a fast clock. Whether it came to that is a fact of the
/// machine, which whoever ordered the measurement judges.
pub(crate) fn settle() {
    for _ in 0..PATIENCE.as_millis() / STEP.as_millis() {
        let source = fs::read_to_string(CURRENT).unwrap_or_default();
        if FAST.contains(&source.trim()) {
            return;
        }
        thread::sleep(STEP);
    }
}
