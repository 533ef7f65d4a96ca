//! The table of a run's cells.

use std::fmt::Write;

use tactus_model::run::Run;
use tactus_stats::costs::RunCosts;

use super::grid::grid;
use super::{TableOptions, content, kernels};
use crate::costs;
use crate::guests::guests_note;
use crate::summary::{CellResult, cell_results};
use crate::wrap::wrapped;

/// Writes a line for each cell of `run`: latencies, and due times observed and missed.
///
/// Latencies are *per wakeup* and, if the figures differ, also by the *intended schedule*. Several kernels are compared in a second table. Below are the cells without a result
/// and a note on the guests' clock. Empty if no cell has a result, as the headline says.
pub fn cells_table(run: &Run, options: &TableOptions) -> String {
    of_results(run, &cell_results(run), options)
}

pub(super) fn of_results(run: &Run, results: &[CellResult<'_>], options: &TableOptions) -> String {
    if results.is_empty() {
        return String::new();
    }
    let mut text = String::new();
    if results.iter().any(|result| !result.is_operation()) {
        let is_kept: Vec<bool> = results.iter().map(|result| !result.is_operation()).collect();
        let mut columns = content::cells(results);
        columns.push(content::load(results).dispensable(9).only(&is_kept));
        text.push_str(&grid(columns, options.width));
    }
    if results.iter().any(CellResult::is_operation) {
        let tables = costs::tables(run, &RunCosts::of(run), options.width);
        // A line above separates it from the table before it.
        text.push_str(if text.is_empty() { tables.trim_start() } else { &tables });
    }
    if let Some(note) = content::rules_note(results) {
        text.push_str(&wrapped(&note, "", options.width));
    }
    let messages = content::messages(results);
    if !messages.is_empty() {
        let _ = writeln!(text, "\n{}", content::MESSAGES_HEAD);
        text.push_str(&grid(messages, options.width));
    }
    let kernels = kernels::columns(run, results);
    if !kernels.is_empty() {
        let _ = writeln!(text, "\n{}", kernels::head(run));
        text.push_str(&grid(kernels, options.width));
    }
    let without = cells_without_result(run);
    if !without.is_empty() {
        let named = format!("no result: {}", without.join(", "));
        text.push_str(&wrapped(&named, "", options.width));
    }
    if let Some(note) = guests_note(run) {
        text.push_str(&wrapped(&note, "", options.width));
    }
    text
}

/// The names of the planned cells that have no measurement.
fn cells_without_result(run: &Run) -> Vec<String> {
    let labels = run.header.plan.labels();
    labels
        .into_iter()
        .enumerate()
        .filter(|(cell, _)| run.of_cell(*cell).next().is_none())
        .map(|(_, label)| label)
        .collect()
}

#[cfg(test)]
mod tests {
    use tactus_model::result::Batch;
    use tactus_model::time::Nanos;

    use super::*;
    use crate::fixture;

    #[test]
    fn the_cells_of_a_run() {
        let run = fixture::quick();
        let results = cell_results(&run);
        let at = |width| of_results(&run, &results, &TableOptions::of_width(width));
        insta::assert_snapshot!("cells_at_100", at(100));
        insta::assert_snapshot!("cells_at_60", at(60));
        insta::assert_snapshot!("cells_at_160", at(160));
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let run = fixture::run(
            "name = \"long\"\n[settings]\nduration = \"200ms\"\n\
             load = [\"build-over-network:cpus\", 'cmd:\"make --jobs=4 --keep-going\":2']\n\
             policy = [\"other\", \"deadline:200us/1ms/1ms\"]",
            5,
        );
        let results = cell_results(&run);
        for width in [60, 80, 100, 120, 200] {
            for line in of_results(&run, &results, &TableOptions::of_width(width)).lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
    }

    #[test]
    fn operations_have_the_tables_of_costs_beside_the_latencies_of_others() {
        let text = "name = \"mixed\"\nrounds = 3\n[settings]\nduration = \"200ms\"\n\
                    [[matrix]]\nprobe = \"timer\"\n[[matrix]]\nprobe = \"cost\"\n\
                    operation = \"getppid\"";
        let mut run = fixture::run(text, 5);
        for task in run.measurements.iter_mut().flat_map(|found| &mut found.tasks) {
            let batch = Batch { count: 100, median: Nanos::from_nanos(12_800), ..Batch::default() };
            task.batches = vec![batch; 20];
        }
        let table = cells_table(&run, &TableOptions::default());
        let [latencies, costs] = table.split("Entering the kernel").collect::<Vec<_>>()[..] else {
            panic!("{table}");
        };
        assert!(latencies.contains("p99") && !latencies.contains("getppid"), "{table}");
        assert!(costs.contains("getppid") && costs.contains("call"), "{table}");
        let file = super::super::cells_file(&[&run], super::super::TableForm::Csv);
        assert!(file.contains("128 x call"), "{file}");
    }

    #[test]
    fn cells_without_a_result_are_named() {
        let mut run = fixture::quick();
        run.measurements.retain(|measurement| measurement.turn.cell != 3);
        let table = cells_table(&run, &TableOptions::default());
        assert!(table.contains("no result: compute:cpus · fifo:90"), "{table}");
        run.measurements.clear();
        assert_eq!(cells_table(&run, &TableOptions::default()), "");
    }
}
