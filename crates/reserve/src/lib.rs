//! Reserves: CPU capacity that is granted to a thread, kept, and metered.
//!
//! A [`Reserve`] guarantees a [`Capacity`](tactus_model::reserve::Capacity) to one thread by the
//! best mechanism that the machine permits. The mechanisms are the [`Rung`]s of a ladder: each
//! promises less than the one before. A rung is tried, not predicted; a refusal has its reason,
//! its fix and the largest cost that would be granted.
#![forbid(unsafe_code)]

mod refused;
mod reserve;
mod rung;

pub use refused::{Refused, RefusedRung};
pub use reserve::Reserve;
pub use rung::Rung;
