//! The list of runs.

use tactus_model::run::{RunId, RunStatus};
use tactus_model::time::{Instant, Nanos, Realtime};

use super::TableOptions;
use super::grid::{Align, Column, grid};
use crate::format;

/// A run as a line of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunLine {
    /// Its name.
    pub id: RunId,
    /// When it began.
    pub created: Instant<Realtime>,
    /// How far it has come.
    pub status: RunStatus,
    /// Cells of its plan.
    pub cells: u64,
    /// Turns of its plan: cells × rounds.
    pub turns_planned: u64,
    /// Turns that yielded a result.
    pub turns_done: u64,
    /// Turns that yielded none.
    pub failures: u64,
    /// Wakeups observed in all its turns.
    pub observed: u64,
    /// The greatest latency of them; `None` when there is no measurement.
    pub max: Option<Nanos>,
}

/// Writes a line for every run, in the order given.
pub fn runs_table(runs: &[RunLine], options: &TableOptions) -> String {
    let texts = |of: &dyn Fn(&RunLine) -> String| runs.iter().map(of).collect::<Vec<_>>();
    let columns = vec![
        Column::new("run", Align::Left, 0, texts(&|run| run.id.to_string())),
        Column::new("began", Align::Left, 2, texts(&|run| format::date(run.created))),
        Column::new("status", Align::Left, 0, texts(&|run| run.status.to_string())),
        Column::new("cells", Align::Right, 3, texts(&|run| format::count(run.cells))),
        Column::new("turns", Align::Right, 1, texts(&turns)),
        Column::new(
            "failed",
            Align::Right,
            1,
            texts(&|run| match run.failures {
                0 => String::new(),
                failures => format::count(failures),
            }),
        ),
        Column::new("observed", Align::Right, 2, texts(&|run| format::count(run.observed))),
        Column::new(
            "max",
            Align::Right,
            0,
            texts(&|run| run.max.map_or_else(|| format::NOTHING.to_owned(), format::latency)),
        ),
    ];
    grid(columns, options.width)
}

/// How many turns gave a result, and of how many where some are missing.
fn turns(run: &RunLine) -> String {
    let done = format::count(run.turns_done);
    if run.turns_done == run.turns_planned {
        done
    } else {
        format!("{done} of {}", format::count(run.turns_planned))
    }
}
