//! A copy of this process that runs a loop.

use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitStatus;
use std::thread;

use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitOptions};
use tactus_model::recording::ThreadId;
use tactus_model::time::Nanos;

use crate::clock;
use crate::error::{Errno, SysError};

/// A copy of this process in an address space of its own:
/// [fork(2)](https://man7.org/linux/man-pages/man2/fork.2.html).
///
/// It is killed when this value is dropped, and when the thread ends that made it.
#[derive(Debug)]
pub struct Fork {
    process: Pid,
    /// How it ended, once it was waited for.
    ended: Option<Halt>,
}

/// Why a copy does not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Halt {
    /// It has ended by itself, with this exit code.
    #[error("ended with exit code {0}")]
    Ended(i32),
    /// A signal has ended it.
    #[error("was killed by signal {0}")]
    Killed(i32),
    /// A signal has stopped it; it may be continued.
    #[error("was stopped by signal {0}")]
    Stopped(i32),
}

impl Halt {
    fn of(status: ExitStatus) -> Self {
        match (status.signal(), status.stopped_signal()) {
            (Some(signal), _) => Self::Killed(signal),
            (_, Some(signal)) => Self::Stopped(signal),
            _ => Self::Ended(status.code().unwrap_or_default()),
        }
    }
}

/// The stack of a thread that waits for the end of a copy.
const WATCH_STACK: usize = 64 << 10;

impl Fork {
    /// Starts a copy that runs `work` and ends, with the CPUs and the policy of the calling thread.
    ///
    /// The copy has only the calling thread: a lock that another thread holds stays locked in it
    /// for ever. So `work` must neither allocate nor print; it makes system calls and uses memory
    /// that it has.
    ///
    /// # Errors
    /// `EAGAIN`: there are too many processes, or the calling thread has a deadline policy.
    #[doc(alias = "fork")]
    pub fn start(work: impl FnOnce()) -> Result<Self, SysError> {
        let parent = rustix::process::getpid();
        // SAFETY: the child runs only `work`, which by contract takes no lock of another thread,
        // and leaves by `_exit`, which runs no destructor.
        match SysError::check("fork", unsafe { libc::fork() })? {
            0 => {
                let leashed = rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
                    .is_ok()
                    && rustix::process::getppid() == Some(parent);
                let done = leashed && catch_unwind(AssertUnwindSafe(work)).is_ok();
                // SAFETY: ends the process and returns to nobody.
                unsafe { libc::_exit(i32::from(!done)) }
            }
            child => {
                let process = Pid::from_raw(child).ok_or(SysError::new("fork", Errno::CHILD))?;
                Ok(Self { process, ended: None })
            }
        }
    }

    /// Its only thread.
    pub fn thread(&self) -> ThreadId {
        ThreadId(self.process.as_raw_nonzero().get())
    }

    /// Its process ID.
    pub fn id(&self) -> u32 {
        self.process.as_raw_nonzero().get().unsigned_abs()
    }

    /// The CPU time that it has used; zero once it has ended.
    pub fn cpu_time(&self) -> Nanos {
        clock::cpu_time_of_process(self.process.as_raw_nonzero().get())
    }

    /// Why it does not go on, without waiting; `None` if it does. That a signal stopped it is
    /// returned once.
    ///
    /// # Errors
    /// `ECHILD`: somebody else has waited for it.
    #[doc(alias = "WUNTRACED")]
    pub fn halt(&mut self) -> Result<Option<Halt>, SysError> {
        match self.ended {
            Some(_) => Ok(self.ended),
            None => self.wait_with(WaitOptions::NOHANG | WaitOptions::UNTRACED),
        }
    }

    /// Calls `act` once the copy does not go on: it has ended, or a signal has stopped it. A thread
    /// that sleeps until then does that.
    ///
    /// # Errors
    /// `EMFILE`: too many open files. `EAGAIN`: too many threads.
    #[doc(alias = "waitid")]
    pub fn when_halted(&self, act: impl FnOnce() + Send + 'static) -> Result<(), SysError> {
        let process = rustix::process::pidfd_open(self.process, PidfdFlags::empty())
            .map_err(SysError::of("pidfd_open"))?;
        let watch = move || {
            let halts = WaitIdOptions::EXITED | WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT;
            let wait = || rustix::process::waitid(WaitId::PidFd(process.as_fd()), halts);
            // Any other error: somebody has waited for it, so it has ended.
            while wait().err() == Some(Errno::INTR) {}
            act();
        };
        let thread = thread::Builder::new().name("watch".to_owned()).stack_size(WATCH_STACK);
        let started = thread.spawn(watch);
        started.map(drop).map_err(|_| SysError::new("pthread_create", Errno::AGAIN))
    }

    /// Waits until it has ended by itself.
    ///
    /// # Errors
    /// `ECHILD`: somebody else has waited for it.
    pub fn wait(mut self) -> Result<(), SysError> {
        self.wait_with(WaitOptions::empty()).map(drop)
    }

    fn wait_with(&mut self, options: WaitOptions) -> Result<Option<Halt>, SysError> {
        loop {
            match rustix::process::waitpid(Some(self.process), options) {
                Err(Errno::INTR) => {}
                Err(error) => return Err(SysError::new("waitpid", error)),
                Ok(found) => {
                    let halt =
                        found.map(|(_, status)| Halt::of(ExitStatus::from_raw(status.as_raw())));
                    self.ended = halt.filter(|halt| !matches!(halt, Halt::Stopped(_)));
                    return Ok(halt);
                }
            }
        }
    }
}

impl Drop for Fork {
    fn drop(&mut self) {
        if self.ended.is_some() {
            return;
        }
        // It is our child and was not waited for, so the number is still its own.
        let _ = rustix::process::kill_process(self.process, Signal::KILL);
        let _ = rustix::process::waitpid(Some(self.process), WaitOptions::empty());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::shared_memory::SharedWords;

    #[test]
    fn a_copy_shares_only_what_is_shared() {
        let shared = SharedWords::create(1).unwrap();
        let mut own = 1;
        let copy = Fork::start(|| {
            own = 2;
            shared.words()[0].store(7, Ordering::Relaxed);
        });
        copy.unwrap().wait().unwrap();
        assert_eq!((own, shared.words()[0].load(Ordering::Relaxed)), (1, 7));
    }

    #[test]
    fn a_copy_that_a_signal_halts_names_the_signal() {
        let mut copy = Fork::start(|| {
            loop {
                rustix::thread::sched_yield();
            }
        })
        .unwrap();
        assert_eq!(copy.halt(), Ok(None));
        for (signal, expected) in
            [(Signal::STOP, Halt::Stopped(19)), (Signal::KILL, Halt::Killed(9))]
        {
            rustix::process::kill_process(copy.process, signal).unwrap();
            while copy.halt().unwrap() != Some(expected) {
                std::thread::yield_now();
            }
        }
        assert_eq!(copy.halt(), Ok(Some(Halt::Killed(9))), "its end is known");
    }

    #[test]
    fn a_copy_that_is_killed_or_stopped_is_noticed() {
        for signal in [Signal::KILL, Signal::STOP] {
            let copy = Fork::start(|| {
                loop {
                    rustix::thread::sched_yield();
                }
            })
            .unwrap();
            let (sender, receiver) = std::sync::mpsc::channel::<()>();
            copy.when_halted(move || drop(sender)).unwrap();
            assert_eq!(receiver.try_recv(), Err(std::sync::mpsc::TryRecvError::Empty));
            rustix::process::kill_process(copy.process, signal).unwrap();
            assert!(receiver.recv().is_err());
        }
    }

    #[test]
    fn a_copy_that_runs_on_is_killed() {
        let copy = Fork::start(|| {
            loop {
                rustix::thread::sched_yield();
            }
        })
        .unwrap();
        while copy.cpu_time() == Nanos::ZERO {
            std::thread::yield_now();
        }
        drop(copy);
    }
}
