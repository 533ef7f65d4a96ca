//! What every copy has achieved, in memory that all processes of a load share.

use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU64, Ordering};

use tactus_sys::SysError;
use tactus_sys::shared_memory::SharedWords;

/// Words of a copy: two cache lines of 64 bytes. CPUs prefetch lines in pairs, and the
/// counters of one copy must not slow another copy.
const WORDS_PER_COPY: usize = 16;
const OPERATIONS: usize = 0;
const BYTES: usize = 1;
const STATE: usize = 2;
const OTHERS: usize = 3;

/// How many counters a copy may have besides operations and bytes.
pub(crate) const OTHERS_MAX: usize = 4;

/// The state of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It has not achieved anything yet.
    Starting,
    /// It has finished its first operation.
    Running,
    /// It has ended by itself.
    Ended,
}

/// The counters of all copies.
///
/// Counts wrap after 2⁶⁴ operations or bytes, which no load reaches.
#[derive(Debug)]
pub(crate) struct Counters(SharedWords);

impl Counters {
    /// Creates counters for `copies` copies, all zero.
    pub(crate) fn create(copies: u32) -> Result<Self, SysError> {
        SharedWords::create(words(copies)).map(Self)
    }

    /// Finds the counters that the parent process left open for us, still inheritable.
    pub(crate) fn inherit(file: RawFd, copies: u32) -> Result<Self, SysError> {
        SharedWords::inherit(file, words(copies)).map(Self)
    }

    /// The number of the file by which a child inherits the counters.
    pub(crate) fn file(&self) -> RawFd {
        self.0.file()
    }

    /// Sets whether a child inherits the counters.
    pub(crate) fn set_inheritable(&self, inheritable: bool) -> Result<(), SysError> {
        self.0.set_inheritable(inheritable)
    }

    /// The counters of one copy.
    pub(crate) fn copy(&self, copy: u32) -> CopyCounters<'_> {
        let first = words(copy);
        CopyCounters(&self.0.words()[first..first + WORDS_PER_COPY])
    }
}

const fn words(copies: u32) -> usize {
    copies as usize * WORDS_PER_COPY
}

/// The counters of one copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopyCounters<'c>(&'c [AtomicU64]);

impl CopyCounters<'_> {
    /// Counts what the copy has done.
    pub(crate) fn add(self, operations: u64, bytes: u64) {
        self.0[OPERATIONS].fetch_add(operations, Ordering::Relaxed);
        self.0[BYTES].fetch_add(bytes, Ordering::Relaxed);
    }

    /// Operations so far.
    pub(crate) fn operations(self) -> u64 {
        self.0[OPERATIONS].load(Ordering::Relaxed)
    }

    /// Bytes so far.
    pub(crate) fn bytes(self) -> u64 {
        self.0[BYTES].load(Ordering::Relaxed)
    }

    /// Adds to another counter, given by its number.
    pub(crate) fn add_other(self, number: usize, count: u64) {
        debug_assert!(number < OTHERS_MAX);
        self.0[OTHERS + number].fetch_add(count, Ordering::Relaxed);
    }

    /// Another counter so far, given by its number.
    pub(crate) fn other(self, number: usize) -> u64 {
        debug_assert!(number < OTHERS_MAX);
        self.0[OTHERS + number].load(Ordering::Relaxed)
    }

    /// The state of the copy.
    pub(crate) fn state(self) -> State {
        match self.0[STATE].load(Ordering::Acquire) {
            0 => State::Starting,
            1 => State::Running,
            _ => State::Ended,
        }
    }

    /// Sets the state of the copy.
    pub(crate) fn set_state(self, state: State) {
        self.0[STATE].store(state as u64, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_count_apart() {
        let counters = Counters::create(3).unwrap();
        counters.copy(2).add(5, 70);
        counters.copy(2).add(1, 0);
        counters.copy(2).add_other(1, 9);
        counters.copy(0).set_state(State::Running);
        counters.copy(1).set_state(State::Ended);
        let seen = [0, 1, 2]
            .map(|copy| counters.copy(copy))
            .map(|copy| (copy.operations(), copy.bytes(), copy.state()));
        assert_eq!([0, 1].map(|number| counters.copy(2).other(number)), [0, 9]);
        assert_eq!(seen, [(0, 0, State::Running), (0, 0, State::Ended), (6, 70, State::Starting)]);
    }
}
