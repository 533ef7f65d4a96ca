//! What a load asked for and did not get, told by one process and explained by another.

use serde::{Deserialize, Serialize};
use tactus_model::cpus::{CpuChoice, CpuList};
use tactus_model::facts::MachineFacts;
use tactus_model::policy::Scheduling;
use tactus_model::result::Shortfall;
use tactus_sys::Errno;
use tactus_sys::permission::{Asked, diagnose};

/// What a load asked for and did not get.
///
/// Why the kernel refuses is found out by the measuring process: a copy lives in
/// namespaces of our own making and would take them for somebody's container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum NotGranted {
    /// Something whose reason is known where it happened.
    Known(Shortfall),
    /// A scheduling class.
    Scheduling {
        asked: Scheduling,
        /// The processors that the copy was confined to.
        confined_to: Option<CpuList>,
        /// What it runs as instead.
        granted: Scheduling,
        /// The kernel's answer, as errno(3) numbers it.
        errno: i32,
    },
    /// To run on these processors only.
    Processors { asked: CpuList, errno: i32 },
}

impl NotGranted {
    /// Says why, from what is known of the machine.
    pub(crate) fn explain(self, facts: &MachineFacts) -> Shortfall {
        let (asked, errno, words) = match self {
            Self::Known(shortfall) => return shortfall,
            Self::Scheduling { asked, confined_to, granted, errno } => (
                Asked::Scheduling { scheduling: asked, confined_to },
                errno,
                (format!("load-policy {asked}"), format!("load-policy {granted}")),
            ),
            Self::Processors { asked, errno } => {
                let words = (format!("load-cpus {asked}"), format!("load-cpus {}", CpuChoice::All));
                (Asked::Processors(asked), errno, words)
            }
        };
        let diagnosis = diagnose(&asked, Errno::from_raw_os_error(errno), facts);
        let (asked, granted) = words;
        Shortfall { asked, granted, reason: diagnosis.reason, fix: diagnosis.mend }
    }
}
