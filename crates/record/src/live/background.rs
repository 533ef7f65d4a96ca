//! A reader that runs while no other thread wants the CPU, as long as it keeps up.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use tactus_model::policy::Scheduling;
use tactus_model::recording::ThreadId;
use tactus_sys::sched;

/// The reader's policy while it keeps up: any other thread that wakes takes its CPU at once.
const KEEPING_UP: Scheduling = Scheduling::Idle;

/// The reader's policy while it is behind.
const BEHIND: Scheduling = Scheduling::Other { nice: 5 };

/// The number of waiting parcels from which the reader is behind. At most that number of drains pass
/// before an event is read.
const MANY: u32 = 4;

/// The number of waiting parcels from which the reader makes no pauses.
const TOO_MANY: u32 = 4 * MANY;

/// The policy of the thread that reads copies, as the reader and the sender of the copies set it.
#[derive(Debug, Default)]
pub(super) struct Background {
    thread: OnceLock<ThreadId>,
    /// The parcels that the reader has not taken.
    waiting: AtomicU32,
    ended: AtomicBool,
}

impl Background {
    /// Makes the calling thread the reader.
    pub(super) fn enter(&self) {
        if may_return() {
            // There is one reader.
            let _ = self.thread.set(tactus_sys::thread::current_id());
            // Allowed for every thread.
            let _ = sched::set(KEEPING_UP);
        } else {
            let _ = sched::set(BEHIND);
        }
    }

    /// Takes that the sender sends a parcel; before it does.
    pub(super) fn sent(&self) {
        let waiting = self.waiting.fetch_add(1, Ordering::Relaxed) + 1;
        if waiting.is_multiple_of(MANY) {
            self.raise();
        }
    }

    /// Takes that the reader has taken a parcel and everything before it.
    pub(super) fn took(&self) {
        let was_last = self.waiting.fetch_sub(1, Ordering::Relaxed) == 1;
        if was_last && self.thread.get().is_some() && !self.ended.load(Ordering::Relaxed) {
            let _ = sched::set(KEEPING_UP);
        }
    }

    /// Whether the reader has time for pauses.
    pub(super) fn has_time(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) < TOO_MANY && !self.ended.load(Ordering::Relaxed)
    }

    /// Takes that the recording has ended: somebody waits for the reader.
    pub(super) fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
        self.raise();
    }

    fn raise(&self) {
        if let Some(thread) = self.thread.get() {
            // It may have ended.
            let _ = sched::set_of(*thread, BEHIND);
        }
    }
}

/// Whether a thread of this process may leave the policy again. A thread of its own finds out:
/// where it is refused, it keeps the policy.
fn may_return() -> bool {
    let attempt = || sched::set(KEEPING_UP).and_then(|()| sched::set(BEHIND)).is_ok();
    std::thread::spawn(attempt).join().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_is_far_behind_or_awaited_makes_no_pauses() {
        let background = Background::default();
        (1..TOO_MANY).for_each(|_| background.sent());
        assert!(background.has_time());
        background.sent();
        assert!(!background.has_time());
        background.took();
        assert!(background.has_time());
        background.end();
        assert!(!background.has_time());
    }
}
