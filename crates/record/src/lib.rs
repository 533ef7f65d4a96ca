//! The event recorder: what the kernel did, from tracepoints to events in time order.
//!
//! The path of an event: the kernel writes a record into a ring ([`live`] drains
//! it), [`decode`] turns it into a model event by the kernel's own description,
//! [`codec`] packs events into blocks, [`mod@file`] keeps blocks and hands their
//! events out again, [`perfetto`] and [`ndjson`] write them for others.
//! [`simulate`] makes events without a kernel. Live recordings, files and
//! simulations are one to their reader: an
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

pub use summary::{RecordingCost, RecordingSummary};
