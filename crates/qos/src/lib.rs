//! Asks the QoS manager `tactus qosd` for CPU time: the protocol, and a blocking client.
#![forbid(unsafe_code)]

mod answer;
mod need;

pub use answer::{Constraint, Event, Fit, Grant, Refusal, ReserveId, ReserveStatus, Status, Usage};
pub use need::{BadNeed, IMPORTANCE_MOST, IMPORTANCE_USUAL, Need, Overrun, Terms};
