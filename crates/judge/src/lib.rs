//! Decisions from facts and results.
//!
//! Everything here is a pure function of its arguments: it opens no file and
//! reads no clock, so a decision can be made again from what is stored, on any
//! machine. [`doctor`] says whether a machine is fit to be measured, [`verdict`]
//! whether the figures of a run can be relied on, [`compare`] what differs between
//! two runs, [`gate`] whether a run meets what is demanded, [`kernels`] whether a kernel
//! is worse than another, [`purpose`] how often a deadline is missed.
#![forbid(unsafe_code)]

pub mod compare;
pub mod doctor;
mod finding;
pub mod gate;
pub mod kernels;
pub mod purpose;
pub mod verdict;
