//! Preparing threads for real-time work.
//!
//! A program becomes a real-time program in these steps. Each is tried, not predicted: a
//! refusal of the kernel becomes a [`Shortfall`](tactus_model::result::Shortfall) with the
//! reason and the fix, and the best permitted setting takes effect instead.
//!
//! | step | here | why |
//! |---|---|---|
//! | take memory | [`TouchedVec`] | the first use of a page is a page fault |
//! | limit idle states | [`Preparation::limit_idle_states`] | a deep idle state takes long to leave |
//! | choose CPU and policy | [`Preparation::place`] | threads of lower policies cannot delay the thread |
//! | touch the stack | [`touch_stack`] | its first use is a page fault too |
//! | rehearse | [`rehearse`] | code and data are resident before they are needed |
//! | lock memory | [`Preparation::lock_memory`] | resident pages stay resident |
//! | read the result | [`Preparation::finish`] | reports what was granted and what was refused |
//!
//! Lock memory last: it covers only what is mapped by then.
//!
//! # A loop of your own
//!
//! `cargo run -p tactus-prepare --example periodic` runs this:
//!
//! ```no_run
#![doc = include_str!("../examples/periodic.rs")]
//! ```
//!
//! # Other threads
//!
//! [`ThreadRef`] gives a policy and CPUs to any thread, by its ID or by a pidfd.
#![forbid(unsafe_code)]

mod memory;
mod not_granted;
mod preparation;
mod rehearsal;
mod schedule;
mod thread;

pub use memory::{TouchedVec, touch_stack};
pub use not_granted::{NotGranted, diagnose_here};
pub use preparation::{Preparation, Prepared, limit_idle_states};
pub use rehearsal::{Rehearsal, rehearse};
pub use thread::ThreadRef;
