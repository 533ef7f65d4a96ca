//! What goes wrong in programs, with the task and the time.

use crate::draft::NotADraft;
use crate::tempo::TempoError;
use crate::time::Time;

/// The most steps of a branch at one logical time: waits, items, new tasks and cuts.
pub const STEPS: u32 = 100_000;

/// The most branches of a score.
pub const BRANCHES: usize = 1 << 10;

/// Why a task cannot go on. Tasks pass it on by `?`.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Problem {
    /// A beat has no time, or a tempo is impossible.
    #[error(transparent)]
    Tempo(#[from] TempoError),
    /// A draft has no payload.
    #[error(transparent)]
    NotADraft(#[from] NotADraft),
    /// Too much happens at one logical time.
    #[error("{STEPS} steps at one logical time: the branch loops without awaiting a later time")]
    Steps,
    /// A branch more than there may be.
    #[error("the score has {BRANCHES} branches, the most that it may have")]
    Branches,
    /// The task waits, but not for logical time.
    #[error("the task awaits something other than logical time, or was woken by it")]
    Awaits,
    /// There is no branch of this name.
    #[error("there is no branch '{0}'{hint}", hint = hint(.1.as_deref()))]
    NoBranch(String, Option<String>),
    /// Something of the program's own.
    #[error("{0}")]
    Other(String),
}

/// A task that ended because of a [`Problem`]. Other tasks go on.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("task '{task}' ended at {at}: {problem}")]
pub struct Fault {
    /// The name of its branch.
    pub task: String,
    /// When.
    pub at: Time,
    /// Why.
    pub problem: Problem,
}

/// The nearest valid choice, at the end of a message.
fn hint(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean '{name}'?"))
}
