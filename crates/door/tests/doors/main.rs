//! Doors of a running server.
#![forbid(unsafe_code)]

#[path = "../../../streamd/tests/common/mod.rs"]
#[expect(dead_code, reason = "the tests of the server use more of it")]
mod common;
mod lines;
mod lsl;
mod osc;
mod peers;
mod support;
