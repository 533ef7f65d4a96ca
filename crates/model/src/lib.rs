//! The words of Tactus as types: units, clocks, plans, cells, samples and results.
//!
//! Nothing here does I/O or reads a clock. A type that a person writes as text
//! (a policy, a load, an interval) has `FromStr` and `Display`, which agree with
//! each other, and travels in JSON as that text.
#![forbid(unsafe_code)]

pub mod block_requests;
pub mod cell;
pub mod cpus;
pub mod digest;
pub mod experiment;
pub mod facts;
pub mod format;
pub mod frames;
pub mod guest;
pub mod kernel;
pub mod label;
pub mod load;
pub mod message;
pub mod origin;
pub mod policy;
pub mod probe;
pub mod quantum;
pub mod random;
pub mod recording;
pub mod result;
pub mod run;
pub mod sample;
pub mod settings;
pub mod sort;
pub mod stream;
pub mod text;
pub mod time;
pub mod traced;
pub mod until;
pub mod varint;
