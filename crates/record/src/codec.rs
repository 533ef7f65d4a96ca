//! How recordings are packed into blocks. Pure; `docs/recording-format.md` describes
//! the format for authors of other programs.
//!
//! ```
//! use tactus_model::recording::{Context, Event, EventKind, ThreadId};
//! use tactus_model::time::Instant;
//! use tactus_record::codec::{Block, BlockKind, EventBlock};
//!
//! let event = Event {
//!     at: Instant::from_nanos(1_000),
//!     cpu: 1,
//!     thread: ThreadId(42),
//!     context: Context::default(),
//!     chain: None,
//!     kind: EventKind::IdleExit,
//! };
//! let blocks = EventBlock::encode(1, &[event]);
//! let block = Block::parse(blocks[0].bytes()).unwrap();
//! assert_eq!(block.kind(), BlockKind::Events);
//! let mut events = EventBlock::parse(block.payload()).unwrap();
//! assert_eq!(events.next_event().unwrap(), Some(event));
//! assert_eq!(events.next_event().unwrap(), None);
//! ```

mod block;
mod dictionary;
mod event;
mod event_block;
mod loss;

pub use block::{BadBlock, Block, BlockHeader, BlockKind};
pub use dictionary::{DictionaryMark, decode_dictionary, encode_dictionary};
pub use event_block::{EventBlock, EventBlockHead};
pub use loss::{decode_losses, encode_losses};

/// The magic bytes at the start of every recording file.
pub const MAGIC: [u8; 8] = *b"TACTREC\n";

/// The format version that is written; it follows the magic as a `u32`.
///
/// Format 1 has fewer kinds of events; everything else is the same.
pub const VERSION: u32 = 2;

/// The length of magic and version.
pub const PREAMBLE: usize = 12;

/// The preamble of a file.
pub fn preamble() -> [u8; PREAMBLE] {
    let mut bytes = [0; PREAMBLE];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..].copy_from_slice(&VERSION.to_le_bytes());
    bytes
}
