//! Kernel events by [perf_event_open(2)](https://man7.org/linux/man-pages/man2/perf_event_open.2.html).
//!
//! A [`CpuEvent`] is one event on one CPU. A [`Ring`] is the memory into which the
//! kernel writes the records of one or more events. [`wait()`](crate::wait::wait)
//! sleeps until a ring has filled to its watermark.

mod attr;
mod event;
mod limit;
mod ring;

pub use attr::{CallChain, MAX_STACK};
pub use event::{Count, CpuEvent};
pub use limit::OpenFileLimit;
pub use ring::{Drained, RawRecord, Ring};
