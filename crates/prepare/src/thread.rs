//! A thread that gets a policy and CPUs.

use std::path::Path;

use tactus_model::cpus::CpuList;
use tactus_model::policy::Scheduling;
use tactus_model::recording::ThreadId;
use tactus_sys::pidfd::PidFd;
use tactus_sys::{SysError, affinity, facts, sched};

use crate::not_granted::NotGranted;
use crate::schedule::{self, SchedulingCalls};

/// A thread that gets a policy and CPUs.
///
/// Setting another user's thread requires `CAP_SYS_NICE`. The limits of another thread are
/// assumed to be those of this process; if they are lower, more fallbacks are tried.
#[derive(Debug)]
pub enum ThreadRef {
    /// The calling thread.
    Calling,
    /// The thread with this ID.
    ///
    /// After its end the kernel may give its ID to another thread, which is then set instead.
    /// Use this for threads that the program itself keeps alive, and
    /// [`PidFd`](Self::PidFd) for others.
    Id(ThreadId),
    /// The thread of this descriptor; for a process, its first thread.
    ///
    /// The kernel has no call that sets a thread by its descriptor. So the descriptor is
    /// resolved to an ID before each call and again after it. If the ID is the same, no other
    /// thread had it meanwhile. Otherwise the error is `ESRCH`: the thread ended, and was
    /// waited for, during the call. One race remains: another thread is set if it gets the
    /// same ID within that call. The kernel assigns IDs in turn, so all other IDs would have to
    /// be used up within the call.
    PidFd(PidFd),
}

impl ThreadRef {
    /// Gives the thread a policy, or else the best permitted policy, which the result names.
    ///
    /// Nothing is requested from the kernel if the thread has the policy already.
    ///
    /// # Errors
    /// The thread does not exist, or the kernel does not show its settings.
    pub fn schedule(&self, asked: Scheduling) -> Result<Option<NotGranted>, SysError> {
        schedule::schedule(self, asked, || facts::read(Path::new("/")))
    }

    /// Gives the thread exactly this policy. If the kernel refuses, the thread keeps its policy,
    /// which the result names.
    ///
    /// # Errors
    /// The thread does not exist, or the kernel does not show its settings.
    pub fn schedule_exactly(&self, asked: Scheduling) -> Result<Option<NotGranted>, SysError> {
        schedule::schedule_exactly(self, asked)
    }

    /// Like [`schedule_exactly`](Self::schedule_exactly); the threads and processes that the thread
    /// creates get the ordinary class.
    ///
    /// A thread of the deadline class can create others only in this way. The kernel is asked even
    /// if the thread has the policy already.
    ///
    /// # Errors
    /// The thread does not exist, or the kernel does not show its settings.
    #[doc(alias = "SCHED_FLAG_RESET_ON_FORK")]
    pub fn schedule_alone(&self, asked: Scheduling) -> Result<Option<NotGranted>, SysError> {
        let set = || sched::set_alone(asked);
        let refused = self.by_id(set, |thread| sched::set_of_alone(thread, asked)).err();
        refused.map(|refusal| schedule::not_granted(self, asked, refusal)).transpose()
    }

    /// Returns the thread to the policy that it had before
    /// [`schedule_alone`](Self::schedule_alone).
    ///
    /// Without `CAP_SYS_NICE`, the threads that it creates still get the ordinary class.
    ///
    /// # Errors
    /// The thread does not exist, or the kernel does not show its settings.
    pub fn put_back(&self, before: Scheduling) -> Result<Option<NotGranted>, SysError> {
        match self.schedule_exactly(before)? {
            None => Ok(None),
            Some(_) => self.schedule_alone(before),
        }
    }

    /// The thread's ID.
    ///
    /// # Errors
    /// `ESRCH`: the thread of the descriptor has ended and was waited for.
    pub fn id(&self) -> Result<ThreadId, SysError> {
        match self {
            Self::Calling => Ok(tactus_sys::thread::current_id()),
            Self::Id(thread) => Ok(*thread),
            Self::PidFd(descriptor) => descriptor.id(),
        }
    }

    /// Confines the thread to `cpus`. If the kernel refuses, the thread keeps its CPUs.
    ///
    /// # Errors
    /// The thread does not exist, or the kernel does not show its settings.
    pub fn pin(&self, cpus: &CpuList) -> Result<Option<NotGranted>, SysError> {
        schedule::pin(self, cpus)
    }

    /// The thread's policy.
    ///
    /// # Errors
    /// The thread does not exist, or its class is unknown here (`ENOTSUP`).
    pub fn scheduling(&self) -> Result<Scheduling, SysError> {
        self.by_id(sched::get, sched::get_of)
    }

    /// The CPUs on which the thread may run.
    ///
    /// # Errors
    /// The thread does not exist.
    pub fn cpus(&self) -> Result<CpuList, SysError> {
        self.by_id(affinity::get, affinity::get_of)
    }

    /// Calls `calling` for the calling thread, or `other` with the ID of another thread.
    fn by_id<T>(
        &self,
        calling: impl FnOnce() -> Result<T, SysError>,
        other: impl FnOnce(ThreadId) -> Result<T, SysError>,
    ) -> Result<T, SysError> {
        match self {
            Self::Calling => calling(),
            Self::Id(thread) => other(*thread),
            Self::PidFd(descriptor) => {
                let result = other(descriptor.id()?);
                descriptor.id()?;
                result
            }
        }
    }
}

impl SchedulingCalls for ThreadRef {
    fn scheduling(&self) -> Result<Scheduling, SysError> {
        self.scheduling()
    }

    fn set_scheduling(&self, scheduling: Scheduling) -> Result<(), SysError> {
        self.by_id(|| sched::set(scheduling), |thread| sched::set_of(thread, scheduling))
    }

    fn cpus(&self) -> Result<CpuList, SysError> {
        self.cpus()
    }

    fn set_cpus(&self, cpus: &CpuList) -> Result<(), SysError> {
        self.by_id(|| affinity::set(cpus), |thread| affinity::set_of(thread, cpus))
    }
}

#[cfg(test)]
mod tests {
    use tactus_sys::Errno;
    use tactus_testing::Sleeper;

    use super::*;

    fn other() -> Sleeper<ThreadId> {
        Sleeper::start(tactus_sys::thread::current_id)
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
    fn another_thread_is_set_by_its_id() {
        let other = other();
        check(&ThreadRef::Id(other.id), "batch:5");
    }

    #[test]
    fn another_thread_is_set_to_real_time_by_its_id_as_root() {
        let other = other();
        check(&ThreadRef::Id(other.id), "fifo:3");
    }

    #[test]
    fn another_thread_is_set_to_real_time_by_its_pidfd_as_root() {
        let other = other();
        match PidFd::of_thread(other.id) {
            Ok(descriptor) => check(&ThreadRef::PidFd(descriptor), "rr:2"),
            Err(error) => tactus_testing::skip(
                tactus_testing::Need::Machine,
                format!("a pidfd of a thread requires Linux 6.9: {error}"),
            ),
        }
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
    fn a_missing_thread_is_an_error_and_not_a_refusal() {
        let nobody = ThreadRef::Id(ThreadId(i32::MAX));
        assert_eq!(nobody.schedule(Scheduling::Idle).unwrap_err().errno, Errno::SRCH);
        assert_eq!(nobody.pin(&"0".parse().unwrap()).unwrap_err().errno, Errno::SRCH);
    }
}
