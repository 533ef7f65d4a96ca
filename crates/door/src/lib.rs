//! Doors of the delivery server: ways in for programs that are not clients of it.
//!
//! | module | content |
//! |---|---|
//! | [`osc`] | Open Sound Control over UDP, with receipts back |
//! | [`lines`] | JSON lines over a local socket |
//! | [`lsl`] | deliveries as markers of the Lab Streaming Layer |
//! | [`sender`] | what a door has of the server |
//! | [`clock`] | the real-time clock beside the monotonic one, and its jumps |
//! | [`values`] | values of messages as the payload that a device takes |
//!
//! **A door is a client.** It uses [`tactus_stream::Client`] on the server's own socket, so what comes
//! through it is bounded by the credit of that client, and a door that fails takes nothing with it
//! but its own items. docs/osc.md describes what people send.
#![forbid(unsafe_code)]

pub mod clock;
pub mod lines;
pub mod lsl;
pub mod osc;
pub mod sender;
pub mod values;

use tactus_stream::{ClientId, Evidence, Moment, Outcome, Receipt, StreamId};

/// The receipt of an item that the server had when it was killed: it may have come out.
fn unanswered(sequence: u64, due: Moment) -> Receipt {
    Receipt {
        client: ClientId(0),
        sequence,
        stream: StreamId(0),
        due,
        began: None,
        ended: None,
        outcome: Outcome::Unknown,
        evidence: Evidence::None,
        correction: None,
        msc: None,
    }
}
