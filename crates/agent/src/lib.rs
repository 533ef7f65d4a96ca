//! An always-on watcher of late wakeups, within a budget of CPU time.
//!
//! A real-time thread, the probe, sleeps from one due time to the next. The kernel records
//! its events into buffers that it overwrites; they are read only after a late wakeup, explained,
//! and saved on a [shelf]. An endpoint gives the counts to Prometheus. The [`budget`] decides what
//! is reduced when all of this uses more CPU time than its share: first the recording, then the
//! rate of the probe.
//!
//! [`Agent::run`] is the loop around them. It reports what happens as [`Event`]s.
#![forbid(unsafe_code)]

mod agent;
pub mod budget;
mod causes;
mod endpoint;
mod event;
mod event_recorder;
mod explained;
pub mod exposition;
pub mod histogram;
mod metrics;
mod price;
mod probe;
mod saver;
pub mod shelf;

pub use agent::{Agent, Handle, NotStarted, Options};
pub use causes::CAUSES_MAX;
pub use event::Event;
