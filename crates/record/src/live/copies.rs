//! Copies of a recording's blocks for a concurrent reader.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;

use tactus_model::recording::Lost;
use tactus_model::time::{Instant, Monotonic};

use super::background::Background;
use super::drainer::{Held, Parcel};
use crate::codec::{Block, BlockKind, EventBlockHead, encode_losses};
use crate::summary::RecordingSummary;

/// Sends every block to the reader too.
///
/// A reader that falls behind by more than its share of memory misses events and gets a
/// loss; the recording itself misses nothing.
pub(super) struct Copies {
    pub(super) parcels: Sender<Parcel>,
    /// The bytes that the reader has not taken yet.
    pub(super) held: Arc<Held>,
    pub(super) background: Arc<Background>,
    pub(super) complete_until: Instant<Monotonic>,
    /// What the reader missed since it last had space.
    pub(super) missed: Vec<Lost>,
}

impl Copies {
    /// Sends copies of blocks; after them, every event up to `complete_until` has been
    /// sent.
    pub(super) fn send(&mut self, blocks: &[Block], complete_until: Instant<Monotonic>) {
        let has_room = self.held.bytes.load(Ordering::Relaxed) < self.held.limit;
        let mut copies = Vec::with_capacity(blocks.len() + 1);
        if has_room && !self.missed.is_empty() {
            copies.push(encode_losses(&std::mem::take(&mut self.missed)));
        }
        for block in blocks {
            match (has_room, block.kind()) {
                (false, BlockKind::Events) => self.miss(block, complete_until),
                _ => copies.push(block.clone()),
            }
        }
        self.complete_until = complete_until;
        let bytes: usize = copies.iter().map(|block| block.bytes().len()).sum();
        self.held.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        // First, so that the reader never takes what was not counted.
        self.background.sent();
        // A reader that has ended misses nothing.
        drop(self.parcels.send(Parcel::Blocks { blocks: copies, complete_until }));
    }

    /// Signals the end.
    pub(super) fn end(&self, summary: &RecordingSummary) {
        drop(self.parcels.send(Parcel::End(Box::new(summary.clone()))));
        self.background.end();
    }

    fn miss(&mut self, block: &Block, complete_until: Instant<Monotonic>) {
        // A block that was just built has its head.
        let Ok(head) = EventBlockHead::parse(block.payload()) else { return };
        match self.missed.iter_mut().find(|lost| lost.cpu == head.cpu) {
            Some(lost) => {
                lost.to = complete_until;
                lost.count += u64::from(head.count);
            }
            None => self.missed.push(Lost {
                cpu: head.cpu,
                from: self.complete_until.min(head.first),
                to: complete_until,
                count: u64::from(head.count),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;
    use std::sync::mpsc::channel;

    use tactus_model::recording::{Context, Event, EventKind, ThreadId};

    use super::*;
    use crate::codec::{EventBlock, decode_losses};

    fn block(at: u64) -> Block {
        let event = Event {
            at: Instant::from_nanos(at),
            cpu: 0,
            thread: ThreadId(1),
            context: Context::default(),
            chain: None,
            kind: EventKind::IdleExit,
        };
        EventBlock::encode(0, &[event]).remove(0)
    }

    #[test]
    fn a_reader_that_falls_behind_gets_a_loss() {
        let (parcels, received) = channel();
        let held = Arc::new(Held { bytes: AtomicU64::new(0), limit: 1 });
        let start = Instant::from_nanos(0);
        let mut copies = Copies {
            parcels,
            held: held.clone(),
            background: Arc::default(),
            complete_until: start,
            missed: Vec::new(),
        };
        for at in [10, 20, 30] {
            copies.send(&[block(at)], Instant::from_nanos(at + 1));
        }
        held.bytes.store(0, Ordering::Relaxed);
        copies.send(&[block(40)], Instant::from_nanos(41));
        let blocks: Vec<Block> = received
            .try_iter()
            .flat_map(|parcel| match parcel {
                Parcel::Blocks { blocks, .. } => blocks,
                other => panic!("only blocks were sent: {other:?}"),
            })
            .collect();
        let kinds: Vec<BlockKind> = blocks.iter().map(Block::kind).collect();
        assert_eq!(kinds, [BlockKind::Events, BlockKind::Losses, BlockKind::Events]);
        let mut losses = Vec::new();
        decode_losses(blocks[1].payload(), &mut losses).expect("the block is complete");
        let [lost] = losses[..] else { panic!("one CPU: {losses:?}") };
        assert_eq!((lost.count, lost.from.as_nanos(), lost.to.as_nanos()), (2, 11, 31));
    }
}
