//! The events of one CPU in a block.

use tactus_model::recording::Event;
use tactus_model::time::{Instant, Monotonic};

use super::block::{BadBlock, Block, BlockKind};
use super::event::Coder;

/// The head of a block of events. Its fields have fixed positions, so that a reader
/// knows when it needs the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventBlockHead {
    /// The time of the first event, the earliest.
    pub first: Instant<Monotonic>,
    /// The time of the last event, the latest.
    pub last: Instant<Monotonic>,
    /// The CPU of the events.
    pub cpu: u32,
    /// The number of events.
    pub count: u32,
}

impl EventBlockHead {
    /// The length of the head in bytes.
    pub const LENGTH: usize = 24;

    /// Reads the head at the start of a payload.
    ///
    /// # Errors
    /// The payload is too short.
    pub fn parse(payload: &[u8]) -> Result<Self, BadBlock> {
        let head = payload.first_chunk::<{ Self::LENGTH }>();
        let head = head.ok_or(BadBlock::Payload("a block of events has no head"))?;
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&head[at..at + 8]);
            u64::from_le_bytes(word)
        };
        let counts = word(16);
        Ok(Self {
            first: Instant::from_nanos(word(0)),
            last: Instant::from_nanos(word(8)),
            cpu: counts as u32,
            count: (counts >> 32) as u32,
        })
    }
}

/// Returns the events of a block one at a time.
#[derive(Clone, Debug)]
pub struct EventBlock<B> {
    head: EventBlockHead,
    payload: B,
    position: usize,
    left: u32,
    coder: Coder,
}

/// The number of events in a block, small so that a reader holds little memory for each
/// CPU.
const MOST_EVENTS: usize = 1 << 14;

impl EventBlock<Vec<u8>> {
    /// Packs events of `cpu`, which must be in the order of time, into blocks.
    pub fn encode(cpu: u32, events: &[Event]) -> Vec<Block> {
        events.chunks(MOST_EVENTS).map(|events| encode_block(cpu, events)).collect()
    }
}

fn encode_block(cpu: u32, events: &[Event]) -> Block {
    let time = |event: Option<&Event>| event.map_or(0, |event| event.at.as_nanos());
    let first = time(events.first());
    Block::build(BlockKind::Events, |bytes| {
        bytes.reserve(EventBlockHead::LENGTH + events.len() * 16);
        bytes.extend_from_slice(&first.to_le_bytes());
        bytes.extend_from_slice(&time(events.last()).to_le_bytes());
        bytes.extend_from_slice(&cpu.to_le_bytes());
        bytes.extend_from_slice(&(events.len() as u32).to_le_bytes());
        let mut coder = Coder::new(first);
        for event in events {
            coder.encode(event, bytes);
        }
    })
}

impl<B: AsRef<[u8]>> EventBlock<B> {
    /// Starts reading a payload.
    ///
    /// # Errors
    /// The payload has no head.
    pub fn parse(payload: B) -> Result<Self, BadBlock> {
        let head = EventBlockHead::parse(payload.as_ref())?;
        Ok(Self {
            head,
            payload,
            position: EventBlockHead::LENGTH,
            left: head.count,
            coder: Coder::new(head.first.as_nanos()),
        })
    }

    /// The next event; `None` after the last.
    ///
    /// # Errors
    /// The bytes are not a valid event.
    pub fn next_event(&mut self) -> Result<Option<Event>, BadBlock> {
        if self.left == 0 {
            return Ok(None);
        }
        let payload = self.payload.as_ref();
        let mut rest = payload.get(self.position..).unwrap_or_default();
        let event = self.coder.decode(self.head.cpu, &mut rest)?;
        self.position = payload.len() - rest.len();
        self.left -= 1;
        Ok(Some(event))
    }
}
