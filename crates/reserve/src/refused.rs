//! Why no rung granted a reserve.

use tactus_model::time::Nanos;
use tactus_sys::SysError;

use crate::Rung;

/// The refusal of one rung.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedRung {
    /// The rung.
    pub rung: Rung,
    /// The reason, as a sentence.
    pub reason: String,
    /// The command or step that would permit it, if known.
    pub fix: Option<String>,
}

/// Why a reserve was not granted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Every rung refused.
    #[error("no reserve: {}", reasons(.rungs))]
    Rungs {
        /// The refusals, in the order of the ladder.
        rungs: Vec<RefusedRung>,
        /// The largest cost that would be granted for the period and deadline, if known.
        largest_cost: Option<Nanos>,
    },
    /// The thread has ended, or its settings cannot be read.
    #[error(transparent)]
    Thread(#[from] SysError),
}

fn reasons(rungs: &[RefusedRung]) -> String {
    let reasons: Vec<&str> = rungs.iter().map(|refused| refused.reason.as_str()).collect();
    reasons.join("; ")
}
