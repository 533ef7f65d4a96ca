//! The columns of the tables of operations.

use tactus_model::cost::Family;
use tactus_model::run::Run;
use tactus_stats::costs::{Contamination, CostRow};

use super::{clocks, name, probe};
use crate::format::{self, THIN_SPACE, fine_latency};
use crate::table::column::{Column, Entry};

/// A cost, with three digits.
pub(super) fn entry(nanos: f64) -> Entry {
    // In picoseconds, since cheap operations differ by less than a nanosecond.
    Entry::number(fine_latency(nanos), (nanos * 1000.0) as u64)
}

/// A relative difference; one above 100 % has no digits that mean anything.
pub(super) fn relative(share: f64) -> String {
    match share {
        ..=1.0 => format::percent(share),
        _ => format!("> 100{THIN_SPACE}%"),
    }
}

/// The columns of a table with these rows.
pub(super) fn columns(run: &Run, rows: &[&CostRow]) -> Vec<Column> {
    let optional = |value: Option<f64>| value.map_or_else(|| Entry::text("–"), entry);
    let has_rate = rows.iter().any(|row| row.moved.is_some());
    let (typical, meaning) = match rows.iter().any(|row| is_read_ahead(run, row)) {
        true => (
            "typical",
            "the median over processes: of cold files, of the time per block of whole passes; of \
             others, of the median of each one's batches",
        ),
        false => ("median", "the median over processes of the median of each one's batches"),
    };
    let mut columns = vec![
        Column::names("operation", rows, |row| Entry::text(name(run, row))),
        Column::names("one is a", rows, |row| Entry::text(row.unit)).dispensable(5),
        Column::of("min", rows, |row| entry(row.cost.min_ns))
            .grouped("floor")
            .meaning("the shortest sample"),
        Column::of("p10", rows, |row| entry(row.cost.p10_ns)).grouped("floor").dispensable(4),
        Column::of(typical, rows, |row| entry(row.cost.typical_ns)).meaning(meaning),
        Column::of("95 % interval", rows, |row| {
            let ends = row.cost.interval.map(|ends| ends.map(fine_latency));
            Entry::optional(ends.map(|[low, high]| format!("{low} – {high}")))
        })
        .meaning("over processes, and batches within them")
        .dispensable(1),
        Column::of("p99", rows, |row| optional(row.cost.p99_ns))
            .meaning("of samples; a sample of a cheap operation is the mean of many"),
    ];
    if waits(rows) {
        let cpu = Column::of("CPU time", rows, |row| optional(row.cost.cpu_ns));
        let meaning = "CPU time of an operation, of both sides if it has two: its median";
        columns.push(cpu.meaning(meaning).dispensable(3));
    }
    if has_rate {
        columns.push(Column::of("rate", rows, |row| rate(row)).meaning(if typical == "median" {
            "bytes per median"
        } else {
            "bytes per typical time"
        }));
    }
    if rows.iter().any(|row| row.cost.used_ns.is_some()) {
        let used = Column::of("CPU used", rows, |row| optional(row.cost.credible_used_ns()));
        columns.push(used.meaning("CPU time on the task's CPU, by counting idle time"));
    }
    columns.extend(clocks::columns(rows));
    columns.extend([
        Column::of("A/A", rows, |row| Entry::optional(row.cost.noise_floor.map(relative)))
            .meaning("two measurements of the same thing differ by less in 95 of 100 cases")
            .dispensable(2),
        Column::of("contaminated", rows, |row| {
            let Contamination { batches, contaminated, is_judged, .. } = row.cost.contamination;
            match is_judged || contaminated > 0 {
                true => {
                    let share = format::share(contaminated as u64, batches as u64);
                    Entry::number(share, contaminated as u64)
                }
                false => Entry::text(format::NOTHING),
            }
        })
        .meaning(
            "the share of batches in which others had the CPU, which count in all figures; a dash \
             where others on the CPU are part of the operation",
        )
        .dispensable(3),
    ]);
    columns
}

/// Whether the row is one of a file that is read ahead, whose typical cost is not a median.
fn is_read_ahead(run: &Run, row: &CostRow) -> bool {
    probe(run, row).is_some_and(|(_, cost)| cost.is_read_ahead())
}

/// Whether an operation of these waits, so that its CPU time is not its duration.
fn waits(rows: &[&CostRow]) -> bool {
    rows.iter().any(|row| !matches!(row.family, Family::Trap | Family::Memory))
}

/// The bytes moved per second, in decimal units.
fn rate(row: &CostRow) -> Entry {
    match row.bytes_per_second() {
        Some(rate) => Entry::number(format::byte_rate(rate), rate as u64),
        None => Entry::empty(),
    }
}
