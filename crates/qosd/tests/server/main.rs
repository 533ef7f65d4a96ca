//! The manager's server, with clients of this process and of others.
//!
//! Reserves are tiny, and the deadline class needs permission: without it, those tests are skipped.

mod clients;
mod examples;
mod hostile;
mod support;
