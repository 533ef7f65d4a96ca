//! What can go wrong, and what became of items.

use std::io;

use tactus_model::format::{printable, quoted};
use tactus_sys::SysError;

use crate::index::{ReadIndex, WriteIndex};
use crate::layout::{CAPACITY_MAX, ITEM_BYTES_MAX, RING_BYTES_MAX};
use crate::message::Refusal;

/// The ring is full. The refusal is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the FIFO is full")]
pub struct Full;

/// The other side has ended, and everything it wrote has been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the other side has ended")]
pub struct Ended;

/// Why an item was not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotWritten {
    /// The real-time side has not read enough.
    #[error(transparent)]
    Full(#[from] Full),
    /// The real-time side has ended.
    #[error(transparent)]
    Ended(#[from] Ended),
}

/// A size that is not possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    /// Of an item.
    #[error("an item has {bytes} bytes; 1 to {ITEM_BYTES_MAX} are possible")]
    Item {
        /// Its size.
        bytes: usize,
    },
    /// Of the number of items.
    #[error("a FIFO has room for {capacity} items; 1 to {CAPACITY_MAX} are possible")]
    Capacity {
        /// The number.
        capacity: usize,
    },
    /// Of the whole ring.
    #[error("a FIFO takes {bytes} bytes; at most {RING_BYTES_MAX} are possible")]
    Ring {
        /// Its size.
        bytes: usize,
    },
}

/// Why a channel is not offered.
#[derive(Debug, thiserror::Error)]
pub enum OfferError {
    /// Its size.
    #[error("`{name}`: {error}")]
    Size {
        /// The channel.
        name: String,
        /// What is wrong with it.
        error: SizeError,
    },
    /// Another channel has the name.
    #[error("the name `{0}` is taken")]
    NameTaken(String),
    /// The name is not one.
    #[error("`{}` is not a name: 1 to 64 letters, digits and `.`, `-`, `_`, `/` are possible", quoted(.0))]
    Name(String),
    /// The description of the element is empty or too long.
    #[error("`{0}`: the layout of its element needs 1 to 200 bytes of text")]
    Element(String),
    /// The broker has too many channels.
    #[error("a broker has at most {} channels", crate::CHANNELS_MAX)]
    TooMany,
    /// There is no memory for it.
    #[error("no memory for `{name}`: {error}")]
    Memory {
        /// The channel.
        name: String,
        /// The refused call.
        error: SysError,
    },
}

/// Why a broker does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Its socket.
    #[error("cannot listen at {path}: {error}")]
    Socket {
        /// The socket.
        path: String,
        /// Why.
        error: io::Error,
    },
    /// The system refuses a thread or a descriptor.
    #[error("cannot start the broker: {0}")]
    System(io::Error),
}

impl From<SysError> for StartError {
    fn from(error: SysError) -> Self {
        Self::System(error.errno.into())
    }
}

/// Why a channel is not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is no broker at the socket.
    #[error("cannot reach the broker at {path}: {error}")]
    Socket {
        /// The socket.
        path: String,
        /// Why.
        error: io::Error,
    },
    /// The broker refuses.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The peer is not a broker of this version.
    #[error("the peer at the socket is not a broker of this version: {}", printable(.0))]
    Protocol(String),
    /// The memory cannot be mapped.
    #[error("cannot map the memory of the channel: {0}")]
    Memory(#[from] SysError),
}

/// What became of the items that a side pushed: offered = pushed + refused, and
/// pushed = taken + in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Items written.
    pub pushed: u64,
    /// Items that found the ring full.
    pub refused: u64,
    /// Items written that the reader has not confirmed to have taken.
    pub in_flight: u64,
    /// How often the peer showed an index that no reader can have.
    pub invalid: u64,
}

impl Sent {
    pub(crate) const fn of(index: &WriteIndex) -> Self {
        Self {
            pushed: index.written(),
            refused: index.refused(),
            in_flight: index.in_flight(),
            invalid: index.invalid(),
        }
    }
}

/// What became of the items that a side read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Items taken.
    pub popped: u64,
    /// Items that could not be taken: overwritten because somebody misled the writer, or of a
    /// writer whose next one came before the real-time side looked.
    pub lost: u64,
    /// Items that waited at the last look.
    pub available: u64,
    /// How often the peer showed an index that no writer can have.
    pub invalid: u64,
}

impl Received {
    /// With what became of the items before these.
    pub(crate) const fn after(self, before: Self) -> Self {
        Self {
            popped: before.popped + self.popped,
            lost: before.lost.saturating_add(self.lost),
            available: self.available,
            invalid: before.invalid.saturating_add(self.invalid),
        }
    }

    pub(crate) const NONE: Self = Self { popped: 0, lost: 0, available: 0, invalid: 0 };

    pub(crate) const fn of(index: &ReadIndex) -> Self {
        Self {
            popped: index.popped(),
            lost: index.lost(),
            available: index.available(),
            invalid: index.invalid(),
        }
    }
}
