//! Reserves: CPU capacity that is granted to a thread, kept, and metered.
//!
//! A [`Reserve`] guarantees a [`Capacity`](tactus_model::reserve::Capacity) to one thread by the
//! best mechanism that the machine permits. The mechanisms are the [`Rung`]s of a ladder: each
//! promises less than the one before. A rung is tried, not predicted; a refusal has its reason,
//! its fix and the largest cost that would be granted.
//!
//! ```no_run
//! use tactus_reserve::{Reserve, Rung};
//! use tactus_prepare::ThreadRef;
//!
//! let capacity = "3ms/10ms".parse()?;
//! let mut reserve = Reserve::grant(ThreadRef::Calling, capacity, Rung::KEEPING)?;
//! println!("{}: {}", reserve.rung(), reserve.rung().promise());
//! // … the work …
//! println!("used {}", reserve.usage()?.used);
//! reserve.change("4ms/10ms".parse()?)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod enforcer;
mod groups;
mod partition;
mod priority;
pub mod program;
mod refused;
mod reserve;
mod spare;

pub use partition::Partition;
pub use refused::Refused;
pub use reserve::{Reserve, Usage, kept};
pub use spare::{debt, debt_most, largest_deadline_cost, release_time, repayment};
pub use tactus_model::reserve::{RefusedRung, Rung};
