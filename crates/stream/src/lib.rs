//! Timed delivery for programs: the protocol of the delivery server, and a client.
//!
//! | module | content |
//! |---|---|
//! | [`format`] | what the payload of an item may be |
#![forbid(unsafe_code)]

pub mod format;

pub use format::{Format, Unfit};
