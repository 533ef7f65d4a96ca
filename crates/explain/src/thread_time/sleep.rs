//! What a thread sleeps for, in words.

use std::fmt;

use serde::{Deserialize, Serialize};
use tactus_model::recording::LockKind;

/// Why a thread sleeps, and in which system call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Sleep {
    /// What it waits for.
    #[serde(flatten)]
    pub reason: SleepReason,
    /// The system call, by the kernel's name; `None` outside of system calls, or if it is not
    /// known.
    pub call: Option<String>,
}

/// What a sleeping thread waits for.
///
/// `Display` gives the phrase that tables show.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum SleepReason {
    /// A timer of its own, or the timeout of a call.
    Timer,
    /// A kernel thread waits for work.
    IdleKernelThread,
    /// A futex(2): a lock, a condition variable, or a semaphore of the program.
    Futex {
        /// Whether the lock inherits priorities (`FUTEX_LOCK_PI`).
        inherits: bool,
    },
    /// Data or room in a pipe.
    Pipe,
    /// A socket: data, room, or a connection.
    Socket,
    /// An event of several files (poll(2), select(2), epoll(7)), or of an eventfd.
    Poll,
    /// A completion of io_uring(7).
    IoUring,
    /// A signal.
    Signal,
    /// A child process.
    Child,
    /// Input from a terminal.
    Terminal,
    /// A lock of a file (flock(2), fcntl(2)).
    FileLock,
    /// Input or output of a block device.
    BlockIo,
    /// A page fault that reads from a device.
    PageFault {
        /// What is read.
        backing: Backing,
    },
    /// Memory reclaim: the kernel frees memory in the thread's time.
    Reclaim,
    /// Memory compaction: the kernel moves pages in the thread's time.
    Compaction,
    /// Dirty page throttling: the thread writes faster than the device.
    DirtyThrottling,
    /// A lock of the kernel.
    KernelLock {
        /// Its kind.
        lock: KernelLock,
        /// The function that takes it, if a call chain shows it.
        site: Option<String>,
    },
    /// A signal or a tracer stopped the thread.
    Stopped,
    /// The freezer stopped the thread: suspend, or a control group.
    Frozen,
    /// The thread waits in this function of the kernel, which has no class.
    KernelFunction {
        /// The function.
        function: String,
    },
    /// The thread waits in its system call; what for is not known.
    SystemCall,
    /// Not known.
    Unknown,
}

/// What a page fault reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backing {
    /// A mapped file.
    File,
    /// Swap.
    Swap,
    /// Not known.
    Unknown,
}

/// The kind of a kernel lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KernelLock {
    /// A mutex, also one with priority inheritance.
    Mutex,
    /// A read-write semaphore.
    Rwsem,
    /// A semaphore.
    Semaphore,
}

impl KernelLock {
    /// The kind that the kernel's events give.
    pub(super) fn of(kind: LockKind) -> Self {
        match kind.word() {
            "mutex" | "rt-mutex" => Self::Mutex,
            "semaphore" => Self::Semaphore,
            _ => Self::Rwsem,
        }
    }
}

impl SleepReason {
    /// Whether the thread sleeps because it chose to, not because something is missing.
    pub const fn is_choice(&self) -> bool {
        matches!(self, Self::Timer | Self::IdleKernelThread)
    }

    /// Whether this is how programs wait for the next thing to do. Such a sleep may be long
    /// without harm.
    pub const fn is_wait_for_work(&self) -> bool {
        match self {
            Self::Timer
            | Self::IdleKernelThread
            | Self::Futex { .. }
            | Self::Pipe
            | Self::Socket
            | Self::Poll
            | Self::IoUring
            | Self::Signal
            | Self::Child
            | Self::Terminal
            | Self::Stopped
            | Self::Frozen
            | Self::SystemCall
            | Self::KernelFunction { .. }
            | Self::Unknown => true,
            Self::FileLock
            | Self::BlockIo
            | Self::PageFault { .. }
            | Self::Reclaim
            | Self::Compaction
            | Self::DirtyThrottling
            | Self::KernelLock { .. } => false,
        }
    }

    /// Whether a timer that ends the sleep is the thread's own timeout; in the other reasons
    /// the kernel sets timers that the thread did not ask for.
    pub(super) const fn may_time_out(&self) -> bool {
        matches!(
            self,
            Self::Timer
                | Self::Futex { .. }
                | Self::Pipe
                | Self::Socket
                | Self::Poll
                | Self::IoUring
                | Self::Signal
                | Self::SystemCall
                | Self::Unknown
        )
    }

    /// Whether the thread waits for a lock, which one thread holds.
    pub const fn is_lock(&self) -> bool {
        matches!(self, Self::Futex { .. } | Self::KernelLock { .. } | Self::FileLock)
    }
}

impl fmt::Display for SleepReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timer => f.write_str("its own timer"),
            Self::IdleKernelThread => f.write_str("work (idle kernel thread)"),
            Self::Futex { inherits: false } => f.write_str("futex"),
            Self::Futex { inherits: true } => f.write_str("futex with priority inheritance"),
            Self::Pipe => f.write_str("pipe"),
            Self::Socket => f.write_str("socket"),
            Self::Poll => f.write_str("poll"),
            Self::IoUring => f.write_str("io_uring"),
            Self::Signal => f.write_str("signal"),
            Self::Child => f.write_str("child process"),
            Self::Terminal => f.write_str("terminal"),
            Self::FileLock => f.write_str("file lock"),
            Self::BlockIo => f.write_str("block I/O"),
            Self::PageFault { backing: Backing::File } => f.write_str("page fault (file)"),
            Self::PageFault { backing: Backing::Swap } => f.write_str("page fault (swap)"),
            Self::PageFault { backing: Backing::Unknown } => f.write_str("page fault"),
            Self::Reclaim => f.write_str("memory reclaim"),
            Self::Compaction => f.write_str("memory compaction"),
            Self::DirtyThrottling => f.write_str("dirty page throttling"),
            Self::KernelLock { lock, site: Some(site) } => write!(f, "{lock} in {site}"),
            Self::KernelLock { lock, site: None } => lock.fmt(f),
            Self::Stopped => f.write_str("stopped by a signal"),
            Self::Frozen => f.write_str("frozen"),
            Self::KernelFunction { function } => write!(f, "kernel function {function}"),
            Self::SystemCall => f.write_str("system call"),
            Self::Unknown => f.write_str("unknown"),
        }
    }
}

impl fmt::Display for KernelLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mutex => "kernel mutex",
            Self::Rwsem => "kernel rwsem",
            Self::Semaphore => "kernel semaphore",
        })
    }
}

impl fmt::Display for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Futexes and poll(2) have the name of their call.
        let reason = self.reason.to_string();
        match self.call.as_ref().filter(|call| !reason.starts_with(call.as_str())) {
            Some(call) => write!(f, "{}, in {call}", self.reason),
            None => self.reason.fmt(f),
        }
    }
}
