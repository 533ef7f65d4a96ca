//! What the engine tells the outside while a run goes on.

use serde::Serialize;
use tactus_model::experiment::{Plan, Turn};
use tactus_model::result::{Failure, Measurement, Shortfall};
use tactus_model::run::{RunId, RunStatus};
use tactus_model::time::Nanos;
use tactus_model::until::Until;
use tactus_stats::narrow::{Narrowness, Next};

/// One thing that happened in a run.
///
/// In JSON each is an object whose `event` names it; lengths of time are whole
/// nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event<'a> {
    /// The run is in the store and its first turn comes next.
    RunStarted {
        /// Its name.
        run: &'a RunId,
        /// What it carries out.
        plan: &'a Plan,
        /// The cells' names.
        labels: &'a [String],
        /// How many turns are still to be taken.
        turns: usize,
        /// About how long they take.
        estimate: Nanos,
    },
    /// A turn begins: its process starts, then its load.
    TurnStarted {
        /// The turn.
        turn: Turn,
        /// The cell's name.
        label: &'a str,
        /// How many turns were taken before it in this sitting.
        done: usize,
        /// How many turns this sitting has.
        of: usize,
        /// About how long this turn and those after it take.
        remaining: Nanos,
    },
    /// The measured window opens.
    WindowOpened {
        /// The turn.
        turn: Turn,
    },
    /// The machine did not grant something.
    Shortfall {
        /// The turn.
        turn: Turn,
        /// What was not granted.
        #[serde(flatten)]
        shortfall: Shortfall,
    },
    /// A turn yielded a result, which is now in the store.
    TurnFinished {
        /// The cell's name.
        label: &'a str,
        /// The result.
        measurement: &'a Measurement,
    },
    /// A turn yielded no result, which is noted in the store.
    TurnFailed {
        /// The cell's name.
        label: &'a str,
        /// What happened.
        failure: &'a Failure,
    },
    /// Every planned round is taken, and it is decided whether there is to be another.
    RoundsTaken {
        /// What further rounds are for.
        until: Until,
        /// How many rounds are taken.
        rounds: u32,
        /// The cells' names.
        labels: &'a [String],
        /// How narrow the interval of each cell is.
        cells: &'a [Narrowness],
        /// What comes next.
        next: Next,
        /// How long is left until the limit.
        left: Nanos,
    },
    /// No further turn will be taken.
    RunEnded {
        /// Its name.
        run: &'a RunId,
        /// How far it came.
        status: RunStatus,
    },
}
