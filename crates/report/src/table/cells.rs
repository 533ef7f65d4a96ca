//! The table of a run's cells.

use tactus_model::run::Run;
use tactus_model::time::Nanos;

use super::TableOptions;
use super::grid::{Align, Column, grid};
use crate::format;
use crate::summary::{CellResult, cell_results};

/// Writes a line for every cell of `run`: what was observed and missed, and how late its wakeups came.
///
/// Latencies are *per wakeup*; where due times were missed, a column gives the
/// p99 by the *intended schedule* beside them. Cells without a result are named below.
pub fn cells_table(run: &Run, options: &TableOptions) -> String {
    let results = cell_results(run);
    let without = cells_without_result(run);
    if results.is_empty() {
        return format!("no cell of {} has a result\n", run.header.id);
    }
    let mut text = grid(columns(&results), options.width);
    if !without.is_empty() {
        text.push_str(&super::wrapped(
            &format!("no result: {}", without.join(", ")),
            "",
            options.width,
        ));
    }
    text
}

fn columns(results: &[CellResult<'_>]) -> Vec<Column> {
    let texts = |of: &dyn Fn(&CellResult<'_>) -> String| results.iter().map(of).collect::<Vec<_>>();
    let latency = |of: fn(&CellResult<'_>) -> Nanos| texts(&|result| format::latency(of(result)));
    let schedule_differs = results.iter().any(CellResult::schedule_differs);
    vec![
        Column::new("cell", Align::Left, 0, texts(&|result| result.label.clone())),
        Column::new(
            "observed",
            Align::Right,
            4,
            texts(&|result| format::count(result.accounting().observed)),
        ),
        Column::new("missed", Align::Right, 1, texts(&missed)),
        Column::new("min", Align::Right, 5, latency(|result| result.min())),
        Column::new("median", Align::Right, 0, latency(|result| result.wakeup_quantile(0.5))),
        Column::new("p99", Align::Right, 0, latency(|result| result.wakeup_quantile(0.99))),
        Column::new("p99 between", Align::Right, 6, texts(&interval)),
        Column::new(
            "p99 due",
            Align::Right,
            2,
            texts(&|result| match schedule_differs {
                true => format::latency(result.schedule_quantile(0.99)),
                false => String::new(),
            }),
        ),
        Column::new("p99.9", Align::Right, 3, latency(|result| result.wakeup_quantile(0.999))),
        Column::new("max", Align::Right, 0, latency(|result| result.max())),
        Column::new(
            "load did",
            Align::Right,
            7,
            texts(&|result| result.load_achieved().unwrap_or_default()),
        ),
    ]
}

/// The share of due times that passed unserved; empty when there were none, so that others stand out.
fn missed(result: &CellResult<'_>) -> String {
    let accounting = result.accounting();
    match accounting.missed + accounting.dropped {
        0 => String::new(),
        _ => format::share(accounting.missed, accounting.intended),
    }
}

fn interval(result: &CellResult<'_>) -> String {
    result.p99_interval().map_or_else(String::new, |(low, high)| {
        format!("{}–{}", format::latency(low), format::latency(high))
    })
}

/// The names of the cells that were planned and have no measurement.
fn cells_without_result(run: &Run) -> Vec<String> {
    let labels = run.header.plan.labels();
    labels
        .into_iter()
        .enumerate()
        .filter(|(cell, _)| run.of_cell(*cell).next().is_none())
        .map(|(_, label)| label)
        .collect()
}
