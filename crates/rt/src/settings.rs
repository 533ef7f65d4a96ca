//! Settings of the machine that are changed for a while and put back after.
//!
//! They are the machine's, so they must be put back whatever becomes of the program that
//! wanted the change. A process of our own, the guardian, changes them and waits for the end
//! of its standard input, which comes when that program ends, however it ends. The guardian
//! first notes each old value in a file: when the guardian itself is killed, the next program
//! puts the values back ([`put_back_left`]).
//!
//! ```no_run
//! # use tactus_rt::settings::{ChangedSettings, SettingChange, put_back_left};
//! # fn change(executable: &std::path::Path) -> Result<(), tactus_rt::settings::NotChanged> {
//! put_back_left("/".as_ref());
//! let changes = vec![
//!     SettingChange::new("proc/sys/kernel/sched_rr_timeslice_ms", 10),
//!     SettingChange::new("proc/irq/24/smp_affinity_list", "0-1"),
//! ];
//! let changed = ChangedSettings::make(executable, changes)?;
//! // … the work that needs them …
//! drop(changed);
//! # Ok(())
//! # }
//! ```

mod changed;
mod guardian;

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tactus_sys::{Errno, process};

pub use changed::put_back_left;
pub use guardian::guardian_main;
use guardian::{Guardian, Request};

/// A setting and the value that it is to have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingChange {
    /// Its file, below the root.
    pub path: PathBuf,
    /// The value, as the kernel takes it; [`VALUE_MAX`](tactus_sys::setting::VALUE_MAX) bytes at most.
    pub value: String,
}

impl SettingChange {
    /// Asks for `value` in the file at `path`, which is relative to the root.
    pub fn new(path: impl Into<PathBuf>, value: impl Display) -> Self {
        Self { path: path.into(), value: value.to_string() }
    }
}

/// Why a setting was not changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{reason}")]
pub struct NotChanged {
    /// The reason, in a sentence.
    pub reason: String,
    /// What would permit the change, where something would.
    pub fix: Option<String>,
}

impl NotChanged {
    /// Gives a reason and a fix.
    pub fn new(reason: impl Into<String>, fix: Option<&str>) -> Self {
        Self { reason: reason.into(), fix: fix.map(str::to_owned) }
    }

    /// Says what an answer of the system means, when it was asked to do `what`.
    pub fn of(what: &str, error: &io::Error) -> Self {
        Self::of_user(what, error, process::effective_user())
    }

    fn of_user(what: &str, error: &io::Error, user: u32) -> Self {
        match Errno::from_io_error(error) {
            Some(Errno::NOENT) => {
                Self::new(format!("{what}: this kernel has no such setting"), None)
            }
            Some(Errno::ACCESS | Errno::PERM) if user == 0 => Self::new(
                format!("{what}: the kernel refuses it to this root user"),
                Some("start it outside of the container, or without kernel lockdown"),
            ),
            Some(Errno::ACCESS | Errno::PERM) => {
                Self::new(format!("{what}: only root may"), Some("start it by sudo"))
            }
            Some(Errno::ROFS) => Self::new(
                format!("{what}: the container may not change it"),
                Some("start it outside of the container"),
            ),
            Some(Errno::WOULDBLOCK) => Self::new(
                format!("{what}: another measurement holds it"),
                Some("wait until that has ended"),
            ),
            _ => Self::new(format!("{what}: {error}"), None),
        }
    }
}

/// Settings that are changed for as long as this value lives. Dropping it waits until they
/// are put back.
#[derive(Debug)]
pub struct ChangedSettings {
    _guardian: Guardian,
}

impl ChangedSettings {
    /// Changes all of the settings, or none of them, by a guardian.
    ///
    /// The guardian is the program `executable`, which must run [`guardian_main`] when its
    /// arguments are `internal guardian`.
    ///
    /// # Errors
    /// One of the settings cannot be changed. The machine is as it was.
    pub fn make(executable: &Path, changes: Vec<SettingChange>) -> Result<Self, NotChanged> {
        let request = Request { root: "/".into(), changes };
        Guardian::start(executable, &request).map(|guardian| Self { _guardian: guardian })
    }
}

#[cfg(test)]
mod tests;
