//! The threads of clients: which one is meant, and whose it is.

use std::fs;
use std::os::fd::OwnedFd;

use tactus_model::recording::ThreadId;
use tactus_sys::pidfd::PidFd;
use tactus_sys::{Errno, SysError};

/// A thread of a client, by a descriptor, whose ID no other thread can have meanwhile.
#[derive(Debug)]
pub struct Subject {
    descriptor: PidFd,
    id: ThreadId,
    started: Started,
}

/// When a thread started, in the kernel's ticks since boot: with it, an ID means one thread only.
pub type Started = u64;

/// Why a thread is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotASubject {
    /// It has ended, or the client's IDs are not ours.
    #[error("the thread does not exist here; its ID is that of this PID namespace")]
    Missing,
    /// The descriptor is something else.
    #[error(
        "the descriptor is not a pidfd; open one by pidfd_open(2), with PIDFD_THREAD for a thread"
    )]
    NotAPidFd,
    /// It belongs to somebody else.
    #[error("thread {thread} runs as user {runs_as}, and the request is of user {user}")]
    OthersThread {
        /// The thread.
        thread: i32,
        /// One of its users that differs.
        runs_as: u32,
        /// Who requests.
        user: u32,
    },
    /// The system fails.
    #[error("the thread cannot be examined: {0}")]
    System(SysError),
}

impl From<SysError> for NotASubject {
    fn from(error: SysError) -> Self {
        match error.errno {
            Errno::SRCH | Errno::NOENT => Self::Missing,
            Errno::BADF => Self::NotAPidFd,
            _ => Self::System(error),
        }
    }
}

impl Subject {
    /// The thread of a pidfd.
    ///
    /// # Errors
    /// It is no pidfd, or the thread has ended. What is no pidfd comes back: closing it
    /// can wait for whoever made it.
    pub fn of_descriptor(descriptor: OwnedFd) -> Result<Self, (NotASubject, Option<OwnedFd>)> {
        let descriptor = PidFd::from(descriptor);
        match descriptor.id() {
            Ok(_) => Self::of(descriptor).map_err(|error| (error, None)),
            Err(error) => Err((error.into(), Some(descriptor.into()))),
        }
    }

    /// The thread that has this ID now.
    ///
    /// # Errors
    /// There is none, or the kernel is older than 6.9 and it is not the first of its process.
    pub fn of_id(thread: ThreadId) -> Result<Self, NotASubject> {
        let descriptor = match PidFd::of_thread(thread) {
            // Linux before 6.9 has descriptors of first threads only.
            Err(error) if error.errno == Errno::INVAL => {
                PidFd::of_process(thread.0.cast_unsigned())
            }
            opened => opened,
        };
        Self::of(descriptor?)
    }

    fn of(descriptor: PidFd) -> Result<Self, NotASubject> {
        let id = descriptor.id()?;
        let started = started(id)?;
        // The start belongs to this thread only if it still has the ID.
        descriptor.id()?;
        Ok(Self { descriptor, id, started })
    }

    /// The descriptor.
    pub const fn descriptor(&self) -> &PidFd {
        &self.descriptor
    }

    /// The thread's ID.
    pub const fn id(&self) -> ThreadId {
        self.id
    }

    /// When it started.
    pub const fn started(&self) -> Started {
        self.started
    }

    /// Checks that the thread belongs to `user`, by all its IDs: a program that runs with the
    /// rights of another user is not this user's. Root may name any thread.
    ///
    /// # Errors
    /// It belongs to another user, or has ended.
    pub fn check_owner(&self, user: u32) -> Result<(), NotASubject> {
        const FILE: &str = "/proc/PID/status";
        if user == 0 {
            return Ok(());
        }
        let text = read(FILE, format!("/proc/{}/status", self.id.0))?;
        // As before, and for the same reason.
        self.descriptor.id()?;
        let users = text.lines().find_map(|line| line.strip_prefix("Uid:"));
        let users = users.ok_or(SysError::new(FILE, Errno::INVAL))?.split_whitespace();
        let mut others = users.filter_map(|text| text.parse().ok()).filter(|of| *of != user);
        match others.next() {
            Some(runs_as) => Err(NotASubject::OthersThread { thread: self.id.0, runs_as, user }),
            None => Ok(()),
        }
    }

    /// The thread's name; empty if it has ended.
    pub fn name(&self) -> String {
        let name = read("/proc/PID/comm", format!("/proc/{}/comm", self.id.0)).unwrap_or_default();
        name.strip_suffix('\n').unwrap_or(&name).to_owned()
    }
}

/// When the thread with this ID started:
/// [proc_pid_stat(5)](https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html).
///
/// # Errors
/// It does not exist.
pub(crate) fn started(thread: ThreadId) -> Result<Started, SysError> {
    const FILE: &str = "/proc/PID/stat";
    /// The place of `starttime` after the name, which is the second and may contain anything.
    const START_AFTER_NAME: usize = 19;
    let text = read(FILE, format!("/proc/{}/stat", thread.0))?;
    let (_, fields) = text.rsplit_once(')').ok_or(SysError::new(FILE, Errno::INVAL))?;
    let start = fields.split_whitespace().nth(START_AFTER_NAME);
    start.and_then(|start| start.parse().ok()).ok_or(SysError::new(FILE, Errno::INVAL))
}

fn read(name: &'static str, path: String) -> Result<String, SysError> {
    // A thread's name is in some of these files, with any bytes.
    fs::read(path)
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .map_err(SysError::of_io(name))
}
