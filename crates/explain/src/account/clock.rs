//! The clocks whose ticks bill CPU time.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::rate::TickRate;

/// The clock whose ticks bill CPU time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "clock", rename_all = "kebab-case")]
pub enum TickClock {
    /// The kernel's own tick as recorded. The kernel stops it on an idle CPU.
    Kernel,
    /// A simulated tick of this rate on all CPUs at once, laid over the recording.
    Simulated {
        /// The tick rate.
        rate: TickRate,
    },
}

impl fmt::Display for TickClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kernel => f.pad("the kernel's tick"),
            Self::Simulated { rate } => f.pad(&format!("a tick of {}", rate.in_words())),
        }
    }
}
