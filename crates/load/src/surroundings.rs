//! The environment of a load.

use serde::{Deserialize, Serialize};

/// Where a load runs, as far as this decides what it can use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Surroundings {
    /// A machine with its disks and its installed programs.
    #[default]
    Host,
    /// A guest kernel that was booted for this measurement: no disk, no programs except ours,
    /// and serial ports that are connected to nothing, so a load may write to them.
    Guest,
}
