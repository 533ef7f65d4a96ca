//! The two ends of a shared block: the latest value, never a mixture of two.
//!
//! The writer writes values in turn into four slots. A reader copies the latest and looks whether
//! the writer has come around to that slot meanwhile. It gives up after a few attempts, so no
//! writer can hold it.

use std::sync::atomic::{Ordering, fence};

use tactus_sys::peer_memory::{ReadableWords, WritableWords};

use crate::layout::{BLOCK_SLOTS, Layout, writer};
use crate::{element, index};

/// How often a reader copies before it gives up.
const ATTEMPTS: usize = 4;

/// The slot of the value with this count.
const fn slot(count: u64) -> usize {
    (count % BLOCK_SLOTS as u64) as usize
}

/// The end that writes values.
#[derive(Debug)]
pub(crate) struct LatestWriter {
    own: WritableWords,
    layout: Layout,
    count: u64,
}

impl LatestWriter {
    pub const fn new(own: WritableWords, layout: Layout) -> Self {
        Self { own, layout, count: 0 }
    }

    pub fn write(&mut self, value: &[u8]) {
        self.count += 1;
        // A reader that sees a part of this value sees the count before it too.
        fence(Ordering::Release);
        element::write(&self.own, self.layout, slot(self.count), value);
        self.own.words()[writer::WRITTEN].store(self.count, Ordering::Release);
    }

    /// Shows that nothing follows.
    pub fn close(&self) {
        self.own.words()[writer::CLOSED].store(1, Ordering::Release);
    }
}

/// What a reader of a block found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// A value.
    Value,
    /// The writer has written none.
    Nothing,
    /// The writer was faster in each attempt.
    Busy,
}

/// The end that reads values, and keeps the latest.
#[derive(Debug)]
pub(crate) struct LatestReader {
    layout: Layout,
    value: Box<[u8]>,
    has_value: bool,
    /// What is being read, which may be no whole value.
    draft: Box<[u8]>,
    busy: u64,
}

impl LatestReader {
    pub fn new(layout: Layout) -> Self {
        let [value, draft] = [(); 2].map(|()| vec![0; layout.bytes].into());
        Self { layout, value, has_value: false, draft, busy: 0 }
    }

    /// Reads the latest value.
    pub fn refresh(&mut self, peer: &ReadableWords) {
        match self.read(peer) {
            Found::Value => {
                std::mem::swap(&mut self.value, &mut self.draft);
                self.has_value = true;
            }
            Found::Nothing => {}
            Found::Busy => self.busy += 1,
        }
    }

    fn read(&mut self, peer: &ReadableWords) -> Found {
        let mut count = peer.load(writer::WRITTEN);
        for _ in 0..ATTEMPTS {
            if count == 0 {
                return Found::Nothing;
            }
            element::read(peer, self.layout, slot(count), &mut self.draft);
            fence(Ordering::Acquire);
            let after = peer.load(writer::WRITTEN);
            if index::is_whole(count, after) {
                return Found::Value;
            }
            count = after;
        }
        Found::Busy
    }

    /// The value of the last refresh that found one.
    pub fn value(&self) -> Option<&[u8]> {
        self.has_value.then_some(&*self.value)
    }

    /// How often the writer was too fast for a copy.
    pub const fn busy(&self) -> u64 {
        self.busy
    }
}
