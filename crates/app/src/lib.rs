//! The use cases of Tactus, called with resolved values.
//!
//! The command parses arguments and prints; a daemon or a results site receives requests and
//! replies. All of them call this crate: [`plan`] and [`measure`] carry out an experiment,
//! [`runs`] finds a run in the store or in a file, and [`overview`], [`explain`], [`accounts`],
//! [`tail`], [`compare`], [`gate`] and [`page`] draw conclusions from it, wherever it is. [`admit`]
//! reads a plan of tasks, [`need`] measures what they need, and [`model`] predicts a pipeline.
//!
//! Nothing here prints, and only [`Places::of_process`] reads the environment. Progress goes to
//! a listener. An [`Error`] has a kind and a hint; a hint names the command's options.
#![forbid(unsafe_code)]

pub mod accounts;
pub mod admit;
pub mod bisect;
mod build_event;
pub mod catalogue;
pub mod cluster;
pub mod compare;
pub mod costs;
pub mod doctor;
mod error;
pub mod explain;
pub mod export;
pub mod files;
pub mod flight;
pub mod gate;
mod guest_program;
pub mod import;
pub mod jobs;
pub mod judge;
pub mod kernel_gate;
pub mod kernels;
pub mod lab_setup;
pub mod lint;
pub mod machines;
pub mod measure;
pub mod model;
pub mod need;
pub mod nodes;
pub mod overview;
pub mod page;
mod places;
pub mod plan;
pub mod record;
pub mod recording;
pub mod reproduce;
pub mod reserve;
pub mod runs;
mod subject;
pub mod tail;
pub mod target;
pub mod waits;
pub mod watch;
pub mod why;

pub use build_event::{BuildEvent, BuildListener};
pub use error::{Error, ErrorKind, Result};
pub use places::Places;
pub use subject::Subject;
