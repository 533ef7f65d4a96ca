//! Tests of the store as a whole.

mod common;
mod exchange;
mod files;
mod helper;
mod killed;
mod mutation;
mod reading;
mod runs;
mod schema;
mod server;
mod writers;
