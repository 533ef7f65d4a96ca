//! Settings of the machine that are changed temporarily and then restored.
//!
//! They affect the whole machine, so they must be restored however the program ends that
//! requested the change. A process of our own, the [`Guardian`], changes them and waits for the
//! end of its standard input, which closes when that program ends. The guardian first notes
//! each old value in a file: if the guardian itself is killed, its program restores the values,
//! and if both were killed, the next program ([`restore_left`]).
//!
//! The guardian also removes the instances of tracefs and the control groups that its program
//! leaves: tracepoints would stay enabled for the whole machine, and budgets and CPUs taken. It
//! returns threads to their policy if the program that changed it is killed.
//!
//! ```no_run
//! # use tactus_settings::{Guardian, SettingChange, NotChanged, restore_left};
//! # fn change(executable: &std::path::Path) -> Result<(), NotChanged> {
//! let reports = restore_left("/".as_ref());
//! let changes = vec![
//!     SettingChange::new("proc/sys/kernel/sched_rr_timeslice_ms", 10),
//!     SettingChange::new("sys/block/sda/queue/max_sectors_kb", 4),
//! ];
//! let guardian = Guardian::start(executable, changes)?;
//! // … the work that needs them …
//! let reports = guardian.end();
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod changed;
mod guardian;
mod kept_threads;
mod last_first;
mod notes;

use std::fmt::Display;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tactus_permission::{Asked, Diagnosis};
use tactus_sys::Errno;

use tactus_prepare::diagnose_here;

pub use changed::restore_left;
pub use guardian::{Guardian, guardian_main};
pub use kept_threads::KeptThread;
pub use last_first::LastFirst;

/// A setting and its new value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingChange {
    /// Its file, below the root: one of [`CHANGEABLE`](tactus_sys::setting::CHANGEABLE).
    pub path: PathBuf,
    /// The value as the kernel reads it; [`VALUE_MAX`](tactus_sys::setting::VALUE_MAX) bytes at most.
    pub value: String,
}

impl SettingChange {
    /// Requests `value` for the file at `path`, which is relative to the root.
    pub fn new(path: impl Into<PathBuf>, value: impl Display) -> Self {
        Self { path: path.into(), value: value.to_string() }
    }
}

/// Why a setting was not changed, or not restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{reason}")]
pub struct NotChanged {
    /// The reason, in a sentence.
    pub reason: String,
    /// The command or step that would permit the change, if known.
    pub fix: Option<String>,
}

impl NotChanged {
    /// Creates an error from a reason and a fix.
    pub fn new(reason: impl Into<String>, fix: Option<&str>) -> Self {
        Self { reason: reason.into(), fix: fix.map(str::to_owned) }
    }

    /// Explains an error of the system during `what`.
    pub fn of(what: &str, error: &io::Error) -> Self {
        let Some(errno) = Errno::from_io_error(error) else {
            return Self::new(format!("{what}: {error}"), None);
        };
        let Diagnosis { reason, fix } = diagnose_here(&Asked::Setting, errno);
        Self { reason: format!("{what}: {reason}"), fix }
    }
}

#[cfg(test)]
mod tests;
