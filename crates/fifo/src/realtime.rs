//! The real-time side: what a thread with deadlines calls.

use std::sync::Arc;

use tactus_model::time::{Instant, Monotonic};
use tactus_sys::SysError;
use tactus_sys::private_futex::Signal;

use crate::bell::Cord;
use crate::handover::{Handover, Peer};
use crate::latest::{self, Latest, LatestWriter};
use crate::layout::{Layout, reader};
use crate::ring::{RingReader, RingWriter};
use crate::{Element, Full, Received, Sent};

/// Writes items that an ordinary process reads.
///
/// A push copies the item and, if the reader waits, wakes the broker by a private futex. It takes
/// no lock, waits for nothing, and never touches memory that a peer can take away.
#[derive(Debug)]
pub struct Sender<T: Element> {
    ring: RingWriter<T>,
    peer: Option<Peer>,
    handover: Arc<Handover>,
    cord: Cord,
}

impl<T: Element> Sender<T> {
    pub(crate) const fn new(ring: RingWriter<T>, handover: Arc<Handover>, cord: Cord) -> Self {
        Self { ring, peer: None, handover, cord }
    }

    /// Pushes an item.
    ///
    /// # Errors
    /// The ring is full, because the reader is slow or there is none. The refusal is counted.
    pub fn try_push(&mut self, item: &T) -> Result<(), Full> {
        if self.handover.is_offered() {
            self.look();
            self.handover.take(&mut self.peer);
        }
        self.look();
        self.ring.push(item)?;
        if self.peer.as_ref().is_some_and(|peer| self.ring.reader_waits(&peer.words)) {
            self.cord.pull();
        }
        Ok(())
    }

    /// Looks at the reader's index.
    fn look(&mut self) {
        if let Some(peer) = &self.peer {
            self.ring.look(peer.words.load(reader::READ));
        }
    }

    /// What became of the items.
    pub const fn counts(&self) -> Sent {
        Sent::of(&self.ring.index)
    }
}

impl<T: Element> Drop for Sender<T> {
    fn drop(&mut self) {
        self.ring.close();
        self.cord.pull();
    }
}

/// Reads items that an ordinary process writes.
#[derive(Debug)]
pub struct Receiver<T: Element> {
    ring: RingReader<T>,
    peer: Option<Peer>,
    handover: Arc<Handover>,
    arrivals: Arc<Signal>,
    /// The next peer is there; only what the present one has written by then still counts.
    is_last: bool,
    /// Of the peers before this one.
    before: Received,
}

impl<T: Element> Receiver<T> {
    pub(crate) const fn new(
        ring: RingReader<T>,
        handover: Arc<Handover>,
        arrivals: Arc<Signal>,
    ) -> Self {
        Self { ring, peer: None, handover, arrivals, is_last: false, before: Received::NONE }
    }

    /// Takes the next item, if there is one. Never waits.
    pub fn try_pop(&mut self) -> Option<T> {
        if self.handover.is_offered() {
            self.change_peer();
        }
        let peer = &self.peer.as_ref()?.words;
        if self.is_last { self.ring.pop_seen(peer) } else { self.ring.pop(peer) }
    }

    /// Takes what the present peer has written, then the next peer.
    fn change_peer(&mut self) {
        if !self.is_last {
            if let Some(peer) = &self.peer {
                self.ring.look(&peer.words);
            }
            self.is_last = true;
        }
        if self.ring.index.available() == 0 && self.handover.take(&mut self.peer) {
            self.is_last = false;
            self.before = self.counts();
            if let Some(peer) = &self.peer {
                self.ring.restart(peer.session);
            }
        }
    }

    /// Takes the next item, and waits for it until `due`, or without a limit. `None` at `due`.
    ///
    /// # Errors
    /// None according to the man page of futex(2).
    pub fn pop_until(&mut self, due: Option<Instant<Monotonic>>) -> Result<Option<T>, SysError> {
        loop {
            if let Some(item) = self.try_pop() {
                return Ok(Some(item));
            }
            if self.ring.request_notice(self.peer.as_ref().map(|peer| &peer.words)) {
                continue;
            }
            // After each handover, the broker sends this signal.
            let is_woken = self.arrivals.wait(due)?;
            if !is_woken && due.is_some_and(|due| tactus_sys::clock::now::<Monotonic>() >= due) {
                return Ok(self.try_pop());
            }
        }
    }

    /// Calls `handler` with each item as it arrives, until it breaks.
    ///
    /// # Errors
    /// None according to the man page of futex(2).
    pub fn on_arrival<B>(
        &mut self,
        mut handler: impl FnMut(T) -> std::ops::ControlFlow<B>,
    ) -> Result<B, SysError> {
        loop {
            if let Some(item) = self.pop_until(None)?
                && let std::ops::ControlFlow::Break(result) = handler(item)
            {
                return Ok(result);
            }
        }
    }

    /// What became of the items of all peers.
    pub const fn counts(&self) -> Received {
        let now = Received::of(&self.ring.index);
        Received {
            popped: self.before.popped + now.popped,
            lost: self.before.lost.saturating_add(now.lost),
            available: now.available,
            invalid: self.before.invalid + now.invalid,
        }
    }
}

impl<T: Element> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.ring.close();
    }
}

/// Writes the latest value, which any number of ordinary processes read.
#[derive(Debug)]
pub struct BlockWriter<T: Element>(LatestWriter<T>);

impl<T: Element> BlockWriter<T> {
    pub(crate) const fn new(latest: LatestWriter<T>) -> Self {
        Self(latest)
    }

    /// Replaces the value. Takes no lock and waits for nothing.
    pub fn write(&mut self, value: &T) {
        self.0.write(value);
    }
}

impl<T: Element> Drop for BlockWriter<T> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Reads the latest value that an ordinary process wrote.
#[derive(Debug)]
pub struct BlockReader<T: Element> {
    layout: Layout,
    peer: Option<Peer>,
    handover: Arc<Handover>,
    value: Option<T>,
    busy: u64,
}

impl<T: Element> BlockReader<T> {
    pub(crate) const fn new(layout: Layout, handover: Arc<Handover>) -> Self {
        Self { layout, peer: None, handover, value: None, busy: 0 }
    }

    /// The latest value; `None` before the first. In a bounded time: if the writer is faster than
    /// the copy, again and again, the value is the one read before, and counted as
    /// [busy](Self::busy). The last value of a writer that has gone remains until the next writes.
    pub fn read(&mut self) -> Option<T> {
        if self.handover.is_offered() {
            self.refresh();
            self.handover.take(&mut self.peer);
        }
        self.refresh();
        self.value
    }

    fn refresh(&mut self) {
        let Some(peer) = &self.peer else { return };
        match latest::read(&peer.words, self.layout) {
            Latest::Value(_, value) => self.value = Some(value),
            Latest::Empty => {}
            Latest::Busy => self.busy += 1,
        }
    }

    /// How often the writer was too fast for a copy.
    pub const fn busy(&self) -> u64 {
        self.busy
    }
}
