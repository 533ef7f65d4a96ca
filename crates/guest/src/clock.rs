//! Waiting for the clock source that measurements use.

use std::fs;
use std::thread;
use std::time::Duration;

/// The clock sources that are readable without leaving user mode. The kernel boots with another
/// clock source, calibrates and watches these for about a second, and then switches.
const FAST: [&str; 3] = ["tsc", "kvm-clock", "arch_sys_counter"];

const CURRENT: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// The longest wait for the switch, and the polling interval.
const PATIENCE: Duration = Duration::from_secs(8);
const STEP: Duration = Duration::from_millis(50);

/// Waits until the kernel uses a fast clock source, or the wait ends. The facts of the machine
/// name the clock source, and the requester judges it.
pub(crate) fn settle() {
    for _ in 0..PATIENCE.as_millis() / STEP.as_millis() {
        let source = fs::read_to_string(CURRENT).unwrap_or_default();
        if FAST.contains(&source.trim()) {
            return;
        }
        thread::sleep(STEP);
    }
}
