//! The thread of a request, checked before and after the grant.

use tactus_model::recording::ThreadId;
use tactus_model::time::Nanos;
use tactus_prepare::ThreadRef;
use tactus_sys::identity::{self, Identity};
use tactus_sys::pidfd::PidFd;
use tactus_sys::{Errno, SysError};

use crate::{Caller, Refused};

/// A thread of a process of the caller's user.
///
/// Its descriptors and start times name this thread even if another one gets its ID, so a
/// client cannot have another's thread raised, nor its own after it has changed its user.
#[derive(Debug)]
pub(crate) struct Subject {
    user: u32,
    process: PidFd,
    process_id: ThreadId,
    thread_id: ThreadId,
    started: [u64; 2],
    /// The thread; for kernels without descriptors of threads (before 6.9), its ID.
    pub(crate) thread: ThreadRef,
}

impl Subject {
    /// Finds the thread that a caller means: one of its own process, or of `process`; 0 is the
    /// first thread.
    ///
    /// # Errors
    /// There is no such thread, or it belongs to another user.
    pub(crate) fn find(
        caller: &Caller,
        process: Option<u64>,
        thread: u64,
    ) -> Result<Self, Refused> {
        let named = process.unwrap_or_default();
        let refused = |error| Refused::by_the_kernel(error, named, thread);
        let missing = || Refused::NoSuchThread { process: named, thread };
        let id = |number: u64| i32::try_from(number).map(ThreadId).map_err(|_| missing());
        let process_id = match process {
            Some(process) => id(process)?,
            None => caller.process.id().map_err(refused)?,
        };
        let descriptor = PidFd::of_process(process_id.0.cast_unsigned()).map_err(refused)?;
        let thread_id = if thread == 0 { process_id } else { id(thread)? };
        let thread = match PidFd::of_thread(thread_id) {
            Ok(descriptor) => ThreadRef::PidFd(descriptor),
            Err(SysError { errno: Errno::INVAL, .. }) => ThreadRef::Id(thread_id),
            Err(error) => return Err(refused(error)),
        };
        let [first, own] = [process_id, thread_id].map(|id| identity::of_thread(process_id, id));
        let subject = Self {
            user: caller.user,
            process: descriptor,
            process_id,
            thread_id,
            started: [first.map_err(refused)?.started, own.map_err(refused)?.started],
            thread,
        };
        subject.verify()?;
        Ok(subject)
    }

    /// Checks that the thread is still the one that was found, of the same process and user.
    ///
    /// # Errors
    /// It is not.
    pub(crate) fn verify(&self) -> Result<(), Refused> {
        self.read().map_err(|error| {
            let [process, thread] = [self.process_id, self.thread_id].map(|id| id.0 as u64);
            Refused::by_the_kernel(error, process, thread)
        })?
    }

    fn read(&self) -> Result<Result<(), Refused>, SysError> {
        let users = self.users()?;
        let of_other = |(id, owner): &(ThreadId, u32)| {
            let (thread, owner, caller) = (id.0, *owner, self.user);
            (owner != caller).then_some(Refused::OtherUser { thread, owner, caller })
        };
        Ok(users.iter().find_map(of_other).map_or(Ok(()), Err))
    }

    /// The process and the thread, each with its user now.
    fn users(&self) -> Result<[(ThreadId, u32); 2], SysError> {
        let ended = SysError::new("pidfd", Errno::SRCH);
        let user = |id, started| {
            let now: Identity = identity::of_thread(self.process_id, id)?;
            if now.started == started { Ok((id, now.user)) } else { Err(ended) }
        };
        let [process, thread] = self.started;
        let users = [user(self.process_id, process)?, user(self.thread_id, thread)?];
        // Last: while the descriptors have these IDs, what was read above was theirs.
        let same = self.process.id()? == self.process_id && self.thread.id()? == self.thread_id;
        if same { Ok(users) } else { Err(ended) }
    }

    /// Whether it has not ended; it may have another user by now.
    pub(crate) fn lives(&self) -> bool {
        self.users().is_ok()
    }

    /// Checks the limit of the process on real-time work.
    ///
    /// # Errors
    /// It is above `most`, or the process has ended.
    pub(crate) fn verify_limit(&self, most: Nanos) -> Result<(), Refused> {
        let process = self.process_id.0;
        let limit = identity::realtime_limit(self.process_id).map_err(|error| {
            Refused::by_the_kernel(error, process as u64, self.thread_id.0 as u64)
        })?;
        match limit {
            Some(limit) if limit <= most => Ok(()),
            limit => Err(Refused::RealtimeLimit { process, limit, most }),
        }
    }

    /// Whether both are the same thread.
    pub(crate) fn is(&self, other: &Self) -> bool {
        (self.thread_id, self.started) == (other.thread_id, other.started)
    }

    /// The ID of the process and the ID of the thread.
    pub(crate) const fn ids(&self) -> (ThreadId, ThreadId) {
        (self.process_id, self.thread_id)
    }

    /// What names the process for as long as the machine runs.
    pub(crate) const fn process(&self) -> (ThreadId, u64) {
        (self.process_id, self.started[0])
    }

    pub(crate) const fn user(&self) -> u32 {
        self.user
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(user: u32) -> Caller {
        Caller { user, groups: Vec::new(), process: PidFd::of_process(std::process::id()).unwrap() }
    }

    fn own_user() -> u32 {
        tactus_sys::process::effective_user()
    }

    #[test]
    fn a_thread_of_the_caller_is_found_and_verified_until_it_ends() {
        let thread = tactus_testing::Sleeper::start(tactus_sys::thread::current_id);
        let id = thread.id.0 as u64;
        let subject = Subject::find(&caller(own_user()), None, id).unwrap();
        assert_eq!(subject.verify(), Ok(()));
        let first = Subject::find(&caller(own_user()), None, 0).unwrap();
        assert!(first.is(&first) && !first.is(&subject));
        drop(thread);
        assert!(matches!(subject.verify(), Err(Refused::NoSuchThread { .. })));
    }

    #[test]
    fn threads_of_others_are_refused() {
        let stranger = own_user() + 1;
        let refused = Subject::find(&caller(stranger), None, 0).unwrap_err();
        assert!(matches!(refused, Refused::OtherUser { .. }), "{refused}");
        for (process, thread) in [(None, u64::MAX), (Some(u64::MAX), 0), (Some(0), 0), (None, 1)] {
            let refused = Subject::find(&caller(own_user()), process, thread).unwrap_err();
            assert!(matches!(refused, Refused::NoSuchThread { .. }), "{process:?} {thread}");
        }
    }

    #[test]
    fn a_process_without_a_limit_is_refused() {
        let subject = Subject::find(&caller(own_user()), None, 0).unwrap();
        let limited = identity::realtime_limit(subject.process_id).unwrap();
        assert_eq!(subject.verify_limit(Nanos::from_millis(200)).is_ok(), limited.is_some());
    }
}
