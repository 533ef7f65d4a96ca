//! A drop-in for rtkit: real-time priority by D-Bus, with CPU time that is admitted and kept.
//!
//! [rtkit](https://github.com/heftig/rtkit) gives a real-time priority to whoever asks, and counts
//! threads. This crate serves the same interface, `org.freedesktop.RealtimeKit1`, so that clients
//! need no change. It admits by CPU time: each thread is granted a [budget](Budgets) in every
//! period, and is an ordinary thread once it has used it, until the next period. A thread that
//! does so again and again loses its priority.
//!
//! - [`Policy`] has the limits; [`Limits`] are those that clients can read.
//! - An [`Admission`] divides the CPU time: the [manager of reserves](Managed).
//! - [`meter`] decides when a thread is throttled, without a clock.
//! - [`Keeper`] is a real-time thread that checks, grants and watches.
//! - [`serve`] connects a keeper with a bus.
#![forbid(unsafe_code)]

mod admission;
mod interface;
mod keeper;
pub mod meter;
mod policy;
mod subject;

pub use admission::{Admission, Budgets, GrantId, Managed};
pub use interface::{Bus, NotServed, Served, serve};
pub use keeper::{Caller, GrantStatus, Keeper, Request};
pub use policy::{Limits, Policy, Refused};
