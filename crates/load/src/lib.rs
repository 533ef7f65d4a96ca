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
//!    └─ keeper       starts the copies, tells when all work, sees who ends
//!       ├─ copy 0    `tactus internal load-worker`: one copy at work
//!       │  └─ …      what the copy starts: compilers, a command and its children
//!       └─ copy 1
//! ```
//!
//! Host, keeper and copies are fresh processes of our own binary. The measuring
//! process starts only the host, and does so without fork, so its memory is not
//! marked for copying; all the same a load is best started before memory is locked
//! and touched.
//!
//! A copy is a process of its own, so that copies share neither address space nor
//! descriptors with each other, as independent programs would not. Within a copy,
//! loads that need several tasks (net, message, timer, serial, player) use threads; who
//! types into an editor is a process that the copy starts, and so are the passes of a
//! compiler that is imitated.
//!
//! Of loads side by side, as `player+display`, the copies are numbered through and kept
//! by one keeper. Every process and thread bears the name of its load.
//!
//! # Nothing is left behind
//!
//! See [`Containment`] for what holds the processes together.
#![forbid(unsafe_code)]

mod containment;
mod copies;
mod counters;
mod directory;
mod error;
mod gate;
mod host;
mod keeper;
mod loads;
mod not_granted;
mod order;
mod processes;
mod running;
mod scheduling;
mod site;
mod snapshot;
mod surroundings;
mod worker;

pub use containment::Containment;
pub use error::LoadError;
pub use host::host_main;
pub use order::MARK;
pub use running::{HostOptions, RunningLoad};
pub use snapshot::LoadSnapshot;
pub use surroundings::Surroundings;
pub use worker::worker_main;
