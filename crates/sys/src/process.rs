//! Processes: parent-death signals, adopting orphans, reaping, killing.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};

use rustix::process::{Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions, WaitOptions};

use crate::error::{Errno, SysError};

/// Makes the kernel kill the process that `command` will start when the thread that
/// starts it ends, however it ends: `PR_SET_PDEATHSIG` of
/// [prctl(2)](https://man7.org/linux/man-pages/man2/PR_SET_PDEATHSIG.2const.html).
///
/// The *thread* counts, not its process: start such a process from a thread that lives
/// as long as the process should. The kernel clears the setting when the child executes
/// a program with privileges of its own (set-user-ID, file capabilities); programs of
/// Tactus then use [`die_with`].
///
/// # Errors
/// Starting the command fails with `ESRCH` if the parent ended before the setting was
/// made.
#[doc(alias = "PR_SET_PDEATHSIG")]
pub fn die_with_parent(command: &mut Command) {
    signal_with_parent(command, Signal::KILL);
}

/// Like [`die_with_parent`], but the kernel sends `SIGTERM`: for a process that must end
/// processes of its own, which would keep running if it were killed.
#[doc(alias = "PR_SET_PDEATHSIG")]
pub fn end_with_parent(command: &mut Command) {
    signal_with_parent(command, Signal::TERM);
}

/// Makes the kernel continue this process, if it is stopped, when the parent's thread that
/// started it ends: for a process that has work to do then, and that `SIGSTOP` must not keep
/// from it.
///
/// # Errors
/// None according to the man page.
#[doc(alias = "SIGCONT")]
pub fn continue_with_parent() -> Result<(), SysError> {
    rustix::process::set_parent_process_death_signal(Some(Signal::CONT))
        .map_err(SysError::of("prctl"))
}

/// Stops this process until another continues it: `SIGSTOP`. If its parent's thread that started it
/// ends before that, the kernel kills it.
///
/// # Errors
/// `ESRCH`: the process `parent` has already ended.
#[doc(alias = "SIGSTOP")]
pub fn stop_here(parent: u32) -> Result<(), SysError> {
    die_with(parent)?;
    rustix::process::kill_process(rustix::process::getpid(), Signal::STOP)
        .map_err(SysError::of("kill"))?;
    rustix::process::set_parent_process_death_signal(None).map_err(SysError::of("prctl"))
}

/// The signal that has stopped a child of this process, while it is stopped; `None` if it runs or has
/// ended.
#[doc(alias = "WSTOPPED")]
pub fn stopped_by(child: u32) -> Option<i32> {
    let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let status = rustix::process::waitid(WaitId::Pid(pid(child)?), options).ok()??;
    status.stopping_signal()
}

/// Waits until a child has stopped itself by [`stop_here`]; false if it has ended instead, without
/// taking its status.
///
/// # Errors
/// `ECHILD`: it is not a child of this process.
#[doc(alias = "waitid")]
pub fn wait_until_stopped(child: u32) -> Result<bool, SysError> {
    let child = pid(child).ok_or(SysError::new("waitid", Errno::CHILD))?;
    let options = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    loop {
        match rustix::process::waitid(WaitId::Pid(child), options) {
            Ok(status) => return Ok(status.is_some_and(|status| status.stopped())),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(SysError::new("waitid", errno)),
        }
    }
}

/// Continues a stopped process: `SIGCONT` by
/// [kill(2)](https://man7.org/linux/man-pages/man2/kill.2.html).
///
/// # Errors
/// `ESRCH`: the process does not exist. `EPERM`: it belongs to another user.
#[doc(alias = "SIGCONT")]
pub fn resume(process: u32) -> Result<(), SysError> {
    let process = pid(process).ok_or(SysError::new("kill", Errno::SRCH))?;
    rustix::process::kill_process(process, Signal::CONT).map_err(SysError::of("kill"))
}

/// Removes the limit on locked memory of this process, which programs that it executes inherit:
/// `RLIMIT_MEMLOCK` of [getrlimit(2)](https://man7.org/linux/man-pages/man2/getrlimit.2.html).
///
/// # Errors
/// `EPERM`: the hard limit is lower, and the process does not have `CAP_SYS_RESOURCE`.
#[doc(alias = "RLIMIT_MEMLOCK")]
pub fn remove_lock_limit() -> Result<(), SysError> {
    let unlimited = Rlimit { current: None, maximum: None };
    rustix::process::setrlimit(Resource::Memlock, unlimited).map_err(SysError::of("setrlimit"))
}

fn signal_with_parent(command: &mut Command, signal: Signal) {
    let parent = std::process::id();
    // SAFETY: the closure runs between fork and exec, where only async-signal-safe
    // calls are allowed: prctl and getppid are bare system calls.
    unsafe {
        command
            .pre_exec(move || request_signal(parent, signal).map_err(|error| error.errno.into()));
    }
}

/// What a process may use: [getrlimit(2)](https://man7.org/linux/man-pages/man2/getrlimit.2.html).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of its address space: `RLIMIT_AS`.
    pub memory_bytes: u64,
    /// Seconds of CPU time, after which the kernel kills it: `RLIMIT_CPU`.
    pub cpu_seconds: u64,
    /// Open files: `RLIMIT_NOFILE`.
    pub open_files: u64,
    /// Bytes of a file that it writes: `RLIMIT_FSIZE`. Pipes have no limit.
    pub file_bytes: u64,
}

/// Limits the process that `command` will start, and what that starts. It leaves no core file.
///
/// A limit of this process that is lower stays.
#[doc(alias = "setrlimit")]
pub fn limit(command: &mut Command, limits: Limits) {
    let Limits { memory_bytes, cpu_seconds, open_files, file_bytes } = limits;
    let values = [
        (Resource::As, memory_bytes),
        (Resource::Cpu, cpu_seconds),
        (Resource::Nofile, open_files),
        (Resource::Fsize, file_bytes),
        (Resource::Core, 0),
    ];
    let set = move || {
        for (resource, most) in values {
            let most =
                rustix::process::getrlimit(resource).maximum.map_or(most, |own| own.min(most));
            let limit = Rlimit { current: Some(most), maximum: Some(most) };
            rustix::process::setrlimit(resource, limit)?;
        }
        Ok(())
    };
    // SAFETY: the closure runs between fork and exec, where only async-signal-safe calls are
    // allowed: getrlimit and setrlimit are bare system calls.
    unsafe {
        command.pre_exec(set);
    }
}

/// Makes the kernel kill this process when the parent's thread that started it ends.
///
/// # Errors
/// `ESRCH`: the process `parent` is not the parent of this process, so it has already
/// ended.
pub fn die_with(parent: u32) -> Result<(), SysError> {
    request_signal(parent, Signal::KILL)
}

fn request_signal(parent: u32, signal: Signal) -> Result<(), SysError> {
    rustix::process::set_parent_process_death_signal(Some(signal))
        .map_err(SysError::of("prctl"))?;
    // The parent may have ended before the setting was made: then the signal never
    // comes.
    if parent_id() == parent { Ok(()) } else { Err(SysError::new("getppid", Errno::SRCH)) }
}

/// The parent's process id; 0 if it is outside of our PID namespace:
/// [getppid(2)](https://man7.org/linux/man-pages/man2/getppid.2.html).
#[doc(alias = "getppid")]
pub fn parent_id() -> u32 {
    rustix::process::getppid().map_or(0, number)
}

/// Makes this process the parent of every descendant whose own parent ends:
/// `PR_SET_CHILD_SUBREAPER` of
/// [prctl(2)](https://man7.org/linux/man-pages/man2/PR_SET_CHILD_SUBREAPER.2const.html).
#[doc(alias = "PR_SET_CHILD_SUBREAPER")]
pub fn adopt_orphans() -> Result<(), SysError> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(SysError::of("prctl"))
}

/// Kills a process: `SIGKILL` by [kill(2)](https://man7.org/linux/man-pages/man2/kill.2.html).
///
/// # Errors
/// - `ESRCH`: the process does not exist.
/// - `EPERM`: it belongs to another user.
#[doc(alias = "SIGKILL")]
pub fn kill(process: u32) -> Result<(), SysError> {
    let process = pid(process).ok_or(SysError::new("kill", Errno::SRCH))?;
    rustix::process::kill_process(process, Signal::KILL).map_err(SysError::of("kill"))
}

/// Makes this process ignore requests to end by `SIGTERM`, `SIGINT`, `SIGHUP` or
/// `SIGPIPE`: [signal(2)](https://man7.org/linux/man-pages/man2/signal.2.html). The
/// caller must end the process in another way.
///
/// # Errors
/// None according to the man page.
#[doc(alias = "SIG_IGN")]
pub fn ignore_requests_to_end() -> Result<(), SysError> {
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGPIPE] {
        // SAFETY: ignoring a signal installs no handler.
        let before = unsafe { libc::signal(signal, libc::SIG_IGN) };
        if before == libc::SIG_ERR {
            return Err(SysError::last("signal"));
        }
    }
    Ok(())
}

/// Raises the limit on open files to the most that this process may have:
/// [setrlimit(2)](https://man7.org/linux/man-pages/man2/setrlimit.2.html). Only for programs that
/// never call select(2), which knows 1024 descriptors.
///
/// # Errors
/// None according to the man page.
#[doc(alias = "RLIMIT_NOFILE")]
pub fn raise_open_files_limit() -> Result<(), SysError> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let raised = rustix::process::Rlimit { current: limit.maximum, ..limit };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, raised)
        .map_err(SysError::of("setrlimit"))
}

/// Whether this process ignores `SIGHUP`, as `nohup` makes it:
/// [sigaction(2)](https://man7.org/linux/man-pages/man2/sigaction.2.html).
#[doc(alias = "SIGHUP")]
pub fn ignores_hangup() -> bool {
    // SAFETY: an all-zero `sigaction` is valid: it consists of numbers and an optional function.
    let mut now: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: without a new action nothing changes; `now` is valid for the write.
    let returned = unsafe { libc::sigaction(libc::SIGHUP, std::ptr::null(), &raw mut now) };
    returned == 0 && now.sa_sigaction == libc::SIG_IGN
}

/// Waits until any child has ended and returns its process id and status:
/// [waitpid(2)](https://man7.org/linux/man-pages/man2/wait.2.html).
///
/// # Errors
/// `ECHILD`: there are no children.
#[doc(alias = "waitpid")]
pub fn wait_for_any_child() -> Result<(u32, ExitStatus), SysError> {
    wait_for_any(WaitOptions::empty())
}

/// Like [`wait_for_any_child`], but returns also when a signal has stopped a child: then the
/// status has a [`stopped_signal`](ExitStatusExt::stopped_signal).
///
/// # Errors
/// `ECHILD`: there are no children.
#[doc(alias = "WUNTRACED")]
pub fn wait_for_any_child_or_stop() -> Result<(u32, ExitStatus), SysError> {
    wait_for_any(WaitOptions::UNTRACED)
}

fn wait_for_any(options: WaitOptions) -> Result<(u32, ExitStatus), SysError> {
    loop {
        match wait(options) {
            Ok(Some(ended)) => return Ok(ended),
            Ok(None) => {}
            Err(error) if error.errno == Errno::INTR => {}
            Err(error) => return Err(error),
        }
    }
}

/// Like [`wait_for_any_child`], but returns `None` if no child has ended yet.
///
/// # Errors
/// `ECHILD`: there are no children.
pub fn reap_any_child() -> Result<Option<(u32, ExitStatus)>, SysError> {
    wait(WaitOptions::NOHANG)
}

fn wait(options: WaitOptions) -> Result<Option<(u32, ExitStatus)>, SysError> {
    let ended = rustix::process::wait(options).map_err(SysError::of("waitpid"))?;
    Ok(ended.map(|(process, status)| (number(process), ExitStatus::from_raw(status.as_raw()))))
}

/// The effective user id of this process:
/// [geteuid(2)](https://man7.org/linux/man-pages/man2/getuid.2.html).
#[doc(alias = "geteuid")]
pub fn effective_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The number of ticks per second in which `/proc/PID/stat` counts CPU time:
/// [sysconf(3)](https://man7.org/linux/man-pages/man3/sysconf.3.html).
#[doc(alias = "_SC_CLK_TCK")]
pub fn clock_ticks_per_second() -> u64 {
    // SAFETY: sysconf only reads its argument.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    // It is 100 on every architecture of today's Linux.
    u64::try_from(ticks).ok().filter(|&ticks| ticks > 0).unwrap_or(100)
}

fn pid(number: u32) -> Option<Pid> {
    i32::try_from(number).ok().and_then(Pid::from_raw)
}

fn number(pid: Pid) -> u32 {
    pid.as_raw_nonzero().get().cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_tied_to_its_parent_and_reaped() {
        let mut command = Command::new("true");
        die_with_parent(&mut command);
        assert!(command.status().unwrap().success());
    }

    #[test]
    fn a_process_has_its_limits() {
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -n; ulimit -f; ulimit -t; ulimit -c"]);
        let limits =
            Limits { memory_bytes: 1 << 30, cpu_seconds: 5, open_files: 30, file_bytes: 0 };
        limit(&mut command, limits);
        let output = command.output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "30\n0\n5\n0\n");
    }

    #[test]
    fn a_wrong_parent_is_an_error() {
        // The setting belongs to a thread, so it ends with this thread.
        let returned = std::thread::spawn(|| die_with(u32::MAX)).join().unwrap();
        assert_eq!(returned, Err(SysError::new("getppid", Errno::SRCH)));
    }

    #[test]
    fn killing_a_missing_process_is_an_error() {
        for number in [0, u32::MAX] {
            assert_eq!(kill(number), Err(SysError::new("kill", Errno::SRCH)));
        }
    }
}
