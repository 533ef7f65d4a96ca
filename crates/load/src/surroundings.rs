//! What a load finds around it.

use serde::{Deserialize, Serialize};

/// Where a load runs, as far as that decides what it has to work with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Surroundings {
    /// A machine with its disks and its installed programs.
    #[default]
    Host,
    /// A guest kernel that was booted for this measurement: no disk, no program but ours,
    /// and serial ports that lead nowhere, so that a load may write to them.
    Guest,
}
