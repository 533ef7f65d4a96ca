//! Decisions from facts and results.
//!
//! All functions here are pure: they open no file and read no clock, so a decision can
//! be recomputed from stored data on any machine. [`doctor`] decides whether a machine
//! is fit for measurements, [`verdict`] whether the figures of a run are reliable,
//! [`compare`] what differs between two runs, [`gate`] whether a run meets given demands,
//! [`kernels`] whether one kernel is worse than another, [`purpose`] how often a
//! deadline is missed, [`need`] which reserve a periodic thread needs, [`history`] how a figure changed from run to run,
//! [`machines`] how the machines of a fleet differ, and [`costs`] what limits the
//! costs of operations.
#![forbid(unsafe_code)]

pub mod compare;
pub mod costs;
pub mod doctor;
mod finding;
pub mod gate;
pub mod history;
pub mod kernels;
pub mod machines;
pub mod need;
pub mod purpose;
pub mod verdict;
