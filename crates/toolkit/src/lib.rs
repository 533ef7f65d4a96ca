//! Programs in logical time, performed by the delivery server.
//!
//! [`tactus_score`] has the programs, and runs them in virtual time. Here a [`Stage`] performs the
//! same programs live: it is a client of the server `tactus streamd`. docs/toolkit.md begins with an
//! example.
//!
//! | module | content |
//! |---|---|
//! | [`stage`] | a score and its connection to the server |
//! | [`error`] | what ends a performance |
//! | [`watchdog`] | how long a task may run |
#![forbid(unsafe_code)]

pub mod error;
pub mod stage;
pub mod watchdog;

pub use error::StageError;
pub use stage::{Report, Stage};
pub use tactus_delivery::item::{IfLate, Moment};
pub use tactus_delivery::receipt::{Evidence, Outcome, Receipt};
pub use tactus_model::time::Nanos;
pub use tactus_score::*;
pub use tactus_stream::{Client, ConnectError, SOCKET, Wanted};

/// The programs of the guide compile.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/toolkit.md")]
struct Guide;
