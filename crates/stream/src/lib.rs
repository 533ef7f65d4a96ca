//! Timed delivery for programs: the protocol of the delivery server, and a client.
//!
//! A program submits items ahead of their times; the server `tactus streamd` delivers each at its
//! time and answers it by a [`Receipt`]: when it was due, when its delivery began and ended, the
//! outcome, and how far the times can be trusted. docs/streams.md describes the server.
//!
//! | module | content |
//! |---|---|
//! | [`client`] | a blocking client |
//! | [`listener`] | a blocking client of an input |

//! | [`message`] | requests and replies |
//! | [`heard`] | messages of inputs as packets |
//! | [`slot`] | items and receipts as they lie in shared memory |
//! | [`slack`] | how early items arrive |
//! | [`spread`] | a distribution of constant size |
#![forbid(unsafe_code)]

pub mod client;
pub mod error;

pub mod heard;
pub mod listener;
pub mod message;
pub mod slack;
pub mod slot;
pub mod spread;

pub use client::{Client, Draft, Frame, SOCKET, status};
pub use error::{ConnectError, Ended, RequestError, SubmitError};

pub use listener::Listener;
pub use message::{DeviceInfo, Wanted};
pub use slack::Slack;
pub use tactus_delivery::device_clock::Correction;
pub use tactus_delivery::format::{Format, Unfit};
pub use tactus_delivery::item::{BranchId, ClientId, IfLate, Moment, StreamId};
pub use tactus_delivery::receipt::{Evidence, Outcome, Receipt};
pub use tactus_midi::{Heard, Kinds};
