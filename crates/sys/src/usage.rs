//! The resources that the calling thread has used.

use tactus_model::recording::ThreadId;
use tactus_model::result::TaskUsage;
use tactus_model::time::Nanos;

use crate::error::{Errno, SysError};

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

/// Reads the CPU time of the processes that this process has waited for, and of those that they had
/// waited for: `RUSAGE_CHILDREN` of
/// [getrusage(2)](https://man7.org/linux/man-pages/man2/getrusage.2.html).
#[doc(alias = "RUSAGE_CHILDREN")]
pub fn of_ended_children() -> Result<Nanos, SysError> {
    // SAFETY: `rusage` consists of integers, for which zeroes are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is valid for the write of one `rusage`.
    let returned = unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage) };
    SysError::check("getrusage", returned)?;
    Ok(length(usage.ru_utime) + length(usage.ru_stime))
}

/// What the scheduler has counted for a thread since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScheduledTime {
    /// Its time on a CPU. While it runs, this grows only at each tick.
    pub ran: Nanos,
    /// Its time on a runqueue: ready to run and not running, for example preempted or throttled.
    pub waited: Nanos,
}

/// Reads what the scheduler has counted for a thread: `/proc/TID/schedstat`
/// ([sched-stats](https://docs.kernel.org/scheduler/sched-stats.html)).
///
/// # Errors
/// `ESRCH`: the thread does not exist, or the kernel does not count this (`CONFIG_SCHED_INFO`).
#[doc(alias = "schedstat")]
pub fn scheduled_time(thread: ThreadId) -> Result<ScheduledTime, SysError> {
    let path = format!("/proc/{}/schedstat", thread.0);
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let mut numbers = text.split_whitespace().map_while(|word| word.parse().ok());
    match (numbers.next(), numbers.next()) {
        (Some(ran), Some(waited)) => {
            Ok(ScheduledTime { ran: Nanos::from_nanos(ran), waited: Nanos::from_nanos(waited) })
        }
        _ => Err(SysError::new("schedstat", Errno::SRCH)),
    }
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
    fn the_scheduler_counts_the_time_of_a_thread() {
        let mut last = ScheduledTime::default();
        // A running thread's count grows at ticks.
        while last.ran < Nanos::from_millis(1) {
            last = scheduled_time(crate::thread::current_id()).unwrap();
        }
        assert!(scheduled_time(ThreadId(i32::MAX)).is_err());
    }

    #[test]
    fn the_cpu_time_of_a_child_counts_once_it_was_waited_for() {
        let before = of_ended_children().unwrap();
        let work = "i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done";
        let mut child = std::process::Command::new("sh").args(["-c", work]).spawn().unwrap();
        assert!(child.wait().unwrap().success());
        assert!(of_ended_children().unwrap() > before);
    }

    #[test]
    fn a_sleep_is_a_voluntary_switch() {
        let before = of_this_thread().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(2));
        let used = difference(before, of_this_thread().unwrap());
        assert!(used.voluntary_switches >= 1, "{used:?}");
    }
}
