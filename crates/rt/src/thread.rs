//! The thread that is given a policy and CPUs.

use std::path::Path;

use tactus_model::cpus::CpuList;
use tactus_model::policy::Scheduling;
use tactus_model::recording::ThreadId;
use tactus_sys::pidfd::PidFd;
use tactus_sys::{SysError, affinity, facts, sched};

use crate::not_granted::NotGranted;
use crate::schedule::{self, SchedulingCalls};

/// A thread that is given a policy and CPUs.
///
/// Setting another user's thread takes `CAP_SYS_NICE`. The limits of another thread are
/// taken to be those of this process; where they are lower, more fallbacks are tried.
#[derive(Debug)]
pub enum ThreadRef {
    /// The calling thread.
    Calling,
    /// The thread of this number.
    ///
    /// When it has ended, the kernel may have given its number to another thread, which is
    /// then set in its place: take this for threads that the program itself keeps alive, and
    /// [`PidFd`](Self::PidFd) for others.
    Id(ThreadId),
    /// The thread that this descriptor means; of a process it is the first.
    ///
    /// The kernel has no call that sets a thread by its descriptor, so each call goes to the
    /// number that the descriptor has just before, and the descriptor is asked again just
    /// after. When it still has that number, no other thread had it meanwhile. Otherwise the
    /// answer is `ESRCH`: the thread ended, and was waited for, during the call. The race that
    /// remains: another thread is set if it gets the same number within that call. The kernel
    /// gives numbers away in turn, so all others must be used up within it first.
    PidFd(PidFd),
}

impl ThreadRef {
    /// Gives the thread a policy, or else the best that is permitted, which the answer names.
    ///
    /// Nothing is asked of the kernel when the thread has the policy already.
    ///
    /// # Errors
    /// There is no such thread, or the kernel does not show its settings.
    pub fn schedule(&self, asked: Scheduling) -> Result<Option<NotGranted>, SysError> {
        schedule::schedule(self, asked, || facts::read(Path::new("/")))
    }

    /// Confines the thread to `cpus`. Where that is refused, it runs where it ran before.
    ///
    /// # Errors
    /// There is no such thread, or the kernel does not show its settings.
    pub fn pin(&self, cpus: &CpuList) -> Result<Option<NotGranted>, SysError> {
        schedule::pin(self, cpus)
    }

    /// The policy that the thread has.
    ///
    /// # Errors
    /// There is no such thread, or its class is not known here (`ENOTSUP`).
    pub fn scheduling(&self) -> Result<Scheduling, SysError> {
        self.by_number(sched::get, sched::get_of)
    }

    /// The CPUs on which the thread may run.
    ///
    /// # Errors
    /// There is no such thread.
    pub fn cpus(&self) -> Result<CpuList, SysError> {
        self.by_number(affinity::get, affinity::get_of)
    }

    /// Calls the one for the calling thread, or the other for the thread of a number.
    fn by_number<T>(
        &self,
        calling: impl FnOnce() -> Result<T, SysError>,
        other: impl FnOnce(ThreadId) -> Result<T, SysError>,
    ) -> Result<T, SysError> {
        match self {
            Self::Calling => calling(),
            Self::Id(thread) => other(*thread),
            Self::PidFd(descriptor) => {
                let answer = other(descriptor.id()?);
                descriptor.id()?;
                answer
            }
        }
    }
}

impl SchedulingCalls for ThreadRef {
    fn scheduling(&self) -> Result<Scheduling, SysError> {
        self.scheduling()
    }

    fn set_scheduling(&self, scheduling: Scheduling) -> Result<(), SysError> {
        self.by_number(|| sched::set(scheduling), |thread| sched::set_of(thread, scheduling))
    }

    fn cpus(&self) -> Result<CpuList, SysError> {
        self.cpus()
    }

    fn set_cpus(&self, cpus: &CpuList) -> Result<(), SysError> {
        self.by_number(|| affinity::set(cpus), |thread| affinity::set_of(thread, cpus))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};
    use std::thread::JoinHandle;

    use tactus_sys::Errno;

    use super::*;

    /// A thread that waits for its end.
    struct Other {
        id: ThreadId,
        end: Sender<()>,
        thread: JoinHandle<()>,
    }

    impl Other {
        fn start() -> Self {
            let (end, ended) = channel();
            let (number, numbers) = channel();
            let thread = std::thread::spawn(move || {
                number.send(tactus_sys::thread::current_id()).unwrap();
                let _ = ended.recv();
            });
            Self { id: numbers.recv().unwrap(), end, thread }
        }

        fn end(self) {
            drop(self.end);
            self.thread.join().unwrap();
        }
    }

    fn check(thread: &ThreadRef, policy: &str) {
        let asked: Scheduling = policy.parse().unwrap();
        let first: CpuList = thread.cpus().unwrap().iter().take(1).collect();
        assert_eq!(thread.pin(&first), Ok(None));
        assert_eq!(thread.cpus(), Ok(first));
        match thread.schedule(asked).unwrap() {
            None => assert_eq!(thread.scheduling(), Ok(asked)),
            Some(refused) => tactus_testing::skip(
                tactus_testing::Need::Root,
                format!("{policy}: {}", refused.explain_here().reason),
            ),
        }
    }

    #[test]
    fn another_thread_is_set_by_its_number() {
        let other = Other::start();
        check(&ThreadRef::Id(other.id), "batch:5");
        other.end();
    }

    #[test]
    fn another_thread_is_set_to_real_time_by_its_number_as_root() {
        let other = Other::start();
        check(&ThreadRef::Id(other.id), "fifo:3");
        other.end();
    }

    #[test]
    fn another_thread_is_set_to_real_time_by_its_pidfd_as_root() {
        let other = Other::start();
        match PidFd::of_thread(other.id) {
            Ok(descriptor) => check(&ThreadRef::PidFd(descriptor), "rr:2"),
            Err(error) => tactus_testing::skip(
                tactus_testing::Need::Machine,
                format!("threads have no pidfd before Linux 6.9: {error}"),
            ),
        }
        other.end();
    }

    #[test]
    fn a_process_is_set_by_its_pidfd_until_it_has_ended() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let process = ThreadRef::PidFd(PidFd::of_process(child.id()).unwrap());
        check(&process, "batch:5");
        child.kill().unwrap();
        child.wait().unwrap();
        let gone = SysError::new("pidfd", Errno::SRCH);
        assert_eq!(process.schedule(Scheduling::Idle), Err(gone));
        assert_eq!(process.pin(&"0".parse().unwrap()), Err(gone));
    }

    #[test]
    fn a_thread_that_is_not_there_is_an_error_and_not_a_refusal() {
        let nobody = ThreadRef::Id(ThreadId(i32::MAX));
        assert_eq!(nobody.schedule(Scheduling::Idle).unwrap_err().errno, Errno::SRCH);
        assert_eq!(nobody.pin(&"0".parse().unwrap()).unwrap_err().errno, Errno::SRCH);
    }
}
