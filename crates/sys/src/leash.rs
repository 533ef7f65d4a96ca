//! A program that the kernel kills, together with all its descendants, when the thread
//! that started it ends.
//!
//! This uses `PTRACE_O_EXITKILL` of
//! [ptrace(2)](https://man7.org/linux/man-pages/man2/ptrace.2.html): the program is
//! traced, its descendants are traced from their first instruction, and the end of the
//! tracer kills them all. It needs neither privileges nor namespaces. It costs two
//! stops of a few microseconds for each fork, one for each exec and one for each
//! signal.
//!
//! On a leash, set-user-ID programs run without their privileges, debuggers do not work,
//! and `SIGSTOP` does not stop a process.

use std::collections::HashSet;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};

use crate::error::{Errno, SysError};

/// Makes the program that `command` will start wait for its leash: `PTRACE_TRACEME`.
///
/// Pass it to [`Leash::take`] at once: until then it is stopped.
///
/// # Errors
/// Starting the command fails with `EPERM` if a security module or a seccomp filter forbids
/// tracing.
#[doc(alias = "PTRACE_TRACEME")]
pub fn wait_for_leash(command: &mut Command) {
    // SAFETY: the closure runs between fork and exec, where only async-signal-safe calls
    // are allowed: ptrace with PTRACE_TRACEME is a bare system call that ignores its other
    // arguments.
    unsafe {
        command.pre_exec(|| {
            let nothing = std::ptr::null_mut::<libc::c_void>();
            let returned = libc::ptrace(libc::PTRACE_TRACEME, 0, nothing, nothing);
            SysError::check("ptrace", returned).map(drop).map_err(|error| error.errno.into())
        });
    }
}

/// The leash of one program, held by the thread that started it.
#[derive(Debug)]
pub struct Leash {
    program: i32,
    /// Threads that have stopped for the first time, as each new thread does.
    known: HashSet<i32>,
}

impl Leash {
    /// Takes the leash of a program that this thread has just started, and lets the
    /// program run.
    ///
    /// # Errors
    /// `ESRCH`, `ECHILD`: the program did not wait for a leash, or it was killed.
    #[doc(alias = "PTRACE_O_EXITKILL")]
    pub fn take(child: &Child) -> Result<Self, SysError> {
        let program = child.id().cast_signed();
        // The program stops at its first instruction.
        let (_, status) = wait(program)?;
        if !libc::WIFSTOPPED(status) {
            return Err(SysError::new("ptrace", Errno::SRCH));
        }
        let options = libc::PTRACE_O_EXITKILL
            | libc::PTRACE_O_TRACEFORK
            | libc::PTRACE_O_TRACEVFORK
            | libc::PTRACE_O_TRACECLONE
            | libc::PTRACE_O_TRACEEXEC;
        // SAFETY: PTRACE_SETOPTIONS takes a number for data and accesses no memory of this
        // process.
        let returned = unsafe {
            libc::ptrace(
                libc::PTRACE_SETOPTIONS,
                program,
                std::ptr::null_mut::<libc::c_void>(),
                options as usize as *mut libc::c_void,
            )
        };
        SysError::check("ptrace", returned)?;
        go_on(program, 0);
        Ok(Self { program, known: HashSet::from([program]) })
    }

    /// Serves the program and its descendants until the program has ended.
    ///
    /// It waits for every child of this process, so nothing else in the process may
    /// wait for a child.
    pub fn wait(&mut self) -> Result<ExitStatus, SysError> {
        loop {
            if let Some((process, status)) = self.serve()?
                && process == self.program
            {
                return Ok(status);
            }
        }
    }

    /// Serves the descendants that outlive the program until all have ended.
    pub fn wait_for_descendants(&mut self) {
        while self.serve().is_ok() {}
    }

    /// Waits for the next ptrace stop or exit; returns the process and its status if it
    /// ended.
    fn serve(&mut self) -> Result<Option<(i32, ExitStatus)>, SysError> {
        let (process, status) = wait(-1)?;
        if !libc::WIFSTOPPED(status) {
            self.known.remove(&process);
            return Ok(Some((process, ExitStatus::from_raw(status))));
        }
        let signal = libc::WSTOPSIG(status);
        // Other stops report a fork or an exec. They need no action, since the kernel has
        // put the new process on the leash too.
        let event = status >> 16 != 0;
        let is_new = self.known.insert(process);
        let silent = event || (is_new && signal == libc::SIGSTOP) || is_group_stop(process, signal);
        go_on(process, if silent { 0 } else { signal });
        Ok(None)
    }
}

/// Whether the process is in a group stop, whose signal was already reported.
fn is_group_stop(process: i32, signal: i32) -> bool {
    if !matches!(signal, libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU) {
        return false;
    }
    // SAFETY: an all-zero `siginfo_t` is valid: it consists of numbers and pointers.
    let mut information: libc::siginfo_t = unsafe { std::mem::zeroed() };
    // SAFETY: `information` is valid for the write of one `siginfo_t`.
    let returned = unsafe {
        libc::ptrace(
            libc::PTRACE_GETSIGINFO,
            process,
            std::ptr::null_mut::<libc::c_void>(),
            &raw mut information,
        )
    };
    SysError::check("ptrace", returned).is_err_and(|error| error.errno == Errno::INVAL)
}

/// Resumes a stopped process, with a signal or without.
fn go_on(process: i32, signal: i32) {
    // SAFETY: PTRACE_CONT takes a number for data and accesses no memory of this
    // process. A failure means that the process was killed; waitpid reports its end.
    let _ = unsafe {
        libc::ptrace(
            libc::PTRACE_CONT,
            process,
            std::ptr::null_mut::<libc::c_void>(),
            signal as usize as *mut libc::c_void,
        )
    };
}

/// [waitpid(2)](https://man7.org/linux/man-pages/man2/wait.2.html), for threads too.
fn wait(process: i32) -> Result<(i32, i32), SysError> {
    loop {
        let mut status = 0;
        // SAFETY: `status` is valid for the write of one number.
        let returned = unsafe { libc::waitpid(process, &raw mut status, libc::__WALL) };
        match SysError::check("waitpid", returned) {
            Ok(process) => return Ok((process, status)),
            Err(error) if error.errno == Errno::INTR => {}
            Err(error) => return Err(error),
        }
    }
}
