//! The QoS manager: admits programs' needs of CPU time, and divides it among them.
//!
//! The [`Book`] decides, as values: who is admitted, what each should have, and in which order
//! changes happen so that the capacity is never exceeded. The [`Manager`] carries that out on
//! threads.
#![forbid(unsafe_code)]

mod adapt;
mod bandwidth;
mod book;
mod elastic;
mod ledger;
pub mod machine;
mod manager;
mod meter;
mod metered;
pub mod policy;
mod subject;

pub use bandwidth::Bandwidth;
pub use book::{Book, Moment, Step};
pub use ledger::{BadLedger, Ledger};
pub use manager::{Client, Manager, NotReserved, Notice, RESERVES_MOST};
pub use policy::{Caps, Policy};
pub use subject::{NotASubject, Started, Subject};
