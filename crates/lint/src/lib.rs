//! What real-time code did that it must not: system calls, page faults, allocations and contended
//! locks, each with the function, the file and the line.
//!
//! A program guards the real-time section of its loop:
//!
//! ```
//! use tactus_lint::{Lint, Options};
//!
//! let lint = Lint::start(Options::default().allow(["sched_yield"]))?;
//! let mut guard = lint.guard()?;
//! for _ in 0..3 {
//!     // Here the loop sleeps until its next period.
//!     guard.run(|| {
//!         // Here it does its work.
//!         std::hint::black_box(7)
//!     });
//! }
//! for violation in lint.report().violations {
//!     println!("{violation}");
//! }
//! # Ok::<(), tactus_lint::LintError>(())
//! ```
//!
//! What a section did is caught in its thread ([`tactus_sys::section`]) and goes on as if nobody
//! watched. A thread in the background finds the line: it unwinds a copy of the stack by the
//! unwinding tables of the program and its libraries ([`Code`]). Frame pointers would be cheaper,
//! but the C library of most distributions has none: a chain of frame pointers from its `write`
//! lacks the function that called it.
//!
//! [`Code`] does the same for other processes; `tactus lint` uses it.
#![forbid(unsafe_code)]

mod act;
mod code;
mod collector;
mod file;
mod frame;
mod guard;
mod maps;

pub use act::{fault, system_call};
pub use code::Code;
pub use guard::{Guard, Lint, LintError, Options, Section};
pub use tactus_model::violation::{CodePlace, LintReport, Violation, ViolationKind};
pub use tactus_sys::section::{Allocator, outside};
