//! Open Sound Control 1.0 as it is in datagrams: bytes.
//!
//! | module | content |
//! |---|---|
//! | [`packet`] | reads a packet: its messages, each with the time of its bundle |
//! | [`message`] | messages, and writing them |
//! | [`time_tag`] | time tags, and the real-time clock |
//!
//! Source: *The Open Sound Control 1.0 Specification*, Matthew Wright, 26 March 2002.
//!
//! Packets come from anybody. The reader uses no stack or memory that the sender decides, and
//! refuses a packet that it cannot read as a whole. (The crate rosc recurses once per nested bundle,
//! and leaves out what it cannot read; tests use it as an oracle for all other packets.)
#![forbid(unsafe_code)]

pub mod message;
pub mod packet;
pub mod time_tag;

pub use message::{Argument, Message};
pub use packet::{Malformed, Timed, read};
pub use time_tag::TimeTag;
