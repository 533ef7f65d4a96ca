//! Settings of the machine that are changed temporarily and then restored.
//!
//! They affect the whole machine, so they must be restored however the program ends that
//! requested the change. A process of our own, the guardian, changes them and waits for the
//! end of its standard input, which closes when that program ends. The guardian first notes
//! each old value in a file: if the guardian itself is killed, the next program restores the
//! values ([`put_back_left`]).
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
mod last_first;

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tactus_permission::{Asked, Diagnosis};
use tactus_sys::Errno;

use crate::diagnose_here;

pub use changed::put_back_left;
pub use guardian::guardian_main;
use guardian::{Guardian, Request};
pub use last_first::LastFirst;

/// A setting and its new value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingChange {
    /// Its file, below the root.
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

/// Why a setting was not changed.
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

/// Settings that stay changed while this value lives. Dropping it waits until they are
/// restored, the last change first, for a minute at most.
#[derive(Debug)]
pub struct ChangedSettings {
    _guardian: Guardian,
}

impl ChangedSettings {
    /// Changes all of the settings, or none of them, through a guardian.
    ///
    /// The guardian is the program `executable`, which must run [`guardian_main`] when its
    /// arguments are `internal guardian`.
    ///
    /// # Errors
    /// One of the settings cannot be changed. The machine is unchanged.
    pub fn make(executable: &Path, changes: Vec<SettingChange>) -> Result<Self, NotChanged> {
        let request = Request { root: "/".into(), changes };
        Guardian::start(executable, &request).map(|guardian| Self { _guardian: guardian })
    }
}

#[cfg(test)]
mod tests;
