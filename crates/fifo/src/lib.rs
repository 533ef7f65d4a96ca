//! FIFOs and shared blocks between a real-time process and ordinary ones.
//!
//! The ordinary side may be slow, stopped, dead or hostile: the real-time side keeps its
//! deadlines. It never blocks, takes no shared lock, signals no shared futex or eventfd, and
//! touches no memory that a peer can take away. Nothing is lost silently.
//!
//! | channel | real-time side | ordinary side |
//! |---|---|---|
//! | FIFO outwards | [`Sender`] | [`FifoReader`] |
//! | FIFO inwards | [`Receiver`] | [`FifoWriter`] |
//! | block outwards: the latest value | [`BlockWriter`] | [`SharedReader`], several |
//! | block inwards | [`BlockReader`] | [`SharedWriter`] |
//!
//! A [`Broker`] in the real-time process introduces the sides by name on a local socket. The page
//! `docs/fifo.md` has the guarantees.
//!
//! # Example
//!
//! `cargo run -p tactus-fifo --example realtime` is the real-time side:
//!
//! ```no_run
#![doc = include_str!("../examples/realtime.rs")]
//! ```
//!
//! `cargo run -p tactus-fifo --example ordinary` is the ordinary side:
//!
//! ```no_run
#![doc = include_str!("../examples/ordinary.rs")]
//! ```
//!
//! # How it works
//!
//! Each side writes only to memory of its own. That of the real-time side is a sealed memfd, which
//! peers map for reading; that of a peer is secret memory ([`memfd_secret`]), from which nobody
//! can take pages. Each side has its index privately, shows it, and accepts the other's only if an
//! honest peer could show it ([`index`]). An item is copied once. No peer gets memory that a peer of
//! another user had, so these have no influence on it.
//!
//! [`memfd_secret`]: https://man7.org/linux/man-pages/man2/memfd_secret.2.html
#![forbid(unsafe_code)]

mod bell;
pub mod book;
mod broker;
mod channel;
mod client;
mod door;
mod element;
mod error;
mod guests;
mod handover;
pub mod index;
mod latest;
mod layout;
pub mod message;
mod ration;
mod realtime;
mod ring;
mod separation;
pub mod shared_ring;
mod shortfalls;

pub use bell::CHANNELS_MAX;
pub use broker::{Broker, Builder};
pub use bytemuck;
pub use client::{FifoReader, FifoWriter, Introduced, SharedReader, SharedWriter, introduce};
pub use element::{Element, Items, LAYOUT_BYTES_MAX};
pub use error::{
    Ended, Full, NotWritten, OfferError, OpenError, Received, Sent, SizeError, StartError,
};
pub use guests::PeerReport;
pub use layout::{CAPACITY_MAX, ITEM_BYTES_MAX, RING_BYTES_MAX};
pub use realtime::{BlockReader, BlockWriter, Receiver, Sender};
pub use separation::Separation;
pub use tactus_model::result::Shortfall;
