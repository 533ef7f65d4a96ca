//! The use cases of Tactus: what a person asks of it, from resolved values.
//!
//! The command reads arguments and prints; a daemon or a results site reads requests and
//! answers. Each asks here for the same things: [`plan`] and [`measure`] carry out an
//! experiment, [`runs`] finds a run in the store or in a file, and what is concluded from it
//! ([`overview`], [`explain`], [`accounts`], [`tail`], [`compare`], [`gate`], [`page`]) takes
//! it from either place alike.
//!
//! Nothing here prints, and nothing reads the environment but [`Places::of_process`]. Progress
//! goes to a listener. An [`Error`] carries its kind and what to do about it.
#![forbid(unsafe_code)]

pub mod accounts;
mod cells;
pub mod compare;
pub mod doctor;
mod error;
pub mod explain;
pub mod export;
pub mod files;
pub mod flight;
pub mod gate;
pub mod import;
pub mod kernel_gate;
pub mod kernels;
pub mod measure;
pub mod overview;
pub mod page;
mod places;
pub mod plan;
pub mod record;
mod recording;
pub mod reproduce;
pub mod runs;
mod subject;
pub mod tail;
pub mod waits;
pub mod watch;

pub use error::{Error, ErrorKind, Result};
pub use places::{BuildListener, Places};
pub use subject::Subject;
