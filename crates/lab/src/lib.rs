//! Runs a plan cell by cell on a target.
//!
//! [`engine`] takes the turns of a plan in their order, passes each to a
//! [`target::Target`], stores the results and reports events to a listener. [`host`] is the
//! target that starts a fresh process of our own binary on this machine; `tactus_cell` runs
//! inside that process. `tactus_guests` measures inside other kernels, and is a target too;
//! [`targets`] selects the target of each cell. [`live`] measures a cell that is being watched,
//! and stores nothing; [`causes`] explains its late samples.
#![forbid(unsafe_code)]

pub mod causes;
pub mod engine;
pub mod event;
mod guests;
pub mod host;
pub mod live;
pub mod shipped;
mod taken;
pub mod target;
pub mod targets;
mod turn;
