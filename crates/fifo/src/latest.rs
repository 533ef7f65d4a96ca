//! The two ends of a shared block: the latest value, never a mixture of two.
//!
//! The writer writes values in turn into four slots. A reader copies the latest and looks whether
//! the writer has come around to that slot meanwhile. It gives up after a few attempts, so no
//! writer can hold it.

use std::marker::PhantomData;
use std::sync::atomic::{Ordering, fence};

use tactus_sys::peer_memory::{ReadableWords, WritableWords};

use crate::layout::{BLOCK_SLOTS, Layout, writer};
use crate::{Element, element, index};

/// How often a reader copies before it gives up.
const ATTEMPTS: usize = 4;

/// The slot of the value with this count.
const fn slot(count: u64) -> usize {
    (count % BLOCK_SLOTS as u64) as usize
}

/// The end that writes values.
#[derive(Debug)]
pub(crate) struct LatestWriter<T> {
    own: WritableWords,
    layout: Layout,
    count: u64,
    items: PhantomData<fn(T)>,
}

impl<T: Element> LatestWriter<T> {
    pub const fn new(own: WritableWords, layout: Layout) -> Self {
        Self { own, layout, count: 0, items: PhantomData }
    }

    pub fn write(&mut self, value: &T) {
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
pub(crate) enum Latest<T> {
    /// A value, and how many had been written with it.
    Value(u64, T),
    /// The writer has written none.
    Empty,
    /// The writer was faster in each attempt.
    Busy,
}

/// Reads the latest value.
pub(crate) fn read<T: Element>(peer: &ReadableWords, layout: Layout) -> Latest<T> {
    let mut count = peer.load(writer::WRITTEN);
    for _ in 0..ATTEMPTS {
        if count == 0 {
            return Latest::Empty;
        }
        let value = element::read(peer, layout, slot(count));
        fence(Ordering::Acquire);
        let after = peer.load(writer::WRITTEN);
        if index::is_whole(count, after) {
            return Latest::Value(count, value);
        }
        count = after;
    }
    Latest::Busy
}
