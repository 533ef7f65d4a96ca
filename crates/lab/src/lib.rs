//! Runs a plan cell by cell on a target.
//!
//! [`engine`] takes the turns of a plan one after another, hands each to a
//! [`target::Target`], keeps what comes back in the store and tells a listener
//! what happens. [`host`] is the target that starts a fresh process of our own
//! binary on this machine; `tactus_cell` is what runs inside that process. [`stream`] measures
//! a cell that is looked at meanwhile, and keeps nothing; [`causes`] explains its late samples.
//! [`guest`] is the target that measures inside another kernel, and [`floor`] what a bare
//! executive comes to beside them.
#![forbid(unsafe_code)]

pub mod causes;
pub mod engine;
pub mod event;
pub mod floor;
pub mod guest;
pub mod host;
pub mod kernels;
pub mod shipped;
pub mod stream;
pub mod target;
pub mod targets;
