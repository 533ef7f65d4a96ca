//! Runs a plan cell by cell on a target.
//!
//! [`engine`] takes the turns of a plan one after another, hands each to a
//! [`target::Target`], keeps what comes back in the store and tells a listener
//! what happens. [`host`] is the target that starts a fresh process of our own
//! binary on this machine; `tactus_cell` is what runs inside that process. `tactus_guests`
//! measures inside other kernels, and is a target too; [`targets`] has each cell measured where
//! its plan says. [`live`] measures a cell that is looked at meanwhile, and keeps nothing;
//! [`causes`] explains its late samples.
#![forbid(unsafe_code)]

pub mod causes;
pub mod engine;
pub mod event;
mod guests;
pub mod host;
pub mod live;
pub mod shipped;
pub mod target;
pub mod targets;
