//! JSON lines over a local socket: a request is a line, and so is an answer.
//!
//! | module | content |
//! |---|---|
//! | [`request`] | what a line requests |
//! | [`answer`] | what a line answers |
//! | [`session`] | what a connection requests of its client of the server |
//! | [`door`] | the socket, and a thread for each connection |
//!
//! docs/lines.schema.json is the schema of both directions.

pub mod answer;
pub mod door;
pub mod request;
pub mod session;

pub use door::{Door, Options};
