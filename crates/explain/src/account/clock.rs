//! The clocks whose ticks bill.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::rate::TickRate;

/// Whose ticks bill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "clock", rename_all = "kebab-case")]
pub enum TickClock {
    /// The kernel's own tick, as it was recorded. It is stopped on an idle processor.
    Kernel,
    /// A tick of this rate on all processors at once, laid over the recording.
    Simulated {
        /// How often it ticks.
        rate: TickRate,
    },
}

impl fmt::Display for TickClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kernel => f.pad("the kernel's tick"),
            Self::Simulated { rate } => f.pad(&format!("a tick of {rate}")),
        }
    }
}
