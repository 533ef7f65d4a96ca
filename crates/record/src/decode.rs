//! From the records of the kernel to events of the model. Pure.
//!
//! The offsets of fields in a record come only from the kernel's `format` files, and the layout of
//! a page only from its header files; there are no constants for them. Any input gives an event or
//! the reason why not, never a panic.

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
pub(crate) use format::int;
pub use format::{BadFormat, Field, Format, Place};
pub use names::Names;
pub use page::{BadPage, BadPageShape, PageRecord, PageRecords, PageShape};
pub use record::{BadRecord, PerfRecord, RecordShape, addresses};
pub use stats::{BadStats, BufferStats};
pub use tracepoint::Tracepoint;
