//! Every system call of Tactus, and all its `unsafe` code.
//!
//! Each module is one facility of the system; each public function is safe,
//! mirrors one call and links its man page. Nothing here decides anything: what
//! a refusal means and what to do about it is said elsewhere, from values.

pub mod error;

pub use error::{Errno, SysError};
