//! The CPU's time stamp counter.

use std::thread;
use std::time::{Duration, Instant};

/// The frequency of the time stamp counter in kHz, measured against the system's clock for a
/// twentieth of a second; accurate to a few ppm unless every one of many readings is delayed.
/// `None` on other CPU architectures.
#[doc(alias = "RDTSC")]
pub fn frequency_khz() -> Option<u64> {
    const BETWEEN: Duration = Duration::from_millis(50);
    let (began, first) = reading()?;
    thread::sleep(BETWEEN);
    let (ended, last) = reading()?;
    let ticks = u128::from(last.checked_sub(first)?);
    u64::try_from(ticks * 1_000_000 / ended.duration_since(began).as_nanos().max(1)).ok()
}

/// An instant and the counter's value then: of many readings, the one that took the
/// least time.
fn reading() -> Option<(Instant, u64)> {
    const READINGS: usize = 64;
    let one = || {
        let before = Instant::now();
        let ticks = ticks()?;
        let took = before.elapsed();
        Some((took, before + took / 2, ticks))
    };
    let readings = (0..READINGS).filter_map(|_| one());
    readings.min_by_key(|(took, ..)| *took).map(|(_, moment, ticks)| (moment, ticks))
}

/// Whether the counter runs at one rate in every state of power and of frequency, according to
/// `/proc/cpuinfo`; false on other CPU architectures.
pub(crate) fn is_invariant() -> bool {
    let known = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = known.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    ["constant_tsc", "nonstop_tsc"].iter().all(|flag| flags.split(' ').any(|known| known == *flag))
}

/// The counter, read only after all instructions before it; `None` on other CPU architectures.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn ordered_count() -> Option<u64> {
    // SAFETY: every CPU of this architecture has the instruction, and it only waits.
    unsafe { std::arch::x86_64::_mm_lfence() };
    ticks()
}

/// The same on other CPU architectures.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(crate) fn ordered_count() -> Option<u64> {
    None
}

#[cfg(target_arch = "x86_64")]
fn ticks() -> Option<u64> {
    // SAFETY: every CPU of this architecture has the instruction, and it only reads.
    Some(unsafe { std::arch::x86_64::_rdtsc() })
}

#[cfg(not(target_arch = "x86_64"))]
fn ticks() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use tactus_testing::{Need, require};

    use super::*;

    #[test]
    fn two_measurements_of_the_counter_agree() {
        let found = frequency_khz().ok_or("this CPU has no time stamp counter");
        let Some(one) = require(Need::Machine, found) else { return };
        let other = frequency_khz().unwrap();
        // A busy machine delays readings; a counter with another unit would be far off.
        assert!(one > 0 && one.abs_diff(other) < one / 10, "{one} and {other} kHz");
    }
}
