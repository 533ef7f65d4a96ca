//! Kernel events by [perf_event_open(2)](https://man7.org/linux/man-pages/man2/perf_event_open.2.html).
//!
//! A [`CpuEvent`] is one event on one CPU. A [`Ring`] is the memory into which the
//! kernel writes the records of one or more events. A [`ThreadClock`] counts the CPU time of one
//! thread, and a [`Budget`] wakes a reader when a thread has used an amount of it. [`wait()`](crate::wait::wait)
//! sleeps until a ring has filled to its watermark.

mod attr;
mod event;
mod limit;
mod ring;
mod thread_clock;

pub use attr::{CallChain, MAX_STACK};
pub use event::{Count, CpuEvent};
pub use limit::OpenFileLimit;
pub use ring::{Drained, RawRecord, Ring};
pub use thread_clock::{Budget, ThreadClock};
