//! The list of runs.

use tactus_judge::verdict::Verdict;
use tactus_model::run::RunSummary;

use super::TableOptions;
use super::column::{Column, Entry};
use super::grid::grid;
use crate::format;

/// Writes a line for each run with its verdict, in the order given.
pub fn runs_table(runs: &[RunSummary], verdicts: &[Verdict], options: &TableOptions) -> String {
    let columns = vec![
        Column::names("run", runs, |run| Entry::text(run.id.as_str())),
        Column::names("measured by", runs, |run| Entry::optional(run.origin.clone()))
            .dispensable(1),
        Column::names("began", runs, |run| Entry::text(format::date(run.created))).dispensable(3),
        Column::names("status", runs, |run| Entry::text(run.status.word())).dispensable(1),
        Column::names("verdict", verdicts, |verdict| Entry::text(verdict.mark())),
        Column::of("cells", runs, |run| Entry::count(run.cells)).dispensable(4),
        Column::of("turns", runs, |run| Entry::text(turns(run))).dispensable(1),
        Column::of("failed", runs, |run| match run.failures {
            0 => Entry::empty(),
            failures => Entry::count(failures),
        })
        .dispensable(1),
        Column::of("observed", runs, |run| Entry::count(run.observed)).dispensable(2),
        Column::of("max", runs, |run| Entry::latency(run.max)),
    ];
    grid(columns, options.width)
}

/// The number of turns with a result, and the planned number if some are missing.
fn turns(run: &RunSummary) -> String {
    let done = format::count(run.turns_done);
    if run.turns_done == run.turns_planned {
        done
    } else {
        format!("{done} of {}", format::count(run.turns_planned))
    }
}

#[cfg(test)]
mod tests {
    use tactus_judge::verdict::verdict;
    use tactus_model::run::{RunId, RunStatus};
    use tactus_model::time::{Instant, Nanos};

    use super::*;
    use crate::fixture;

    #[test]
    fn the_runs_of_a_store() {
        let complete = RunSummary {
            id: RunId::new("quick-20261121-113355"),
            name: "quick".to_owned(),
            version: "0.1.0".to_owned(),
            created: Instant::from_nanos(1_795_260_835_000_000_000),
            status: RunStatus::Complete,
            cells: 10,
            turns_planned: 20,
            turns_done: 20,
            failures: 0,
            observed: 99_656,
            max: Some(Nanos::from_micros(25_900)),
            origin: None,
        };
        let interrupted = RunSummary {
            id: RunId::new("standard-20261121-120102"),
            name: "standard".to_owned(),
            status: RunStatus::Interrupted,
            cells: 56,
            turns_planned: 168,
            turns_done: 0,
            failures: 2,
            observed: 0,
            max: None,
            ..complete.clone()
        };
        let runs = [complete, interrupted];
        let mut invalid = fixture::quick();
        invalid.measurements.clear();
        let verdicts = [verdict(&fixture::quick()), verdict(&invalid)];
        let table = |width| runs_table(&runs, &verdicts, &TableOptions::of_width(width));
        insta::assert_snapshot!("runs_at_100", table(100));
        insta::assert_snapshot!("runs_at_60", table(60));
    }
}
