//! From the records of the kernel to events of the model. Pure.
//!
//! Where a field lies in a record is told by the kernel's `format` files only,
//! never by constants. Whatever the bytes are, decoding gives an event or a
//! reason why not, never a panic.

mod decoder;
mod format;
mod names;
mod record;
mod tracepoint;

pub use decoder::{BindError, Decoder, Layout, Undecoded};
pub use format::{BadFormat, Field, Format, Place};
pub use names::Names;
pub use record::{BadRecord, PerfRecord, RecordShape, addresses};
pub use tracepoint::Tracepoint;
