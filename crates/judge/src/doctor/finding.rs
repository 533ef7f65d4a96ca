//! What an examination yields.

use std::fmt;

use serde::Serialize;

/// One thing that was checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was checked, as *clock source*.
    pub check: &'static str,
    /// What was found, as a person reads it.
    pub fact: String,
    /// How it stands with it.
    pub state: State,
    /// Why it matters for timing.
    pub why: &'static str,
    /// What it does to a measurement; empty where it does nothing.
    pub effect: String,
    /// The command that mends it, or what to do where no command does. Nobody runs it unasked.
    pub mend: Option<String>,
}

/// How it stands with one thing.
///
/// The order is from the worst to the best, in which findings are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Figures measured so are not those of the machine.
    Invalidates,
    /// Figures are right and have to be read with this in mind.
    Reservation,
    /// It cannot be told here.
    Unknown,
    /// As it should be.
    Fine,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Invalidates => "invalidates",
            Self::Reservation => "reservation",
            Self::Unknown => "unknown",
            Self::Fine => "fine",
        })
    }
}
