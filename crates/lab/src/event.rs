//! The engine's events during a run.

use serde::Serialize;
use tactus_model::experiment::{Plan, Turn};
use tactus_model::result::{Failure, Measurement, Shortfall};
use tactus_model::run::{RunId, RunStatus};
use tactus_model::time::Nanos;
use tactus_model::until::Until;
use tactus_stats::narrow::{Narrowness, Next};

/// An event of a run.
///
/// In JSON, each is an object whose key `event` names it; durations are in whole nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event<'a> {
    /// The run is in the store; its first turn follows.
    RunStarted {
        /// Its name.
        run: &'a RunId,
        /// Its plan.
        plan: &'a Plan,
        /// The cells' names.
        labels: &'a [String],
        /// The number of turns without a result.
        turns: usize,
        /// Their estimated duration.
        estimate: Nanos,
    },
    /// A turn begins: its process starts, then its load.
    TurnStarted {
        /// The turn.
        turn: Turn,
        /// The cell's name.
        label: &'a str,
        /// The number of earlier turns in this sitting.
        done: usize,
        /// The number of turns in this sitting.
        of: usize,
        /// The estimated duration of this turn and those after it.
        remaining: Nanos,
    },
    /// The measured window opens.
    WindowOpened {
        /// The turn.
        turn: Turn,
    },
    /// The machine refused something.
    Shortfall {
        /// The turn.
        turn: Turn,
        /// What it refused.
        #[serde(flatten)]
        shortfall: Shortfall,
    },
    /// A turn has a result, which is now in the store.
    TurnFinished {
        /// The cell's name.
        label: &'a str,
        /// The result.
        measurement: &'a Measurement,
    },
    /// A turn failed; the failure is now in the store.
    TurnFailed {
        /// The cell's name.
        label: &'a str,
        /// The failure.
        failure: &'a Failure,
    },
    /// Every planned round is finished, and the next step is decided.
    RoundsTaken {
        /// The aim of further rounds.
        until: Until,
        /// The number of finished rounds.
        rounds: u32,
        /// The cells' names.
        labels: &'a [String],
        /// The width of each cell's confidence interval.
        cells: &'a [Narrowness],
        /// The next step.
        next: Next,
        /// The remaining time until the limit.
        left: Nanos,
    },
    /// No further turn follows.
    RunEnded {
        /// Its name.
        run: &'a RunId,
        /// How it ended.
        status: RunStatus,
    },
}
