//! The resources that the calling thread has used.

use tactus_model::result::TaskUsage;
use tactus_model::time::Nanos;

use crate::error::SysError;

/// Reads the resources that the calling thread has used since it began: `RUSAGE_THREAD`
/// of [getrusage(2)](https://man7.org/linux/man-pages/man2/getrusage.2.html).
///
/// The use in a period is the [`difference`] of two readings.
#[doc(alias = "getrusage")]
#[doc(alias = "RUSAGE_THREAD")]
pub fn of_this_thread() -> Result<TaskUsage, SysError> {
    // SAFETY: `rusage` consists of integers, for which zeroes are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is valid for the write of one `rusage`.
    let returned = unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
    SysError::check("getrusage", returned)?;
    // Counters of the kernel, which are never negative.
    let count = |value: libc::c_long| value as u64;
    Ok(TaskUsage {
        minor_faults: count(usage.ru_minflt),
        major_faults: count(usage.ru_majflt),
        voluntary_switches: count(usage.ru_nvcsw),
        involuntary_switches: count(usage.ru_nivcsw),
        cpu_time: length(usage.ru_utime) + length(usage.ru_stime),
    })
}

/// What was used between two readings of the same thread.
pub fn difference(before: TaskUsage, after: TaskUsage) -> TaskUsage {
    TaskUsage {
        minor_faults: after.minor_faults.saturating_sub(before.minor_faults),
        major_faults: after.major_faults.saturating_sub(before.major_faults),
        voluntary_switches: after.voluntary_switches.saturating_sub(before.voluntary_switches),
        involuntary_switches: after
            .involuntary_switches
            .saturating_sub(before.involuntary_switches),
        cpu_time: after.cpu_time - before.cpu_time,
    }
}

fn length(time: libc::timeval) -> Nanos {
    Nanos::from_secs(time.tv_sec as u64) + Nanos::from_micros(time.tv_usec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_is_a_voluntary_switch() {
        let before = of_this_thread().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(2));
        let used = difference(before, of_this_thread().unwrap());
        assert!(used.voluntary_switches >= 1, "{used:?}");
    }
}
