//! Asks the QoS manager `tactus qosd` for CPU time: the protocol, and a blocking client.
//!
//! A program states a [`Need`]: a period, and the least and the most CPU time in each. The manager
//! admits it or [refuses](Refusal) it with the reason and what would fit, and grants what it can.
//! A [`Connection`] holds reserves; they end with it.
//!
//! [`message`] has the messages, for a server or another client. docs/qosd.md describes the
//! manager, and how it is used from other languages.
#![forbid(unsafe_code)]

mod answer;
mod client;
pub mod message;
mod need;

pub use answer::{Constraint, Event, Fit, Grant, Refusal, ReserveId, ReserveStatus, Status, Usage};
pub use client::{Connection, NotAnswered, Replies, SOCKET};
pub use need::{BadNeed, IMPORTANCE_MOST, IMPORTANCE_USUAL, Need, Overrun, Terms};
