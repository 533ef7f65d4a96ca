//! A process in a PID namespace of its own: when the first process of the namespace
//! ends, the kernel kills all others in it.
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

/// The right by which the namespaces are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// By `CAP_SYS_ADMIN`.
    Privilege,
    /// A user namespace of its own, which maps only the present user and group, with
    /// the same ids; set-user-ID programs therefore run without their privileges in it.
    UserNamespace,
}

/// Starts `command` as the first process of a new PID namespace, in a mount namespace
/// with a matching `/proc`:
/// [clone3(2)](https://man7.org/linux/man-pages/man2/clone.2.html) with `CLONE_NEWPID`
/// and `CLONE_NEWNS`, then exec.
///
/// Returns its process id in our namespace. The kernel kills it, and with it all
/// processes in the namespace, when the calling thread ends. The caller must reap it.
/// Piped standard streams do not work; use files.
///
/// # Errors
/// - `EBUSY`: this process has several threads, so it must not continue after a bare
///   clone (a thread that does not exist in the child may hold a lock).
/// - `EPERM`, `ENOSPC`, `ENOSYS`, `EACCES` of clone3, mount or the write of the user
///   map: not permitted on this machine.
/// - Errors of exec.
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
                    // The child has ended, and nothing else knows about it.
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

/// The first version of `struct clone_args`, which every kernel since 5.3 accepts.
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

/// Forks into new namespaces; `None` in the child.
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
    // SAFETY: without CLONE_VM the child runs in a copy of this process, as after
    // fork(2). The caller has checked that there is no other thread, so no missing
    // thread holds a lock in the copy; and the child only prepares and execs or exits.
    let process = unsafe {
        libc::syscall(libc::SYS_clone3, &raw const arguments, size_of::<CloneArguments>())
    };
    let process = SysError::check("clone3", process)?;
    // A process id always fits.
    Ok(rustix::process::Pid::from_raw(process as i32))
}

/// The ids that a user namespace keeps.
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

/// Prepares the child before exec.
fn prepare(right: Right, identity: Identity) -> Result<(), SysError> {
    // If the parent has already ended, the caller must detect that in another way: the
    // parent is not visible from inside the namespace.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(SysError::of(PRCTL))?;
    if right == Right::UserNamespace {
        let Identity { user, group } = identity;
        write_map("/proc/self/setgroups", "deny")?;
        write_map("/proc/self/uid_map", &format!("{user} {user} 1"))?;
        write_map("/proc/self/gid_map", &format!("{group} {group} 1"))?;
    }
    // Mounts in this namespace must not propagate outside.
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
    // SAFETY: the strings are live and NUL-terminated; the type and the data may be null.
    let returned =
        unsafe { libc::mount(source.as_ptr(), target.as_ptr(), kind, flags, std::ptr::null()) };
    SysError::check(MOUNT, returned).map(drop)
}

const PRCTL: &str = "prctl";

/// The call in an error of [`spawn`] if writing the maps of a user namespace failed.
pub const USER_MAP: &str = "write /proc/self/uid_map";

const MOUNT: &str = "mount";
const EXECVE: &str = "execve";

/// The calls that the child can report, by their index.
const REPORTED: [&str; 4] = [PRCTL, USER_MAP, MOUNT, EXECVE];

/// Reports the failed call to the parent, and exits.
fn fail(reporter: OwnedFd, error: SysError) -> ! {
    let call = REPORTED.iter().position(|&call| call == error.call).unwrap_or(0);
    let mut report = [call as u8, 0, 0, 0, 0];
    report[1..].copy_from_slice(&error.errno.raw_os_error().to_ne_bytes());
    // If even this fails, the parent sees a command that ended at once.
    let _ = File::from(reporter).write_all(&report);
    // SAFETY: _exit ends the process without running anything in it; the handlers that
    // exit(3) would run belong to the parent, of which this process is a copy.
    unsafe { libc::_exit(127) }
}

/// What the child reported; `None` if exec closed its end of the pipe.
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
