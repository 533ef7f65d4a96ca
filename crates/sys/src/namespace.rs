//! A process in a PID namespace of its own: when its first process ends, the
//! kernel kills all others in it.
//!
//! See [pid_namespaces(7)](https://man7.org/linux/man-pages/man7/pid_namespaces.7.html)
//! and [user_namespaces(7)](https://man7.org/linux/man-pages/man7/user_namespaces.7.html).

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::pipe::PipeFlags;
use rustix::process::{Signal, WaitOptions};

use crate::error::{Errno, SysError};

/// By which right the namespaces are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// By `CAP_SYS_ADMIN`.
    Privilege,
    /// By a user namespace of its own, in which user and group keep their numbers
    /// and all others are unmapped; so set-user-ID programs have no effect within.
    UserNamespace,
}

/// Starts `command` as the first process of a new PID namespace, in a mount
/// namespace whose `/proc` shows it:
/// [clone3(2)](https://man7.org/linux/man-pages/man2/clone.2.html) with
/// `CLONE_NEWPID` and `CLONE_NEWNS`, then exec.
///
/// Answers its process number as we see it. The kernel kills it, and with it all
/// that live in the namespace, when the calling thread ends. The caller has to
/// reap it. Piped standard streams are not possible: give the command files.
///
/// # Errors
/// - `EBUSY`: this process has several threads, so it must not go on after a
///   bare clone (a lock may be held by a thread that does not exist any more).
/// - `EPERM`, `ENOSPC`, `ENOSYS`, `EACCES` of clone3, mount or the writing of the
///   user map: not permitted here.
/// - those of exec.
#[doc(alias = "clone3")]
#[doc(alias = "CLONE_NEWPID")]
pub fn spawn(command: &mut Command, right: Right) -> Result<u32, SysError> {
    require_single_thread()?;
    let (report, reporter) =
        rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map_err(SysError::of("pipe2"))?;
    let identity = Identity::of_this_process();
    match clone_into(right)? {
        None => {
            drop(report);
            let error = match prepare(right, identity) {
                Ok(()) => SysError::new("execve", errno_of(&command.exec())),
                Err(error) => error,
            };
            fail(reporter, error)
        }
        Some(process) => {
            drop(reporter);
            match read_report(report) {
                None => Ok(process.as_raw_nonzero().get().cast_unsigned()),
                Some(error) => {
                    // It has ended, and nobody else knows of it.
                    let _ = rustix::process::waitpid(Some(process), WaitOptions::empty());
                    Err(error)
                }
            }
        }
    }
}

fn require_single_thread() -> Result<(), SysError> {
    let threads = std::fs::read_dir("/proc/self/task")
        .map_err(|error| SysError::new("open /proc/self/task", errno_of(&error)))?
        .count();
    if threads == 1 { Ok(()) } else { Err(SysError::new("clone3", Errno::BUSY)) }
}

/// The first version of `struct clone_args`, which every kernel since 5.3 takes.
#[repr(C)]
#[derive(Default)]
struct CloneArguments {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
}

/// Forks into new namespaces: `None` in the child.
fn clone_into(right: Right) -> Result<Option<rustix::process::Pid>, SysError> {
    let user = match right {
        Right::Privilege => 0,
        Right::UserNamespace => libc::CLONE_NEWUSER,
    };
    let flags = libc::CLONE_NEWPID | libc::CLONE_NEWNS | user;
    let arguments = CloneArguments {
        flags: u64::from(flags.cast_unsigned()),
        exit_signal: libc::SIGCHLD as u64,
        ..CloneArguments::default()
    };
    // SAFETY: without CLONE_VM the child goes on upon a copy of this process, as
    // after fork(2). The caller has made sure that there is no other thread, so
    // no lock in the copy is held by somebody who is missing there; and the child
    // does nothing but prepare and exec or exit.
    let process = unsafe {
        libc::syscall(libc::SYS_clone3, &raw const arguments, size_of::<CloneArguments>())
    };
    let process = SysError::check("clone3", process)?;
    // A process number always fits.
    Ok(rustix::process::Pid::from_raw(process as i32))
}

/// The numbers that a user namespace keeps.
#[derive(Clone, Copy)]
struct Identity {
    user: u32,
    group: u32,
}

impl Identity {
    fn of_this_process() -> Self {
        Self {
            user: rustix::process::geteuid().as_raw(),
            group: rustix::process::getegid().as_raw(),
        }
    }
}

/// What the child does before exec.
fn prepare(right: Right, identity: Identity) -> Result<(), SysError> {
    // Should the parent be gone already, the caller's other ways of noticing must do:
    // from inside the namespace no parent can be seen.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(SysError::of(PRCTL))?;
    if right == Right::UserNamespace {
        let Identity { user, group } = identity;
        write_map("/proc/self/setgroups", "deny")?;
        write_map("/proc/self/uid_map", &format!("{user} {user} 1"))?;
        write_map("/proc/self/gid_map", &format!("{group} {group} 1"))?;
    }
    // What is mounted here must not show outside.
    mount(c"none", c"/", None, libc::MS_REC | libc::MS_PRIVATE)?;
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    mount(c"proc", c"/proc", Some(c"proc"), flags)
}

fn write_map(path: &str, content: &str) -> Result<(), SysError> {
    std::fs::write(path, content).map_err(|error| SysError::new(USER_MAP, errno_of(&error)))
}

fn mount(
    source: &CStr,
    target: &CStr,
    kind: Option<&CStr>,
    flags: libc::c_ulong,
) -> Result<(), SysError> {
    let kind = kind.map_or(std::ptr::null(), CStr::as_ptr);
    // SAFETY: the strings are live and end with a zero; the kind and the data may be null.
    let answer =
        unsafe { libc::mount(source.as_ptr(), target.as_ptr(), kind, flags, std::ptr::null()) };
    SysError::check(MOUNT, answer).map(drop)
}

const PRCTL: &str = "prctl";

/// The call that an error of [`spawn`] names when the maps of a user namespace were refused.
pub const USER_MAP: &str = "write /proc/self/uid_map";

const MOUNT: &str = "mount";
const EXECVE: &str = "execve";

/// The calls that the child can report, by their place.
const REPORTED: [&str; 4] = [PRCTL, USER_MAP, MOUNT, EXECVE];

/// Tells the parent what was refused, and ends.
fn fail(reporter: OwnedFd, error: SysError) -> ! {
    let call = REPORTED.iter().position(|&call| call == error.call).unwrap_or(0);
    let mut report = [call as u8, 0, 0, 0, 0];
    report[1..].copy_from_slice(&error.errno.raw_os_error().to_ne_bytes());
    // If even this fails, the parent sees a command that ended at once.
    let _ = File::from(reporter).write_all(&report);
    // SAFETY: _exit ends the process and touches nothing of it; the handlers
    // that exit(3) would run belong to the parent, of which we are a copy.
    unsafe { libc::_exit(127) }
}

/// What the child reported; `None` when exec closed its end of the pipe.
fn read_report(report: OwnedFd) -> Option<SysError> {
    let mut bytes = [0; 5];
    File::from(report).read_exact(&mut bytes).ok()?;
    let [call, errno @ ..] = bytes;
    let call = REPORTED.get(usize::from(call)).copied().unwrap_or(EXECVE);
    Some(SysError::new(call, Errno::from_raw_os_error(i32::from_ne_bytes(errno))))
}

fn errno_of(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}
