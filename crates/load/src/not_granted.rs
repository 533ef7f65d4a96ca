//! What was requested for a load and not granted: sent by one process, explained by another.

use serde::{Deserialize, Serialize};
use tactus_model::cpus::CpuChoice;
use tactus_model::facts::MachineFacts;
use tactus_model::result::Shortfall;

/// What was requested for a load and not granted.
///
/// The measuring process finds out why the kernel refuses: a copy lives in namespaces of our
/// own, and would mistake them for a container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum NotGranted {
    /// A refusal whose reason is known where it happened.
    Known(Shortfall),
    /// The class or the CPUs of a copy.
    ToThread(tactus_prepare::NotGranted),
}

impl NotGranted {
    /// Explains the refusal from facts about the machine, with the names of a plan's settings.
    pub(crate) fn explain(self, facts: &MachineFacts) -> Shortfall {
        let refused = match self {
            Self::Known(shortfall) => return shortfall,
            Self::ToThread(refused) => refused,
        };
        let shortfall = refused.explain(facts);
        let (asked, granted) = match refused {
            tactus_prepare::NotGranted::Scheduling { asked, granted, .. } => {
                (format!("load-policy {asked}"), format!("load-policy {granted}"))
            }
            tactus_prepare::NotGranted::Cpus { asked, .. } => {
                (format!("load-cpus {asked}"), format!("load-cpus {}", CpuChoice::All))
            }
            // A copy asks for nothing else.
            _ => return shortfall,
        };
        Shortfall { asked, granted, ..shortfall }
    }
}
