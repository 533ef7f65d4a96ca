//! The two ends of a ring in shared memory. The same code serves both processes.

use std::sync::atomic::{AtomicU64, Ordering, fence};

use tactus_sys::peer_memory::{ReadableWords, WritableWords};

use crate::index::{ReadIndex, WriteIndex};
use crate::layout::{Layout, reader, writer};
use crate::{Full, Received, element};

/// The end that writes items, into memory that only its process writes.
#[derive(Debug)]
pub(crate) struct RingWriter {
    own: WritableWords,
    pub layout: Layout,
    pub index: WriteIndex,
}

impl RingWriter {
    pub const fn new(own: WritableWords, layout: Layout) -> Self {
        let index = WriteIndex::new(layout.capacity as u64);
        Self { own, layout, index }
    }

    /// Looks at the index that the reader shows.
    pub fn look(&mut self, shown: u64) {
        let before = self.index.freed();
        if self.index.look(shown) && self.index.freed() != before {
            self.own.words()[writer::FREED].store(self.index.freed(), Ordering::Relaxed);
        }
    }

    /// Writes an item if there is room as of the last look.
    pub fn push(&mut self, item: &[u8]) -> Result<(), Full> {
        let Some(slot) = self.index.claim() else {
            self.own.words()[writer::REFUSED].store(self.index.refused(), Ordering::Relaxed);
            return Err(Full);
        };
        // A reader that sees a part of this item sees `FREED` of the last look too.
        fence(Ordering::Release);
        element::write(&self.own, self.layout, slot, item);
        self.own.words()[writer::WRITTEN].store(self.index.publish(), Ordering::Release);
        Ok(())
    }

    /// Whether the reader waits for notice of the item that was just pushed.
    pub fn reader_waits(&self, peer: &ReadableWords) -> bool {
        // Either this sees that the reader waits, or the reader sees the item before it waits.
        fence(Ordering::SeqCst);
        peer.load(self.layout.reader(reader::WAITS)) != 0
    }

    /// Shows that nothing follows.
    pub fn close(&self) {
        self.own.words()[writer::CLOSED].store(1, Ordering::Release);
    }
}

/// What is lost if nobody reads what a writer has written to `peer`.
pub(crate) fn unread(peer: &ReadableWords, layout: Layout) -> Received {
    let mut index = ReadIndex::starting_at(0, layout.capacity as u64);
    look(&mut index, peer);
    let found = Received::of(&index);
    Received { lost: found.lost.saturating_add(found.available), available: 0, ..found }
}

fn look(index: &mut ReadIndex, peer: &ReadableWords) {
    index.skip_to(peer.load(writer::FREED));
    index.look(peer.load(writer::WRITTEN));
}

/// The end that reads items; its index is in memory that only its process writes.
#[derive(Debug)]
pub(crate) struct RingReader {
    own: WritableWords,
    layout: Layout,
    pub index: ReadIndex,
    waits: bool,
}

impl RingReader {
    /// Reads from item `start` on.
    pub const fn new(own: WritableWords, layout: Layout, start: u64) -> Self {
        let index = ReadIndex::starting_at(start, layout.capacity as u64);
        Self { own, layout, index, waits: false }
    }

    /// Looks at the indices of the writer whose memory is `peer`.
    pub fn look(&mut self, peer: &ReadableWords) {
        look(&mut self.index, peer);
    }

    /// Takes the next item, if there is one.
    pub fn pop(&mut self, peer: &ReadableWords, item: &mut [u8]) -> bool {
        self.look(peer);
        self.pop_seen(peer, item)
    }

    /// Takes the next item as of the last look.
    pub fn pop_seen(&mut self, peer: &ReadableWords, item: &mut [u8]) -> bool {
        // A writer that lets itself be misled overwrites items while they are read; the second
        // attempt begins behind them.
        for _ in 0..2 {
            let Some(slot) = self.index.next() else { return false };
            element::read(peer, self.layout, slot, item);
            fence(Ordering::Acquire);
            if !self.index.skip_to(peer.load(writer::FREED)) {
                let read = self.index.advance();
                self.show(read);
                self.set_waits(false);
                return true;
            }
            self.show(self.index.read());
        }
        false
    }

    fn own_word(&self, word: usize) -> &AtomicU64 {
        &self.own.words()[self.layout.reader(word)]
    }

    fn show(&self, index: u64) {
        self.own_word(reader::READ).store(index, Ordering::Release);
    }

    /// Requests notice of the next item. Returns whether one is there already.
    pub fn request_notice(&mut self, peer: Option<&ReadableWords>) -> bool {
        self.set_waits(true);
        fence(Ordering::SeqCst);
        peer.is_some_and(|peer| {
            self.look(peer);
            self.index.available() > 0
        })
    }

    fn set_waits(&mut self, waits: bool) {
        if self.waits != waits {
            self.waits = waits;
            self.own_word(reader::WAITS).store(waits.into(), Ordering::Relaxed);
        }
    }

    /// Begins with the first item of another writer.
    pub fn restart(&mut self, session: u64) {
        self.index = ReadIndex::starting_at(0, self.layout.capacity as u64);
        self.show(0);
        self.own_word(reader::SESSION).store(session, Ordering::Release);
    }

    /// Shows that nobody reads any more.
    pub fn close(&self) {
        self.own_word(reader::CLOSED).store(1, Ordering::Release);
    }
}
