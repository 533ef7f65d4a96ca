//! The real-time side: what a thread with deadlines calls.

use std::marker::PhantomData;
use std::sync::Arc;

use tactus_model::time::{Instant, Monotonic};
use tactus_sys::private_futex::Signal;
use tactus_sys::{SysError, clock};

use crate::bell::Cord;
use crate::handover::{Handover, Peer};
use crate::latest::{LatestReader, LatestWriter};
use crate::layout::reader;
use crate::ring::{RingReader, RingWriter};
use crate::{Element, Full, Received, Sent, element};

/// Writes items that an ordinary process reads.
///
/// A push copies the item and, if the reader waits, wakes the broker by a private futex. It takes
/// no lock, waits for nothing, and never touches memory that a peer can take away.
#[derive(Debug)]
pub struct Sender<T: ?Sized> {
    ring: RingWriter,
    peer: Option<Peer>,
    handover: Arc<Handover>,
    cord: Cord,
    items: PhantomData<fn(&T)>,
}

impl<T: Element> Sender<T> {
    /// Pushes an item.
    ///
    /// # Errors
    /// The ring is full, because the reader is slow or there is none. The refusal is counted.
    pub fn try_push(&mut self, item: &T) -> Result<(), Full> {
        self.push(bytemuck::bytes_of(item))
    }
}

impl Sender<[u8]> {
    /// Pushes an item.
    ///
    /// # Errors
    /// The ring is full, because the reader is slow or there is none. The refusal is counted.
    ///
    /// # Panics
    /// The item has another size than those of the channel.
    pub fn try_push_bytes(&mut self, item: &[u8]) -> Result<(), Full> {
        self.push(item)
    }
}

impl<T: ?Sized> Sender<T> {
    pub(crate) const fn new(ring: RingWriter, handover: Arc<Handover>, cord: Cord) -> Self {
        Self { ring, peer: None, handover, cord, items: PhantomData }
    }

    fn push(&mut self, item: &[u8]) -> Result<(), Full> {
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

impl<T: ?Sized> Drop for Sender<T> {
    fn drop(&mut self) {
        self.ring.close();
        self.cord.pull();
    }
}

/// Reads items that an ordinary process writes.
#[derive(Debug)]
pub struct Receiver<T: ?Sized> {
    ring: RingReader,
    peer: Option<Peer>,
    handover: Arc<Handover>,
    arrivals: Arc<Signal>,
    /// The next peer is there; only what the present one has written by then still counts.
    is_last: bool,
    /// Of the peers before this one.
    before: Received,
    items: PhantomData<fn() -> Box<T>>,
}

impl<T: Element> Receiver<T> {
    /// Takes the next item, if there is one. Never waits.
    pub fn try_pop(&mut self) -> Option<T> {
        element::filled(|item| self.take(item))
    }

    /// Takes the next item, and waits for it until `due`, or without a limit. `None` at `due`.
    ///
    /// # Errors
    /// None according to the man page of futex(2).
    pub fn pop_until(&mut self, due: Option<Instant<Monotonic>>) -> Result<Option<T>, SysError> {
        loop {
            let item = self.pop_or_woken(due)?;
            if item.is_some() || due.is_some_and(|due| clock::now::<Monotonic>() >= due) {
                return Ok(item);
            }
        }
    }

    /// Takes the next item. If there is none, waits once: until `due`, or until anything wakes the
    /// thread, such as an item, a new peer or the [waker](Self::waker).
    ///
    /// # Errors
    /// None according to the man page of futex(2).
    pub fn pop_or_woken(&mut self, due: Option<Instant<Monotonic>>) -> Result<Option<T>, SysError> {
        if let Some(item) = self.try_pop() {
            return Ok(Some(item));
        }
        self.wait_until(due)?;
        Ok(self.try_pop())
    }
}

impl Receiver<[u8]> {
    /// Takes the next item, if there is one, and returns whether there was. Never waits.
    ///
    /// # Panics
    /// The item has another size than those of the channel.
    pub fn try_pop_bytes(&mut self, item: &mut [u8]) -> bool {
        self.take(item)
    }
}

impl<T: ?Sized> Receiver<T> {
    /// A function that ends the present wait, or the next one, from another thread of the process.
    pub fn waker(&self) -> impl Fn() + Send + Sync + use<T> {
        let arrivals = Arc::clone(&self.arrivals);
        move || arrivals.send()
    }

    pub(crate) const fn new(
        ring: RingReader,
        handover: Arc<Handover>,
        arrivals: Arc<Signal>,
    ) -> Self {
        let (before, items) = (Received::NONE, PhantomData);
        Self { ring, peer: None, handover, arrivals, is_last: false, before, items }
    }

    fn take(&mut self, item: &mut [u8]) -> bool {
        if self.handover.is_offered() {
            self.change_peer();
        }
        let Some(Peer { words, .. }) = &self.peer else { return false };
        if self.is_last { self.ring.pop_seen(words, item) } else { self.ring.pop(words, item) }
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
            if let Some(Peer { session, missed, .. }) = &self.peer {
                self.before = missed.after(self.before);
                self.ring.restart(*session);
            }
        }
    }

    /// Waits until items may have arrived, until `due`, or without a limit. `false` at `due`.
    ///
    /// # Errors
    /// None according to the man page of futex(2).
    pub fn wait_until(&mut self, due: Option<Instant<Monotonic>>) -> Result<bool, SysError> {
        if self.ring.request_notice(self.peer.as_ref().map(|peer| &peer.words)) {
            return Ok(true);
        }
        // After each handover, the broker sends this signal.
        let is_woken = self.arrivals.wait(due)?;
        Ok(is_woken || due.is_none_or(|due| clock::now::<Monotonic>() < due))
    }

    /// What became of the items of all peers; of those that came and went between two looks, from
    /// the next look on.
    pub const fn counts(&self) -> Received {
        Received::of(&self.ring.index).after(self.before)
    }
}

impl<T: ?Sized> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.ring.close();
    }
}

/// Writes the latest value, which any number of ordinary processes read.
#[derive(Debug)]
pub struct BlockWriter<T: ?Sized>(LatestWriter, PhantomData<fn(&T)>);

impl<T: ?Sized> BlockWriter<T> {
    pub(crate) const fn new(latest: LatestWriter) -> Self {
        Self(latest, PhantomData)
    }
}

impl<T: Element> BlockWriter<T> {
    /// Replaces the value. Takes no lock and waits for nothing.
    pub fn write(&mut self, value: &T) {
        self.0.write(bytemuck::bytes_of(value));
    }
}

impl BlockWriter<[u8]> {
    /// Replaces the value. Takes no lock and waits for nothing.
    ///
    /// # Panics
    /// The value has another size than the channel.
    pub fn write_bytes(&mut self, value: &[u8]) {
        self.0.write(value);
    }
}

impl<T: ?Sized> Drop for BlockWriter<T> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Reads the latest value that an ordinary process wrote.
///
/// A reading takes a bounded time: if the writer is faster than the copy, again and again, the
/// value is the one read before, and counted as [busy](Self::busy). The last value of a writer that
/// has gone remains until the next writes, if it was read before that one came.
#[derive(Debug)]
pub struct BlockReader<T: ?Sized> {
    latest: LatestReader,
    peer: Option<Peer>,
    handover: Arc<Handover>,
    items: PhantomData<fn() -> Box<T>>,
}

impl<T: Element> BlockReader<T> {
    /// The latest value; `None` before the first.
    pub fn read(&mut self) -> Option<T> {
        self.refreshed().map(bytemuck::pod_read_unaligned)
    }
}

impl BlockReader<[u8]> {
    /// The latest value; `None` before the first.
    pub fn read_bytes(&mut self) -> Option<&[u8]> {
        self.refreshed()
    }
}

impl<T: ?Sized> BlockReader<T> {
    pub(crate) const fn new(latest: LatestReader, handover: Arc<Handover>) -> Self {
        Self { latest, peer: None, handover, items: PhantomData }
    }

    fn refreshed(&mut self) -> Option<&[u8]> {
        if self.handover.is_offered() {
            self.refresh();
            self.handover.take(&mut self.peer);
        }
        self.refresh();
        self.latest.value()
    }

    fn refresh(&mut self) {
        if let Some(peer) = &self.peer {
            self.latest.refresh(&peer.words);
        }
    }

    /// How often the writer was too fast for a copy.
    pub const fn busy(&self) -> u64 {
        self.latest.busy()
    }
}
