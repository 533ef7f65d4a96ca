//! The vocabulary of Tactus as types: units, clocks, plans, cells, samples and results.
//!
//! This crate does no I/O and reads no clock. Types that users write as text (a policy, a load,
//! an interval) have `FromStr` and `Display`, which agree with each other, and are serialized
//! in JSON as that text.
#![forbid(unsafe_code)]

pub mod address;
pub mod block_requests;
pub mod bytes;
pub mod cell;
pub mod cost;
pub mod cpus;
pub mod digest;
pub mod experiment;
pub mod facts;
pub mod format;
pub mod frames;
pub mod gate_rule;
pub mod guest;
pub mod host;
pub mod interrupted;
pub mod kernel;
pub mod label;
pub mod limits;
pub mod live;
pub mod load;
pub mod message;
pub mod midi;
pub mod net;
pub mod origin;
pub mod pixels;
pub mod place;
pub mod policy;
pub mod probe;
pub mod protobuf;
pub mod quantum;
pub mod random;
pub mod recording;
pub mod reserve;
pub mod result;
pub mod run;
pub mod sample;
pub mod sample_kind;
pub mod settings;
pub mod sort;
pub mod text;
pub mod time;
pub mod token_bucket;
pub mod traced;
pub mod until;
pub mod varint;
pub mod violation;
pub mod warning;
