//! Imports results of other latency tools as runs, for comparison with those of Tactus.
//!
//! Only the data in a tool's file is used. Missing data (the load, the machine, due times that
//! the tool skipped without counting) stays unknown in the run, and coarse figures stay coarse:
//! see [`tactus_model::origin`].
//!
//! ```
//! use tactus_import::{Format, File, Options, run_of};
//!
//! let text = b"{\"cpu\": {\"0\": {\"histogram\": {\"3\": 9, \"4\": 1}, \"count\": 10, \"min\": 3, \"max\": 4}}}";
//! assert_eq!(Format::recognise(text).unwrap(), Format::JitterdebuggerJson);
//! let file = File { name: "results.json".to_owned(), content: text.to_vec(), modified: None };
//! let run = run_of(&[file], &Options::default()).unwrap();
//! assert_eq!(run.measurements[0].accounting().observed, 10);
//! assert!(!run.header.plan.cells[0].knows("load"));
//! ```
//!
//! This crate opens no file and reads no clock.
#![forbid(unsafe_code)]

mod assemble;
mod command_line;
mod counts;
mod cyclictest;
mod error;
mod format;
mod hdr_histogram;
mod hdr_log;
mod jitterdebugger;
mod oslat;
mod result;
mod rt_tests;
mod tally;
mod timerlat;

pub use assemble::{File, Options, run_of};
pub use error::ImportError;
pub use format::Format;
pub use hdr_log::{HdrError, hdr_log};
