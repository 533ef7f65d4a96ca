//! The scheduling class of a thread, and its timer slack.
//!
//! [sched(7)](https://man7.org/linux/man-pages/man7/sched.7.html) describes the
//! classes. This module uses the raw system calls: glibc had no wrappers for them
//! before 2.41, and musl's `sched_setscheduler` only returns `ENOSYS`.

use std::num::NonZeroU64;

use tactus_model::policy::{RealtimePriority, Scheduling};
use tactus_model::recording::ThreadId;
use tactus_model::time::Nanos;

use crate::error::{Errno, SysError};
use crate::{deadline_thread, thread};

/// The smallest runtime of the deadline class in nanoseconds, `1 << DL_SCALE`
/// (kernel/sched/deadline.c).
const DEADLINE_RUNTIME_LEAST: u64 = 1 << 10;
/// Its longest period in nanoseconds, the default of `kernel.sched_deadline_period_max_us`.
const DEADLINE_PERIOD_MOST: u64 = (1 << 22) * 1000;

/// `SCHED_FLAG_RESET_ON_FORK`
const RESET_ON_FORK: u64 = 1;

/// The first version of `struct sched_attr`, which every kernel since 3.14 accepts.
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
/// - `EPERM`: the process does not have `CAP_SYS_NICE` and the resource limits do not
///   allow the class; or the real-time budget of the cgroup is zero; or a deadline was
///   requested while the thread's CPU affinity is restricted.
/// - `EBUSY`: the deadlines already granted leave too little bandwidth.
/// - `EINVAL`: the parameters are out of the kernel's range.
#[doc(alias = "sched_setattr")]
#[doc(alias = "SCHED_FIFO")]
#[doc(alias = "SCHED_DEADLINE")]
pub fn set(scheduling: Scheduling) -> Result<(), SysError> {
    set_by_number(thread::CALLING, scheduling, 0)
}

/// Like [`set`]; the threads and processes that the thread creates get the ordinary class.
///
/// A thread of the deadline class can create others only with this flag. Clearing it later
/// requires `CAP_SYS_NICE`.
///
/// # Errors
/// Those of [`set`].
#[doc(alias = "SCHED_FLAG_RESET_ON_FORK")]
pub fn set_alone(scheduling: Scheduling) -> Result<(), SysError> {
    set_by_number(thread::CALLING, scheduling, RESET_ON_FORK)
}

/// Sets the scheduling of another thread:
/// [sched_setattr(2)](https://man7.org/linux/man-pages/man2/sched_setattr.2.html).
///
/// # Errors
/// Those of [`set`], and:
/// - `ESRCH`: the thread does not exist, or it has ended and the deadline class is concerned.
/// - `EPERM`: the thread belongs to another user, and this process has no `CAP_SYS_NICE`.
#[doc(alias = "sched_setattr")]
pub fn set_of(thread: ThreadId, scheduling: Scheduling) -> Result<(), SysError> {
    set_other(thread, scheduling, 0)
}

/// Like [`set_of`]; the threads and processes that the thread creates get the ordinary class, as
/// with [`set_alone`].
///
/// # Errors
/// Those of [`set_of`].
#[doc(alias = "SCHED_FLAG_RESET_ON_FORK")]
pub fn set_of_alone(thread: ThreadId, scheduling: Scheduling) -> Result<(), SysError> {
    set_other(thread, scheduling, RESET_ON_FORK)
}

/// Sets another thread so that the kernel's account of the deadline class stays right; Linux 6.18
/// has two errors in it (kernel/sched/deadline.c):
/// - A thread that ended and was not waited for (a zombie) still changes its class, and is counted
///   into its cpuset, or out of it, a second time. At a later rebuild of the scheduling domains,
///   the kernel then takes the bandwidth of all threads of the cpuset for free.
/// - The bandwidth of a thread that leaves the class is returned at its 0-lag time, unless the
///   thread sleeps and that time is over: then it is never returned.
fn set_other(thread: ThreadId, scheduling: Scheduling, flags: u64) -> Result<(), SysError> {
    let number = thread::number("sched_setattr", thread)?;
    let is_deadline = |policy: u32| policy as i32 == libc::SCHED_DEADLINE;
    let before = attributes_of(number)?;
    let enters = is_deadline(Attributes::of(scheduling).policy);
    if is_deadline(before.policy) || enters {
        if deadline_thread::has_ended(thread) {
            return Err(SysError::new("sched_setattr", Errno::SRCH));
        }
        // The account is corrected at once if the capacity of a thread that sleeps changes. What is
        // left of the smallest capacity is below the unit of the account. A thread in debt may be
        // throttled, and its 0-lag time is to come. One that was never ready since it entered the
        // class has a runtime of 0.
        let has_debt = || deadline_thread::runtime_left(thread).is_some_and(|left| left < 0);
        if !enters && !deadline_thread::is_ready(thread) && !has_debt() {
            let period = DEADLINE_PERIOD_MOST;
            let least =
                Attributes { runtime: DEADLINE_RUNTIME_LEAST, deadline: period, period, ..before };
            let _ = set_attributes(number, least);
        }
    }
    set_by_number(number, scheduling, flags)
}

fn set_by_number(thread: i32, scheduling: Scheduling, flags: u64) -> Result<(), SysError> {
    set_attributes(thread, Attributes { flags, ..Attributes::of(scheduling) })
}

fn set_attributes(thread: i32, attributes: Attributes) -> Result<(), SysError> {
    // SAFETY: `attributes` is a live `struct sched_attr` that carries its own size.
    let returned =
        unsafe { libc::syscall(libc::SYS_sched_setattr, thread, &raw const attributes, 0) };
    SysError::check("sched_setattr", returned).map(drop)
}

/// Reads the scheduling of the calling thread:
/// [sched_getattr(2)](https://man7.org/linux/man-pages/man2/sched_setattr.2.html).
///
/// # Errors
/// `ENOTSUP`: the thread is in a class that `Scheduling` cannot represent, for example
/// `SCHED_EXT`.
#[doc(alias = "sched_getattr")]
pub fn get() -> Result<Scheduling, SysError> {
    get_by_number(thread::CALLING)
}

/// Reads the scheduling of another thread:
/// [sched_getattr(2)](https://man7.org/linux/man-pages/man2/sched_setattr.2.html).
///
/// # Errors
/// Those of [`get`], and `ESRCH` if the thread does not exist.
#[doc(alias = "sched_getattr")]
pub fn get_of(thread: ThreadId) -> Result<Scheduling, SysError> {
    get_by_number(thread::number("sched_getattr", thread)?)
}

fn get_by_number(thread: i32) -> Result<Scheduling, SysError> {
    attributes_of(thread)?.scheduling().ok_or(SysError::new("sched_getattr", Errno::NOTSUP))
}

fn attributes_of(thread: i32) -> Result<Attributes, SysError> {
    let mut attributes = Attributes::default();
    // SAFETY: `attributes` is valid for the write of as many bytes as are
    // announced; the kernel writes no more than those.
    let returned = unsafe {
        libc::syscall(libc::SYS_sched_getattr, thread, &raw mut attributes, Attributes::SIZE, 0)
    };
    SysError::check("sched_getattr", returned)?;
    Ok(attributes)
}

/// Sets the timer slack of the calling thread, by which the kernel may delay its timers
/// to combine them with others: `PR_SET_TIMERSLACK` of
/// [prctl(2)](https://man7.org/linux/man-pages/man2/PR_SET_TIMERSLACK.2const.html).
///
/// Zero sets the minimum, 1 ns; the system call itself would restore the inherited
/// value. Real-time tasks have no slack, whatever is set.
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
    fn needs_root_a_deadline_thread_that_is_set_alone_starts_threads() {
        let capacity: Scheduling = "deadline:100us/1ms/2ms".parse().unwrap();
        let started = std::thread::spawn(move || {
            set_alone(capacity).map(|()| std::thread::spawn(get).join().unwrap())
        });
        match started.join().unwrap() {
            Err(error) => skip(Need::Root, error),
            Ok(child) => assert_eq!(child, Ok(Scheduling::ORDINARY)),
        }
    }

    #[test]
    fn another_thread_is_set_and_read_by_its_number() {
        let (number, numbers) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || {
            number.send(crate::thread::current_id()).unwrap();
            // Ends with its sender.
            let _ = ended.recv();
            get()
        });
        let thread = numbers.recv().unwrap();
        let batch = Scheduling::Batch { nice: 3 };
        set_of(thread, batch).unwrap();
        assert_eq!(get_of(thread), Ok(batch));
        drop(end);
        assert_eq!(other.join().unwrap(), Ok(batch));
        let nobody = Err(SysError::new("sched_getattr", Errno::SRCH));
        assert_eq!([get_of(ThreadId(0)), get_of(ThreadId(i32::MAX))], [nobody, nobody]);
    }

    #[test]
    fn timer_slack_is_read_back_as_it_was_set() {
        let slack = Nanos::from_micros(7);
        let read_back =
            std::thread::spawn(move || set_timer_slack(slack).and_then(|()| timer_slack()));
        assert_eq!(read_back.join().unwrap(), Ok(slack));
    }
}
