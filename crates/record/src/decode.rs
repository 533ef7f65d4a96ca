//! From the records of the kernel to events of the model. Pure.
//!
//! Where a field lies in a record is told by the kernel's `format` files only, and
//! how a page of records is laid out by its header files, never by constants. Whatever the bytes are, decoding gives an event or a
//! reason why not, never a panic.

mod accompanying;
mod decoder;
mod format;
mod names;
mod page;
mod record;
mod stats;
mod tracepoint;

pub use accompanying::{NewThread, NewThreadLayout, StackLayout};
pub use decoder::{BindError, Decoder, Layout, Undecoded};
pub use format::{BadFormat, Field, Format, Place};
pub use names::Names;
pub use page::{BadPage, BadPageShape, PageRecord, PageRecords, PageShape};
pub use record::{BadRecord, PerfRecord, RecordShape, addresses};
pub use stats::{BadStats, BufferStats};
pub use tracepoint::Tracepoint;
