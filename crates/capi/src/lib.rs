//! The C library: real-time threads, FIFOs and shared blocks, and timed delivery, for programs in C
//! and in every language that can call C. `include/tactus_rt.h` and `include/tactus.h` are its
//! headers, and `docs/c.md` the guide.
//!
//! - Functions return 0 or more, or a negative number of `errno.h`. Then [`trt_error`] has a
//!   sentence with the fix.
//! - Handles are numbers that contain a kind and a generation: one that is closed, or of another
//!   kind, is refused.
//! - No panic leaves a function.
//!
//! [`trt_error`]: failure::trt_error
#![expect(non_camel_case_types, reason = "types have the names that C programs use")]

pub mod alarms;
pub mod channel;
pub mod clock;
// It has a header of its own.
/// cbindgen:ignore
pub mod delivery;
pub mod failure;
mod handles;
pub mod lock;
mod own;
pub mod program;
mod text;
pub mod thread;
pub mod violation;
