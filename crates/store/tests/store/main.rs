//! Tests of the store as a whole.

mod common;
mod runs;
