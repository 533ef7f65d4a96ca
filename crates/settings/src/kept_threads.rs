//! Threads of other programs whose policy a program changes temporarily.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tactus_model::policy::Scheduling;
use tactus_model::recording::ThreadId;
use tactus_model::time::Nanos;
use tactus_sys::cgroup::join;
use tactus_sys::pidfd::PidFd;

use tactus_prepare::ThreadRef;

/// The most threads that a guardian keeps; more are not returned to their policy.
const THREADS_MAX: usize = 1 << 14;

/// The longest wait until the kernel has released the bandwidth of deadline threads: the longest
/// period of the class.
const SETTLE_MAX: Nanos = Nanos::from_micros(1 << 22);

/// A thread and what it returns to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptThread {
    /// The thread, which must exist.
    pub thread: ThreadId,
    /// Its policy.
    pub was: Scheduling,
    /// The directories of its control groups, if they are changed too.
    pub groups: Vec<PathBuf>,
    /// How long the kernel may keep the bandwidth of the thread afterwards; control groups change
    /// after that.
    pub settle: Nanos,
}

/// The threads that a guardian keeps.
#[derive(Default)]
pub(super) struct KeptThreads(Vec<(ThreadRef, KeptThread)>);

impl KeptThreads {
    pub(super) fn keep(&mut self, kept: KeptThread) {
        self.release(kept.thread);
        if self.0.len() < THREADS_MAX {
            // A descriptor refers to the same thread even if its ID is used again. Linux before
            // 6.9 has none for threads.
            let descriptor = PidFd::of_thread(kept.thread).map(ThreadRef::PidFd);
            self.0.push((descriptor.unwrap_or(ThreadRef::Id(kept.thread)), kept));
        }
    }

    pub(super) fn release(&mut self, thread: ThreadId) {
        self.0.retain(|(_, kept)| kept.thread != thread);
    }

    /// Returns all threads to their policies, waits until the kernel has released their bandwidth,
    /// and returns them to their control groups.
    pub(super) fn restore(self) {
        let mut settle = Nanos::ZERO;
        for (thread, kept) in &self.0 {
            // The thread may have ended.
            let _ = thread.put_back(kept.was);
            settle = settle.max(kept.settle.min(SETTLE_MAX));
        }
        std::thread::sleep(Duration::from(settle));
        for (thread, kept) in &self.0 {
            if let Ok(id) = thread.id() {
                kept.groups.iter().for_each(|group| drop(join(group, id)));
            }
        }
    }
}
