//! Merges blocks of events into one stream in the order of time.
//!
//! A block's head has the times of its first and last event, so a block is opened only
//! when its time has come: memory holds one block for each CPU. Blocks of one CPU may
//! overlap a little (an interrupt between the time stamp of an event and its write to
//! the ring); here they are simply two streams.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tactus_model::recording::{Event, SourceError};
use tactus_model::time::{Instant, Monotonic, Nanos};

use crate::codec::{BadBlock, EventBlock, EventBlockHead};

/// Blocks that are waiting and blocks that are being read.
#[derive(Debug)]
pub(crate) struct Merge<P> {
    waiting: BinaryHeap<Reverse<Waiting<P>>>,
    /// Blocks that are being read; an empty slot can be reused.
    open: Vec<Option<Cursor>>,
    /// The open blocks except the current one, by their next events.
    order: BinaryHeap<Reverse<(Instant<Monotonic>, usize)>>,
    /// The open block that is being read.
    current: Option<usize>,
    /// Up to this time no other block has an earlier event than the current block.
    lead: Instant<Monotonic>,
    arrived: u64,
    last: Instant<Monotonic>,
}

/// A block whose first event is not due yet.
#[derive(Debug)]
struct Waiting<P> {
    first: Instant<Monotonic>,
    /// Keeps blocks that start at the same time in the order of their arrival.
    number: u64,
    place: P,
}

impl<P> Waiting<P> {
    fn key(&self) -> (Instant<Monotonic>, u64) {
        (self.first, self.number)
    }
}

impl<P> PartialEq for Waiting<P> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<P> Eq for Waiting<P> {}

impl<P> PartialOrd for Waiting<P> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<P> Ord for Waiting<P> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

/// A block that is being read, with its next event.
#[derive(Debug)]
struct Cursor {
    block: EventBlock<Vec<u8>>,
    next: Event,
}

impl<P> Default for Merge<P> {
    fn default() -> Self {
        Self {
            waiting: BinaryHeap::new(),
            open: Vec::new(),
            order: BinaryHeap::new(),
            current: None,
            lead: Instant::from_nanos(0),
            arrived: 0,
            last: Instant::from_nanos(0),
        }
    }
}

impl<P> Merge<P> {
    /// Adds a block; `place` is the place of its payload.
    pub(crate) fn add(&mut self, head: EventBlockHead, place: P) {
        if head.count > 0 {
            let (first, number) = (head.first, self.arrived);
            self.lead = self.lead.min(first - Nanos::from_nanos(1));
            self.waiting.push(Reverse(Waiting { first, number, place }));
            self.arrived += 1;
        }
    }

    /// Takes the next event up to `until`; `load` fetches payloads.
    #[inline]
    pub(crate) fn next(
        &mut self,
        until: Instant<Monotonic>,
        load: &mut impl FnMut(P) -> Result<Vec<u8>, SourceError>,
    ) -> Result<Option<Event>, SourceError> {
        let leads = self.current_event().is_some_and(|event| event.at <= self.lead);
        if !leads {
            self.choose(until, load)?;
        }
        let Some(place) = self.current else { return Ok(None) };
        let Some(cursor) = &mut self.open[place] else { return Ok(None) };
        if cursor.next.at > until {
            return Ok(None);
        }
        let event = cursor.next;
        match cursor.block.next_event() {
            Ok(Some(next)) => cursor.next = next,
            Ok(None) => self.close(place),
            Err(error) => return Err(damaged(error)),
        }
        if event.at < self.last {
            return Err(SourceError::Damaged("the events of a block are out of order".to_owned()));
        }
        self.last = event.at;
        Ok(Some(event))
    }

    fn current_event(&self) -> Option<&Event> {
        self.open[self.current?].as_ref().map(|cursor| &cursor.next)
    }

    fn close(&mut self, place: usize) {
        self.open[place] = None;
        self.current = None;
    }

    /// Opens every block whose time has come and makes the earliest block the current
    /// one.
    fn choose(
        &mut self,
        until: Instant<Monotonic>,
        load: &mut impl FnMut(P) -> Result<Vec<u8>, SourceError>,
    ) -> Result<(), SourceError> {
        if let Some(event) = self.current_event()
            && let Some(place) = self.current
        {
            self.order.push(Reverse((event.at, place)));
        }
        self.current = None;
        while let Some(Reverse(waiting)) = self.waiting.peek()
            && waiting.first <= until
            && self.order.peek().is_none_or(|Reverse((at, _))| waiting.first <= *at)
            && let Some(Reverse(waiting)) = self.waiting.pop()
        {
            let mut block = EventBlock::parse(load(waiting.place)?).map_err(damaged)?;
            if let Some(next) = block.next_event().map_err(damaged)? {
                self.open(Cursor { block, next });
            }
        }
        self.current = self.order.pop().map(|Reverse((_, place))| place);
        let other = self.order.peek().map(|Reverse((at, _))| at.as_nanos());
        // If a waiting block starts at the same time, it goes first.
        let waiting = self.waiting.peek();
        let waiting = waiting.map(|Reverse(next)| next.first.as_nanos().saturating_sub(1));
        let lead = other.unwrap_or(u64::MAX).min(waiting.unwrap_or(u64::MAX));
        self.lead = Instant::from_nanos(lead);
        Ok(())
    }

    fn open(&mut self, cursor: Cursor) {
        let at = cursor.next.at;
        let free = self.open.iter().position(Option::is_none);
        let place = free.unwrap_or(self.open.len());
        if place == self.open.len() {
            self.open.push(None);
        }
        self.open[place] = Some(cursor);
        self.order.push(Reverse((at, place)));
    }
}

/// The error for an invalid block.
pub(crate) fn damaged(error: BadBlock) -> SourceError {
    SourceError::Damaged(error.to_string())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tactus_model::recording::{Context, EventKind, ThreadId};

    use super::*;

    fn event(cpu: u32, at: u64) -> Event {
        Event {
            at: Instant::from_nanos(at),
            cpu,
            thread: ThreadId::IDLE,
            context: Context::default(),
            chain: None,
            kind: EventKind::IdleExit,
        }
    }

    proptest! {
        #[test]
        fn for_any_blocks_the_stream_is_in_order_and_complete(
            blocks in prop::collection::vec((0_u32..3, prop::collection::vec(0_u64..1000, 0..20)), 0..20),
        ) {
            let mut merge = Merge::default();
            let mut all = Vec::new();
            for (cpu, mut times) in blocks {
                times.sort_unstable();
                let events: Vec<Event> = times.iter().map(|at| event(cpu, *at)).collect();
                all.extend(times);
                for block in EventBlock::encode(cpu, &events) {
                    let head = EventBlockHead::parse(block.payload()).unwrap();
                    merge.add(head, block.into_payload());
                }
            }
            all.sort_unstable();
            let mut merged = Vec::new();
            for until in [0, 300, 301, 2000] {
                let until = Instant::from_nanos(until);
                while let Some(event) = merge.next(until, &mut Ok).unwrap() {
                    prop_assert!(event.at <= until);
                    merged.push(event.at.as_nanos());
                }
            }
            prop_assert_eq!(merged, all);
        }
    }
}
