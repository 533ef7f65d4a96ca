//! Several kernels compared: cells that differ only in their kernel, side by side.

use tactus_model::cell::{Cell, Target};
use tactus_model::facts::MachineFacts;
use tactus_model::guest::Guest;
use tactus_model::label::{kernel_names, labels};
use tactus_model::result::Measurement;
use tactus_model::run::Run;
use tactus_model::time::Nanos;
use tactus_stats::LatencyHistogram;

use super::column::{Column, Entry};
use crate::format;
use crate::summary::CellResult;

/// The heading of the table, which depends on the number of rounds.
pub(crate) fn head(run: &Run) -> &'static str {
    match run.header.plan.rounds {
        1 => "Kernels compared: median / max",
        _ => "Kernels compared: median / max, each as the range over the rounds",
    }
}

/// A row for each combination of the other settings, a column for each kernel; empty for fewer than
/// two kernels.
pub(crate) fn columns(run: &Run, results: &[CellResult<'_>]) -> Vec<Column> {
    let mut kernels: Vec<(&Guest, &MachineFacts)> = Vec::new();
    for result in results {
        let account = result.measurements.iter().find_map(|found| found.guest.as_deref());
        let (Some(guest), Some(account)) = (result.cell.target.guest(), account) else { continue };
        if !kernels.iter().any(|(known, _)| *known == guest) {
            kernels.push((guest, &account.facts));
        }
    }
    if kernels.len() < 2 {
        return Vec::new();
    }
    let mut rows: Vec<Cell> = Vec::new();
    for row in run.header.plan.cells.iter().map(without_kernel) {
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    let named: Vec<(Cell, String)> =
        labels(&rows).into_iter().zip(rows).map(|(a, b)| (b, a)).collect();
    let mut columns = vec![Column::names("cell", &named, |(_, name)| Entry::text(name))];
    let names = kernel_names(&kernels);
    columns.extend(kernels.iter().zip(names).map(|((guest, _), name)| {
        Column::of(&name, &named, |(row, _)| {
            let here = |result: &&CellResult<'_>| {
                result.cell.target.guest() == Some(guest) && without_kernel(result.cell) == *row
            };
            results.iter().find(here).map_or_else(Entry::empty, entry)
        })
    }));
    columns
}

fn without_kernel(cell: &Cell) -> Cell {
    Cell { target: Target::Host, ..cell.clone() }
}

/// Median and maximum; for several rounds, the range of each over the rounds.
fn entry(result: &CellResult<'_>) -> Entry {
    let rounds: Vec<LatencyHistogram> =
        result.measurements.iter().map(|found| all(found)).collect();
    let over = |of: fn(&LatencyHistogram) -> Option<Nanos>| {
        let lengths = || rounds.iter().filter_map(of);
        range(lengths().min(), lengths().max())
    };
    let median = over(|round| round.quantile(0.5));
    let text = format!("{median} / {}", over(LatencyHistogram::max));
    Entry::number(text, result.max().map_or(0, Nanos::as_nanos))
}

fn all(measurement: &Measurement) -> LatencyHistogram {
    let mut latencies = LatencyHistogram::new();
    let blocks = measurement.tasks.iter().flat_map(|task| &task.blocks);
    blocks.for_each(|block| latencies.merge_record(block));
    latencies
}

/// One duration, or both ends of a range, as text.
fn range(low: Option<Nanos>, high: Option<Nanos>) -> String {
    let (low, high) = (format::latency_or_nothing(low), format::latency_or_nothing(high));
    if low == high {
        return high;
    }
    // A common unit is written once.
    match (low.split_once(format::THIN_SPACE), high.split_once(format::THIN_SPACE)) {
        (Some((number, unit)), Some((_, same))) if unit == same => format!("{number}–{high}"),
        _ => format!("{low}–{high}"),
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::summary::cell_results;
    use crate::table::grid;
    use crate::{fixture, page};

    /// Two rounds in guests with these preemption models.
    fn run(models: &[&str]) -> Run {
        let kernels: Vec<String> =
            models.iter().map(|model| format!("debian:preempt={model}")).collect();
        let text = format!(
            "name = \"lab\"\nguest-time = \"exact\"\nrounds = 2\n[settings]\nduration = \"200ms\"\n\
             traced = \"0s\"\nkernel = {kernels:?}\nload = [\"idle\", \"process:2\"]\n\
             policy = [\"fifo:80\", \"other\"]"
        );
        let mut run = fixture::run(&text, 3);
        for found in &mut run.measurements {
            let guest = run.header.plan.cells[found.turn.cell].target.guest().unwrap();
            let mut facts = run.header.facts_before.clone();
            facts.kernel.preemption = guest.kernel.preemption().map(str::to_owned);
            found.guest = Some(Box::new(fixture::guest("k", found.turn.round, facts)));
        }
        run
    }

    #[test]
    fn a_row_for_each_load_and_policy_and_a_column_for_each_kernel() {
        let run = run(&["none", "full"]);
        let columns = columns(&run, &cell_results(&run));
        insta::assert_snapshot!(format!("{}\n{}", head(&run), grid(columns, 100)));
        assert!(page(std::slice::from_ref(&run)).unwrap().contains("Kernels compared"));
    }

    #[test]
    fn a_single_kernel_has_no_comparison() {
        for run in [run(&["none"]), fixture::quick()] {
            assert!(columns(&run, &cell_results(&run)).is_empty());
            assert!(!page(std::slice::from_ref(&run)).unwrap().contains("Kernels compared"));
        }
    }

    #[test]
    fn a_range_has_a_common_unit_once() {
        let length = |nanos| Some(Nanos::from_nanos(nanos));
        assert_eq!(range(length(3500), length(3500)), "3.50\u{202f}µs");
        assert_eq!(range(length(3500), length(4400)), "3.50–4.40\u{202f}µs");
        assert_eq!(range(length(900), length(4400)), "900\u{202f}ns–4.40\u{202f}µs");
        assert_eq!(range(None, None), format::NOTHING);
    }
}
