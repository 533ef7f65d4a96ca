//! The QoS manager: admits programs' needs of CPU time, and divides it among them.
//!
//! The [`Book`] decides, as values: who is admitted, what each should have, and in which order
//! changes happen so that the capacity is never exceeded. The [`Manager`] carries that out on
//! threads.
#![forbid(unsafe_code)]

mod adapt;
mod bandwidth;
mod book;
mod calls;

mod connection;
mod elastic;
mod kept;
mod ledger;
pub mod listener;
pub mod machine;
mod manager;
mod meter;
mod metered;
pub mod policy;
mod server;
mod start;
mod subject;
mod watch;

pub use bandwidth::Bandwidth;
pub use book::{Book, Step};
pub use connection::{CALL_TIME, EVENT_BYTES, REPLY_TIME};
pub use ledger::{BadLedger, Ledger};
pub use manager::{Client, Manager, NotReserved, Notice, RESERVES_MOST, What};
pub use policy::{Caps, Policy};
pub use server::{CONNECTIONS_MOST, ManagerHandle, Report, Server};
pub use start::{Found, NotStarted, POLICY, Places, STATE, start};
pub use subject::{NotASubject, Started, Subject};
pub use tactus_model::time::Moment;
