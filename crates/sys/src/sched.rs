//! The scheduling class of the calling thread, and the slack of its timers.
//!
//! [sched(7)](https://man7.org/linux/man-pages/man7/sched.7.html) describes the
//! classes. The raw system calls are used throughout: glibc had no wrapper for
//! them before 2.41, and musl's `sched_setscheduler` only answers `ENOSYS`.

use std::num::NonZeroU64;

use tactus_model::policy::{RealtimePriority, Scheduling};
use tactus_model::time::Nanos;

use crate::error::{Errno, SysError};

/// The first version of `struct sched_attr`, which every kernel since 3.14 takes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

impl Attributes {
    const SIZE: u32 = size_of::<Self>() as u32;

    fn of(scheduling: Scheduling) -> Self {
        let class = Self { size: Self::SIZE, ..Self::default() };
        match scheduling {
            Scheduling::Other { nice } => {
                Self { policy: libc::SCHED_OTHER as u32, nice: nice.into(), ..class }
            }
            Scheduling::Batch { nice } => {
                Self { policy: libc::SCHED_BATCH as u32, nice: nice.into(), ..class }
            }
            Scheduling::Idle => Self { policy: libc::SCHED_IDLE as u32, ..class },
            Scheduling::Fifo(priority) => {
                Self { policy: libc::SCHED_FIFO as u32, priority: priority.get().into(), ..class }
            }
            Scheduling::RoundRobin(priority) => {
                Self { policy: libc::SCHED_RR as u32, priority: priority.get().into(), ..class }
            }
            Scheduling::Deadline { runtime, deadline, period } => Self {
                policy: libc::SCHED_DEADLINE as u32,
                runtime: runtime.as_nanos(),
                deadline: deadline.as_nanos(),
                period: period.as_nanos(),
                ..class
            },
        }
    }

    fn scheduling(&self) -> Option<Scheduling> {
        // The kernel keeps nice within −20 … 19 and priorities within 1 … 99.
        let nice = self.nice as i8;
        let priority = RealtimePriority::new(self.priority as u8);
        match self.policy as i32 {
            libc::SCHED_OTHER => Some(Scheduling::Other { nice }),
            libc::SCHED_BATCH => Some(Scheduling::Batch { nice }),
            libc::SCHED_IDLE => Some(Scheduling::Idle),
            libc::SCHED_FIFO => priority.map(Scheduling::Fifo),
            libc::SCHED_RR => priority.map(Scheduling::RoundRobin),
            libc::SCHED_DEADLINE => Some(Scheduling::Deadline {
                runtime: Nanos::from_nanos(self.runtime),
                deadline: Nanos::from_nanos(self.deadline),
                period: Nanos::from_nanos(self.period),
            }),
            _ => None,
        }
    }
}

/// Sets the scheduling of the calling thread:
/// [sched_setattr(2)](https://man7.org/linux/man-pages/man2/sched_setattr.2.html).
///
/// # Errors
/// - `EPERM`: no `CAP_SYS_NICE`, and the resource limits do not allow it; the
///   real-time budget of the cgroup is zero; or a deadline was asked for while
///   the thread's processors are restricted.
/// - `EBUSY`: the deadlines already granted leave too little.
/// - `EINVAL`: the parameters are out of the kernel's range.
#[doc(alias = "sched_setattr")]
#[doc(alias = "SCHED_FIFO")]
#[doc(alias = "SCHED_DEADLINE")]
pub fn set(scheduling: Scheduling) -> Result<(), SysError> {
    let attributes = Attributes::of(scheduling);
    // SAFETY: `attributes` is a live `struct sched_attr` that carries its own
    // size; process 0 is the calling thread.
    let answer = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    SysError::check("sched_setattr", answer).map(drop)
}

/// Reads the scheduling of the calling thread:
/// [sched_getattr(2)](https://man7.org/linux/man-pages/man2/sched_setattr.2.html).
///
/// # Errors
/// `ENOTSUP`, when the thread is in a class that `Scheduling` cannot tell, as
/// with `SCHED_EXT`.
#[doc(alias = "sched_getattr")]
pub fn get() -> Result<Scheduling, SysError> {
    let mut attributes = Attributes::default();
    // SAFETY: `attributes` is valid for the write of as many bytes as are
    // announced; the kernel writes no more than those.
    let answer = unsafe {
        libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, Attributes::SIZE, 0)
    };
    SysError::check("sched_getattr", answer)?;
    attributes.scheduling().ok_or(SysError::new("sched_getattr", Errno::NOTSUP))
}

/// Sets by how much the kernel may delay the calling thread's timers to join
/// them with others: `PR_SET_TIMERSLACK` of
/// [prctl(2)](https://man7.org/linux/man-pages/man2/PR_SET_TIMERSLACK.2const.html).
///
/// Zero sets the least there is, 1 ns; the call itself would take it for "as the
/// process that made this one". Real-time tasks have no slack whatever is set.
#[doc(alias = "PR_SET_TIMERSLACK")]
pub fn set_timer_slack(slack: Nanos) -> Result<(), SysError> {
    let slack = NonZeroU64::new(slack.as_nanos()).unwrap_or(NonZeroU64::MIN);
    rustix::thread::set_current_timer_slack(Some(slack)).map_err(SysError::of("prctl"))
}

/// The calling thread's timer slack: `PR_GET_TIMERSLACK` of
/// [prctl(2)](https://man7.org/linux/man-pages/man2/PR_GET_TIMERSLACK.2const.html).
#[doc(alias = "PR_GET_TIMERSLACK")]
pub fn timer_slack() -> Result<Nanos, SysError> {
    rustix::thread::current_timer_slack().map(Nanos::from_nanos).map_err(SysError::of("prctl"))
}

#[cfg(test)]
mod tests {
    use tactus_testing::{Need, skip};

    use super::*;

    /// Sets a class in a thread of its own, so that no other test inherits it, and reads it back.
    fn set_and_get(scheduling: Scheduling) -> Result<Scheduling, SysError> {
        std::thread::spawn(move || set(scheduling).and_then(|()| get())).join().unwrap()
    }

    #[test]
    fn ordinary_classes_are_read_back_as_they_were_set() {
        for text in ["other:3", "batch:7", "idle"] {
            let scheduling: Scheduling = text.parse().unwrap();
            assert_eq!(set_and_get(scheduling), Ok(scheduling), "{text}");
        }
    }

    #[test]
    fn needs_root_classes_that_it_alone_may_set_are_read_back_as_they_were_set() {
        for text in ["other:-5", "fifo:90", "rr:1", "deadline:100us/1ms/2ms"] {
            let scheduling: Scheduling = text.parse().unwrap();
            match set_and_get(scheduling) {
                Err(error) if matches!(error.errno, Errno::PERM | Errno::BUSY) => {
                    skip(Need::Root, format!("{text}: {error}"));
                }
                read_back => assert_eq!(read_back, Ok(scheduling), "{text}"),
            }
        }
    }

    #[test]
    fn timer_slack_is_read_back_as_it_was_set() {
        let slack = Nanos::from_micros(7);
        let read_back =
            std::thread::spawn(move || set_timer_slack(slack).and_then(|()| timer_slack()));
        assert_eq!(read_back.join().unwrap(), Ok(slack));
    }
}
