//! Competing work, which reports what it achieved and never outlives its measurement.
//!
//! ```no_run
//! # use tactus_load::{HostOptions, RunningLoad};
//! # fn measure(plan: &tactus_model::load::LoadPlan) -> Result<(), Box<dyn std::error::Error>> {
//! let mut load = RunningLoad::start(plan, &HostOptions::new(std::env::current_exe()?))?;
//! let opened = load.snapshot();
//! // … the measured window …
//! let result = load.snapshot().since(&opened);
//! load.stop();
//! # Ok(())
//! # }
//! ```
//!
//! # Processes
//!
//! ```text
//! the measuring process
//! └─ host            `tactus internal load`: makes the containment, cleans up
//!    └─ supervisor  starts the copies, reports when all work and which end
//!       ├─ copy 0    `tactus internal load-worker`: one copy at work
//!       │  └─ …      what the copy starts: compilers, a command and its children
//!       └─ copy 1
//! ```
//!
//! Host, supervisor and copies are fresh processes of our own binary. The measuring process
//! starts only the host, without fork, so its memory is not marked copy-on-write; still,
//! start a load before you lock and touch memory.
//!
//! Each copy is a process, so copies share neither address space nor descriptors, like
//! independent programs. Within a copy, loads that need several tasks (net, message, timer,
//! serial, player) use threads. The typist of an editor and the passes of an imitated compiler
//! are processes that the copy starts.
//!
//! The copies of loads that run side by side, such as `player+display`, are numbered
//! consecutively and share one supervisor. Every process and thread is named after its load.
//!
//! # Nothing is left behind
//!
//! [`Containment`] describes what keeps the processes together.
#![forbid(unsafe_code)]

mod containment;
mod copies;
mod counters;
mod error;
mod gate;
mod host;
mod loads;
mod not_granted;
mod processes;
mod request;
mod running;
mod scheduling;
mod site;
mod snapshot;
mod supervisor;
mod surroundings;
mod worker;

pub use containment::Containment;
pub use error::LoadError;
pub use host::{host_main, remove_left};
pub use request::MARK;
#[doc(hidden)]
pub use request::is_message;
pub use running::{HostOptions, RunningLoad};
pub use snapshot::LoadSnapshot;
pub use surroundings::Surroundings;
pub use worker::worker_main;
