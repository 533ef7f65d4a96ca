//! The delivery server: takes items ahead of their time, delivers each at its time, and answers it.
#![forbid(unsafe_code)]

pub mod sink;
pub mod sinks;
