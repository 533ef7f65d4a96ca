//! The event recorder: what the kernel did, from tracepoints to events in the order of
//! time.
//!
//! The path of an event: the kernel writes a record into a ring ([`live`] drains it),
//! [`decode`] turns it into a model event by the kernel's own format, [`codec`] packs
//! events into blocks, [`mod@file`] stores blocks and returns their events, and
//! [`perfetto`] and [`ndjson`] export them. [`simulate`] makes events without a kernel.
//! Live recordings, files and simulations have one interface for readers:
//! [`EventSource`](tactus_model::recording::EventSource).
#![forbid(unsafe_code)]

pub mod codec;
pub mod decode;
pub mod file;
pub mod live;
mod merge;
pub mod ndjson;
pub mod perfetto;
pub mod simulate;
mod summary;
pub mod thread;

pub use summary::{RecordingCost, RecordingSummary};
