//! What chores of this repository let a guest do, step by step, and what it answers.
//!
//! A guest of these chores has programs of the host with their libraries, and modules of its
//! kernel; the example `programs` of this crate is its first process.

mod loopback;

use std::ffi::CString;
use std::fs;

use serde::{Deserialize, Serialize};

pub use loopback::{Clicks, Loopback};

/// What a guest is to do.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Request {
    /// Modules of the kernel, each after those that it needs.
    pub modules: Vec<Module>,
    /// The steps, in their order. The first that fails ends the guest.
    pub steps: Vec<Step>,
}

/// A module of the kernel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Module {
    /// Its file in the guest.
    pub file: String,
    /// Its parameters, such as `n_devs=1 node_types=0x1`.
    pub parameters: String,
}

impl Module {
    /// Loads it into the running kernel.
    ///
    /// # Errors
    /// There is no such file, or the kernel refuses it.
    pub fn load(&self) -> Result<(), String> {
        let failed =
            |reason: &dyn std::fmt::Display| format!("cannot load {}: {reason}", self.file);
        let image = fs::read(&self.file).map_err(|error| failed(&error))?;
        let parameters = CString::new(self.parameters.as_str()).map_err(|error| failed(&error))?;
        rustix::system::init_module(&image, &parameters).map_err(|error| failed(&error))
    }
}

/// A step. Each sends one [`Reply`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "step")]
pub enum Step {
    /// Runs a program to its end.
    Run {
        /// Its name and its arguments.
        words: Vec<String>,
    },
    /// Starts a program that runs beside the next steps.
    Start {
        /// Its name and its arguments.
        words: Vec<String>,
    },
    /// Sends a signal to the program that was started last.
    Signal {
        /// The number of the signal.
        number: i32,
    },
    /// Waits for the end of the program that was started last.
    Await,
    /// Does nothing.
    Sleep {
        /// For how long, in milliseconds.
        milliseconds: u64,
    },
    /// Reads a file of text.
    Read {
        /// Its path.
        path: String,
    },
    /// Writes into a file.
    Write {
        /// Its path.
        path: String,
        /// What is written.
        text: String,
    },
    /// Begins to capture at the loopback's other end.
    Capture {
        /// Frames a second.
        rate: u32,
    },
    /// Ends capturing.
    Captured,
}

/// What a step has done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "reply")]
pub enum Reply {
    /// A step without a result.
    Done,
    /// A program has ended.
    Ended {
        /// Its exit code; `None` after a signal.
        code: Option<i32>,
        /// Its standard output.
        output: String,
        /// Its standard error.
        errors: String,
    },
    /// A file.
    Text {
        /// Its content.
        text: String,
    },
    /// What was captured.
    Captured {
        /// The frames of both channels that are not silent.
        clicks: [Clicks; 2],
        /// When the first of them was captured, in nanoseconds of `CLOCK_MONOTONIC`.
        first_at: Option<i64>,
    },
}

/// What the chore `alsa` has played and captured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Heard {
    /// The device.
    pub device: String,
    /// Frames a second.
    pub rate: u32,
    /// Frames of a period.
    pub period: u32,
    /// The frames that are written ahead.
    pub latency: u32,
    /// The positions of clicks after the first, before an xrun and after it.
    pub wanted: Vec<u64>,
    /// The captured frames with the first channel's clicks, from the first, and those of the second.
    pub captured: [Vec<u64>; 2],
    /// The clicks whose level is not the one that was played.
    pub altered: u64,
    /// Clicks that were put while nobody wrote.
    pub cut: u64,
    /// The counts before the xrun: xruns, frames skipped, jumps, frames played, frames cut.
    pub before: [u64; 5],
    /// The counts at the end.
    pub after: [u64; 5],
    /// Between when the first click should be heard and when it was captured, in nanoseconds.
    pub offset: i64,
    /// Why a device that is missing is refused.
    pub missing: String,
    /// Why a device that is used is refused.
    pub busy: String,
}
