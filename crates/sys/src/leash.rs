//! A program that the kernel kills, with all its descendants, when its starter ends.
//!
//! This is what [ptrace(2)](https://man7.org/linux/man-pages/man2/ptrace.2.html) calls
//! `PTRACE_O_EXITKILL`: the program is traced, whatever it forks is traced from its
//! first moment, and the tracer's end kills the traced. It needs no privilege and no
//! namespace. It costs two stops of a few microseconds for each fork, one for each exec
//! and one for each signal.
//!
//! On a leash set-user-ID programs have no effect, no debugger works, and a process that
//! is sent `SIGSTOP` goes on.

use std::collections::HashSet;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};

use crate::error::{Errno, SysError};

/// Has the program that `command` will start wait for its leash: `PTRACE_TRACEME`.
///
/// Give it to [`Leash::take`] at once: until then it stands still.
///
/// # Errors
/// Starting the command answers `EPERM` where a security module or a filter forbids tracing.
#[doc(alias = "PTRACE_TRACEME")]
pub fn wait_for_leash(command: &mut Command) {
    // SAFETY: the closure runs between fork and exec, where only calls that are safe in
    // a signal handler may be made: ptrace with PTRACE_TRACEME is a bare system call that
    // ignores its other arguments.
    unsafe {
        command.pre_exec(|| {
            let nothing = std::ptr::null_mut::<libc::c_void>();
            let answer = libc::ptrace(libc::PTRACE_TRACEME, 0, nothing, nothing);
            SysError::check("ptrace", answer).map(drop).map_err(|error| error.errno.into())
        });
    }
}

/// The leash of one program; held by the thread that started it.
#[derive(Debug)]
pub struct Leash {
    program: i32,
    /// Threads that have stopped for the first time, as each new one does.
    known: HashSet<i32>,
}

impl Leash {
    /// Takes the leash of a program that this thread has just started, and lets it run.
    ///
    /// # Errors
    /// `ESRCH`, `ECHILD`: it did not wait for a leash, or has been killed meanwhile.
    #[doc(alias = "PTRACE_O_EXITKILL")]
    pub fn take(child: &Child) -> Result<Self, SysError> {
        let program = child.id().cast_signed();
        // It stops at its first instruction.
        let (_, status) = wait(program)?;
        if !libc::WIFSTOPPED(status) {
            return Err(SysError::new("ptrace", Errno::SRCH));
        }
        let options = libc::PTRACE_O_EXITKILL
            | libc::PTRACE_O_TRACEFORK
            | libc::PTRACE_O_TRACEVFORK
            | libc::PTRACE_O_TRACECLONE
            | libc::PTRACE_O_TRACEEXEC;
        // SAFETY: PTRACE_SETOPTIONS takes a number for data and touches no memory of ours.
        let answer = unsafe {
            libc::ptrace(
                libc::PTRACE_SETOPTIONS,
                program,
                std::ptr::null_mut::<libc::c_void>(),
                options as usize as *mut libc::c_void,
            )
        };
        SysError::check("ptrace", answer)?;
        go_on(program, 0);
        Ok(Self { program, known: HashSet::from([program]) })
    }

    /// Serves the program and its descendants until the program has ended.
    ///
    /// Waits for every child of this process, so no other may be waited for elsewhere.
    pub fn wait(&mut self) -> Result<ExitStatus, SysError> {
        loop {
            if let Some((process, status)) = self.serve()?
                && process == self.program
            {
                return Ok(status);
            }
        }
    }

    /// Serves the descendants that outlive the program until none is left.
    pub fn wait_for_descendants(&mut self) {
        while self.serve().is_ok() {}
    }

    /// Waits for the next thing to happen; answers when it is an end.
    fn serve(&mut self) -> Result<Option<(i32, ExitStatus)>, SysError> {
        let (process, status) = wait(-1)?;
        if !libc::WIFSTOPPED(status) {
            self.known.remove(&process);
            return Ok(Some((process, ExitStatus::from_raw(status))));
        }
        let signal = libc::WSTOPSIG(status);
        // What stops besides the signal says that it forked or executed; nothing is to be
        // done, since the kernel has put the new process on the leash too.
        let event = status >> 16 != 0;
        let is_new = self.known.insert(process);
        let silent = event || (is_new && signal == libc::SIGSTOP) || is_group_stop(process, signal);
        go_on(process, if silent { 0 } else { signal });
        Ok(None)
    }
}

/// Whether the process stands still because its whole group was stopped, of which
/// the signal has been told before.
fn is_group_stop(process: i32, signal: i32) -> bool {
    if !matches!(signal, libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU) {
        return false;
    }
    // SAFETY: an all-zero `siginfo_t` is valid, it is made of numbers and pointers.
    let mut information: libc::siginfo_t = unsafe { std::mem::zeroed() };
    // SAFETY: `information` is valid for the write of one `siginfo_t`.
    let answer = unsafe {
        libc::ptrace(
            libc::PTRACE_GETSIGINFO,
            process,
            std::ptr::null_mut::<libc::c_void>(),
            &raw mut information,
        )
    };
    SysError::check("ptrace", answer).is_err_and(|error| error.errno == Errno::INVAL)
}

/// Lets a stopped process go on, with a signal or none.
fn go_on(process: i32, signal: i32) {
    // SAFETY: PTRACE_CONT takes a number for data and touches no memory of ours.
    // A refusal means that the process was killed meanwhile; its end will be told.
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
        let answer = unsafe { libc::waitpid(process, &raw mut status, libc::__WALL) };
        match SysError::check("waitpid", answer) {
            Ok(process) => return Ok((process, status)),
            Err(error) if error.errno == Errno::INTR => {}
            Err(error) => return Err(error),
        }
    }
}
