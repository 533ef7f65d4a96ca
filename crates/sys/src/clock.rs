//! Reading clocks.

mod pair;
mod reader;

use tactus_model::recording::ThreadId;
use tactus_model::time::{Clock, ClockName, Instant, Monotonic, Nanos};

use crate::error::SysError;
use crate::timespec::nanos;

pub use pair::{ClockOffset, ClockPair};
pub use reader::ClockReader;

/// The kernel's number of a clock.
pub(crate) const fn id(clock: ClockName) -> libc::clockid_t {
    match clock {
        ClockName::Monotonic => libc::CLOCK_MONOTONIC,
        ClockName::Realtime => libc::CLOCK_REALTIME,
        ClockName::Tai => libc::CLOCK_TAI,
        ClockName::Boottime => libc::CLOCK_BOOTTIME,
    }
}

/// Reads the clock `C`: [clock_gettime(2)](https://man7.org/linux/man-pages/man2/clock_gettime.2.html).
///
/// The vDSO (vdso(7)) reads all four clocks in user space if the clock source allows
/// it. The clocks exist on every kernel since 3.10, so reading cannot fail.
#[doc(alias = "clock_gettime")]
#[inline]
pub fn now<C: Clock>() -> Instant<C> {
    Instant::from_nanos(read(id(C::NAME)).as_nanos())
}

/// Reads a clock; async-signal-safe, because clock_gettime is (signal-safety(7)).
#[inline]
pub(crate) fn read(clock: libc::clockid_t) -> Nanos {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for the write of one timespec.
    unsafe { libc::clock_gettime(clock, &mut time) };
    nanos(time)
}

/// The CPU time that the calling thread has used:
/// [clock_gettime(2)](https://man7.org/linux/man-pages/man2/clock_gettime.2.html). A system call.
#[doc(alias = "CLOCK_THREAD_CPUTIME_ID")]
pub fn thread_cpu_time() -> Nanos {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// The CPU time that another thread of this process has used; zero once it has ended:
/// [pthread_getcpuclockid(3)](https://man7.org/linux/man-pages/man3/pthread_getcpuclockid.3.html).
pub fn cpu_time_of_thread(thread: ThreadId) -> Nanos {
    read(cpu_time_clock_of_thread(thread))
}

/// The CPU time that a process has used; zero if there is none:
/// [clock_getcpuclockid(3)](https://man7.org/linux/man-pages/man3/clock_getcpuclockid.3.html).
pub fn cpu_time_of_process(process: i32) -> Nanos {
    read(cpu_time_clock_of_process(process))
}

const fn cpu_time_clock_of_thread(thread: ThreadId) -> libc::clockid_t {
    /// `CPUCLOCK_SCHED | CPUCLOCK_PERTHREAD_MASK` of the kernel's `posix-timers_types.h`.
    const OF_THREAD: i32 = 2 | 4;
    !thread.0 << 3 | OF_THREAD
}

const fn cpu_time_clock_of_process(process: i32) -> libc::clockid_t {
    /// `CPUCLOCK_SCHED` of the kernel's `posix-timers_types.h`.
    const OF_PROCESS: i32 = 2;
    !process << 3 | OF_PROCESS
}

/// Reads the clock `C` by a system call, not by the vDSO:
/// [clock_gettime(2)](https://man7.org/linux/man-pages/man2/clock_gettime.2.html).
pub fn now_by_syscall<C: Clock>() -> Instant<C> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for the write of one timespec.
    unsafe { libc::syscall(libc::SYS_clock_gettime, id(C::NAME), &raw mut time) };
    Instant::from_nanos(nanos(time).as_nanos())
}

/// The resolution of timers of the clock `C`:
/// [clock_getres(2)](https://man7.org/linux/man-pages/man2/clock_getres.2.html).
///
/// 1 ns with high-resolution timers, otherwise the length of a tick.
#[doc(alias = "clock_getres")]
pub fn resolution<C: Clock>() -> Nanos {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for the write of one timespec.
    unsafe { libc::clock_getres(id(C::NAME), &mut time) };
    nanos(time)
}

/// The length of the kernel's tick: the step of `CLOCK_MONOTONIC_COARSE`, by
/// [clock_getres(2)](https://man7.org/linux/man-pages/man2/clock_getres.2.html).
#[doc(alias = "HZ")]
pub fn tick() -> Nanos {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for the write of one timespec.
    unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &mut time) };
    nanos(time)
}

/// The length of a tick if timers expire only at ticks; `None` with high-resolution
/// timers, whose resolution is 1 ns.
pub fn timer_tick() -> Option<Nanos> {
    let resolution = resolution::<Monotonic>();
    (resolution > Nanos::from_nanos(1)).then_some(resolution)
}

/// Steps `CLOCK_REALTIME` by a number of nanoseconds, forwards or backwards:
/// [clock_adjtime(2)](https://man7.org/linux/man-pages/man2/adjtimex.2.html).
///
/// # Errors
/// - `EPERM`: the process does not have `CAP_SYS_TIME`.
/// - `EINVAL`: the clock would be out of its range.
#[doc(alias = "ADJ_SETOFFSET")]
pub fn step(nanos: i64) -> Result<(), SysError> {
    // SAFETY: a `timex` of zeros is valid.
    let mut change: libc::timex = unsafe { std::mem::zeroed() };
    change.modes = libc::ADJ_SETOFFSET | libc::ADJ_NANO;
    // The part below a second is never negative.
    change.time.tv_sec = nanos.div_euclid(1_000_000_000);
    change.time.tv_usec = nanos.rem_euclid(1_000_000_000);
    // SAFETY: `change` is valid for the kernel's reads and writes.
    let returned = unsafe { libc::clock_adjtime(libc::CLOCK_REALTIME, &raw mut change) };
    SysError::check("clock_adjtime", returned).map(drop)
}

#[cfg(test)]
mod tests {
    use tactus_model::time::{Boottime, Realtime, Tai};

    use super::*;

    fn check<C: Clock>() {
        let (first, second) = (now::<C>(), now::<C>());
        assert!(first.as_nanos() > 0 && second >= first, "{:?}", C::NAME);
        assert!(resolution::<C>() > Nanos::ZERO);
        assert!(tick() >= resolution::<C>());
    }

    #[test]
    fn every_clock_runs_forward() {
        check::<Monotonic>();
        check::<Realtime>();
        check::<Tai>();
        check::<Boottime>();
    }

    #[test]
    fn needs_root_the_clock_is_stepped_both_ways() {
        let stepped = step(1).and_then(|()| step(-1));
        tactus_testing::require(tactus_testing::Need::Root, stepped);
    }

    #[test]
    fn the_cpu_time_of_a_thread_can_be_read_by_another() {
        let (this, before) = (crate::thread::current_id(), thread_cpu_time());
        let seen = std::thread::spawn(move || cpu_time_of_thread(this)).join().unwrap();
        assert!(seen >= before);
        assert!(cpu_time_of_process(rustix::process::getpid().as_raw_nonzero().get()) >= seen);
        assert!(now_by_syscall::<Monotonic>() >= Instant::from_nanos(1));
    }

    #[test]
    fn timers_are_of_high_resolution_or_expire_at_the_tick() {
        assert!(timer_tick().is_none_or(|length| length == tick()));
    }
}
