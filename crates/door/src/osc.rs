//! Open Sound Control over UDP, with receipts back.
//!
//! | module | content |
//! |---|---|
//! | [`request`] | what a message requests |
//! | [`reply`] | the messages that go back |
//! | [`account`] | what a host has: items without a receipt, subscribers, a rate |
//! | [`cookie`] | proofs of addresses |
//! | [`service`] | the socket, and a client of the server for each host |
//! | [`door`] | the door as its owner has it |
//!
//! The first four decide and read no clock.

pub mod account;
pub mod cookie;
pub mod door;
pub mod reply;
pub mod request;
pub mod service;

pub use door::{Counts, Door, Event, Options};
