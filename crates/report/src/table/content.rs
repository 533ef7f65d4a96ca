//! The tables of a run's cells, as columns.

use tactus_model::origin::UNKNOWN;
use tactus_model::time::Nanos;
use tactus_stats::cell::{LateSample, QUANTILES};
use tactus_stats::frames::PlayerSummary;
use tactus_stats::{Interval, LatencyHistogram};

use super::column::{Column, Entry, Exact, name_in_group};
use crate::format;
use crate::outcome::named_share;
use crate::summary::{CellResult, RATES, kind_of};

/// The heading of latencies *per wakeup*.
const PER_WAKEUP: &str = "per wakeup";

/// The head of the confidence intervals.
const CI_OF_P99: &str = "95 % CI of p99";

/// The heading of latencies by the *intended schedule*.
const BY_SCHEDULE: &str = "by schedule";

/// Latencies by both rules of accounting, and due times observed and missed.
///
/// If both rules give the same figures, they have one set of columns. The percentile that the
/// headline names is never omitted.
///
/// Operations are not among them: their samples are of several operations each, and
/// [`crate::costs`] has the cost of one.
pub(crate) fn cells(results: &[CellResult<'_>]) -> Vec<Column> {
    let columns = columns(results, rules_differ(results));
    let is_kept: Vec<bool> = results.iter().map(|result| !result.is_operation()).collect();
    columns.into_iter().map(|column| column.only(&is_kept)).collect()
}

/// The same for a file, where the names of columns do not depend on the figures: each latency has
/// the name of its rule of accounting.
pub(crate) fn cells_of_file(results: &[CellResult<'_>]) -> Vec<Column> {
    let named = columns(results, true).into_iter().map(|column| match column.head.as_str() {
        CI_OF_P99 => column.grouped(PER_WAKEUP),
        _ => column,
    });
    let named =
        named.map(|column| Column { head: name_in_group(&column.head, column.group), ..column });
    let sample = Column::names("sample", results, |result| {
        Entry::optional(result.sample_of().map(|(count, unit)| format!("{count} x {unit}")))
    });
    let sample = results.iter().any(CellResult::is_operation).then_some(sample);
    named.chain(sample).collect()
}

fn columns(results: &[CellResult<'_>], both: bool) -> Vec<Column> {
    let kind = kind_of(results);
    let (p99_rank, p999_rank) = match named_share(results) {
        Some(0.999) => (1, 0),
        _ => (0, 1),
    };
    let mut per_wakeup = vec![
        Column::of("min", results, |result| Entry::latency_of(result, result.summary.min))
            .dispensable(7),
        quantile(results, 0.5),
        quantile(results, 0.99)
            .meaning(format!("99 % of the {}s {}", kind.noun(), kind.were("at most this")))
            .dispensable(p99_rank),
        quantile(results, 0.999).dispensable(p999_rank),
    ];
    // Rarer quantiles only if some cell has enough samples for them.
    for share in QUANTILES.into_iter().filter(|share| *share > 0.999) {
        if results.iter().any(|result| result.per_wakeup(share).is_some()) {
            per_wakeup.push(quantile(results, share).dispensable(8));
        }
    }
    per_wakeup.push(
        Column::of("max", results, |result| Entry::latency_of(result, result.max()))
            .meaning(format!("latency of the worst {}", kind.noun())),
    );
    let mut columns = vec![number(results), name(results)];
    columns.extend(players(results));
    if both {
        columns.extend(per_wakeup.into_iter().map(|column| column.grouped(PER_WAKEUP)));
        columns.extend([
            by_schedule(results, 0.99).dispensable(p99_rank * 2),
            by_schedule(results, 0.999).dispensable(p999_rank * 2),
        ]);
    } else {
        columns.extend(per_wakeup);
    }
    columns.extend([
        Column::of(CI_OF_P99, results, |result| {
            result.interval(0.99).map_or_else(Entry::empty, |found| interval(result, found))
        })
        .meaning("95 % confidence interval of the p99 per wakeup, by block bootstrap")
        .dispensable(4),
        Column::of("missed", results, missed).meaning(missed_meaning(results)).dispensable(5),
        Column::of("observed", results, |result| Entry::count(result.accounting().observed))
            .meaning(format!("number of {}s measured", kind.noun()))
            .dispensable(6),
    ]);
    columns
}

fn rules_differ(results: &[CellResult<'_>]) -> bool {
    results.iter().any(|result| result.schedule_differs())
}

/// Which rule of accounting a reader needs; `None` if both give the same figures.
pub(crate) fn rules_note(results: &[CellResult<'_>]) -> Option<String> {
    const NOTE: &str = "For a periodic task, use the latencies by schedule, which count each missed due time as \
         late. Latencies per wakeup omit missed due times, as in cyclictest.";
    const LOWER: &str = "A percentile by schedule can be the lower one, because missed due times add \
         samples that are less late than the wakeup that missed them.";
    let is_lower = |result: &CellResult<'_>| {
        [0.99, 0.999].into_iter().any(|share| {
            let both = result.by_schedule(share).zip(result.per_wakeup(share));
            both.is_some_and(|(by_schedule, per_wakeup)| by_schedule < per_wakeup)
        })
    };
    rules_differ(results).then(|| match results.iter().any(is_lower) {
        true => format!("{NOTE} {LOWER}"),
        false => NOTE.to_owned(),
    })
}

/// Desired and achieved frame rates of players; no column without players.
fn players(results: &[CellResult<'_>]) -> Vec<Column> {
    if results.iter().all(|result| result.players().is_none()) {
        return Vec::new();
    }
    let rate = |head: &str, of: fn(PlayerSummary) -> f64| {
        Column::of(head, results, |result| match result.players().map(of) {
            Some(rate) => Entry::number(format!("{rate:.2}"), (rate * 1000.0) as u64),
            None => Entry::empty(),
        })
    };
    vec![
        rate("desired", |players| players.desired).meaning("frames per second to show"),
        rate("achieved", |players| players.achieved).meaning(
            "frames per second shown, none early and none late by more than half its slot",
        ),
        rate("expected", |players| players.expected)
            .meaning("frames per second expected from the ticks alone, by the closed form"),
    ]
}

fn missed_meaning(results: &[CellResult<'_>]) -> &'static str {
    match results.iter().all(|result| result.players().is_some()) {
        true => "frames skipped because they were late by more than half their slot",
        false => "due times that passed while the task was still late for an earlier one",
    }
}

/// The throughput of the load.
pub(crate) fn load(results: &[CellResult<'_>]) -> Column {
    Column::of("load rate", results, |result| Entry::optional(result.load_achieved()))
        .meaning("operations and bytes per second, all copies of the load together")
}

/// The accounting of due times.
pub(crate) fn accounting(results: &[CellResult<'_>]) -> Vec<Column> {
    let nouns = format!("{}s", kind_of(results).noun());
    vec![
        number(results),
        name(results),
        Column::of("intended", results, |result| Entry::count(result.accounting().intended))
            .meaning("due times in the measured windows"),
        Column::of("observed", results, |result| Entry::count(result.accounting().observed))
            .meaning(format!("{nouns} measured and recorded")),
        Column::of("missed", results, |result| match result.missed_known() {
            true => Entry::count(result.accounting().missed),
            false => Entry::text(UNKNOWN),
        })
        .meaning(missed_meaning(results)),
        Column::of("dropped", results, |result| Entry::count(result.accounting().dropped))
            .meaning(format!("{nouns} not recorded because the sample memory was full"))
            .dispensable(2),
        Column::of("early", results, |result| Entry::count(result.accounting().early))
            .meaning(format!("observed {nouns} before their due time; their latency counts as 0"))
            .dispensable(3),
        Column::of("adds up", results, |result| match result.accounting().balances() {
            true => Entry::text("yes"),
            false => Entry::text("NO"),
        })
        .meaning("whether intended = observed + missed + dropped")
        .dispensable(1),
        Column::of("mean", results, |result| {
            Entry::latency(result.summary.mean_ns.map(format::rounded_nanos))
        })
        .meaning(format!("of the observed {nouns}"))
        .dispensable(5),
    ]
}

/// What [`messages`] has.
pub(crate) const MESSAGES_HEAD: &str =
    "Output thread and line: the two parts of a message's latency";

/// How late the output thread of messages was, and what the line to the receiver added; no column
/// without messages.
pub(crate) fn messages(results: &[CellResult<'_>]) -> Vec<Column> {
    let found = |result: &CellResult<'_>| {
        let tasks = result.measurements.iter().flat_map(|measurement| &measurement.tasks);
        let mut parts = [(); 2].map(|()| LatencyHistogram::new());
        for messages in tasks.filter_map(|task| task.messages.as_ref()) {
            parts[0].merge_record(&messages.output);
            parts[1].merge_record(&messages.receiver);
        }
        parts
    };
    let parts: Vec<_> = results.iter().map(found).collect();
    if parts.iter().flatten().all(LatencyHistogram::is_empty) {
        return Vec::new();
    }
    let mut columns = vec![number(results), name(results)];
    let groups = [
        ("output thread", "from the due time to the call that writes a message"),
        ("line", "from that call to the stamp of the receiver"),
    ];
    for (place, (group, meaning)) in groups.into_iter().enumerate() {
        let column = |head: &str, of: fn(&LatencyHistogram) -> Option<Nanos>| {
            Column::of(head, &parts, |parts| Entry::latency(of(&parts[place])))
                .grouped(group)
                .meaning(meaning)
        };
        columns.extend([
            column("median", |lengths| lengths.quantile(0.5)).dispensable(1),
            column("p99", |lengths| lengths.quantile(0.99)),
            column("max", LatencyHistogram::max),
        ]);
    }
    columns
}

/// The worst sample of each cell, and when it was due.
pub(crate) fn worst(results: &[CellResult<'_>]) -> Vec<Column> {
    let late: Vec<(&CellResult<'_>, LateSample)> = results
        .iter()
        .filter_map(|result| Some((result, *result.summary.worst.first()?)))
        .collect();
    if late.is_empty() {
        return Vec::new();
    }
    vec![
        cell_number(&late, |(result, _)| result.index),
        Column::names("cell", &late, |(result, _)| Entry::text(result.label_as_granted())),
        Column::of("latency", &late, |(_, late)| {
            Entry::latency(Some(late.outlier.sample.latency()))
        }),
        Column::of("round", &late, |(_, late)| Entry::count(u64::from(late.round) + 1))
            .dispensable(1),
        Column::of("CPU", &late, |(_, late)| match late.cpu {
            Some(cpu) => Entry::count(cpu.into()),
            None => Entry::empty(),
        })
        .dispensable(1),
        Column::of("into the window", &late, |(_, late)| {
            Entry::latency(Some(late.outlier.sample.due))
        })
        .meaning("due time, counted from the start of the window")
        .dispensable(2),
        Column::of("window opened", &late, |(_, late)| Entry::text(format::date(late.opened)))
            .dispensable(3),
    ]
}

/// Load throughput and system activity during the windows.
pub(crate) fn loads(results: &[CellResult<'_>]) -> Vec<Column> {
    let rates: Vec<_> = results.iter().map(CellResult::rates).collect();
    let mut columns = vec![number(results), name(results), load(results)];
    for (place, rate) in RATES.iter().enumerate() {
        let column = Column::of(rate.name, &rates, |values| Entry::optional(values[place].clone()))
            .meaning(rate.meaning)
            .dispensable(place as u8 + 1);
        columns.push(column);
    }
    columns
}

/// The numbers of the cells, by which `RUN#CELL` names them.
fn number(results: &[CellResult<'_>]) -> Column {
    cell_number(results, |result| result.index)
}

/// A column of cell numbers, from the indices of the cells.
pub(super) fn cell_number<T>(rows: &[T], index: impl Fn(&T) -> usize) -> Column {
    let number = |row: &T| index(row) as u64 + 1;
    Column::of("#", rows, |row| Entry::count(number(row)))
        .meaning("number of the cell: RUN#NUMBER names it in commands")
}

fn name(results: &[CellResult<'_>]) -> Column {
    Column::names("cell", results, |result| Entry::text(result.label_as_granted()))
}

fn by_schedule(results: &[CellResult<'_>], share: f64) -> Column {
    Column::of(&quantile_name(share), results, |result| {
        Entry::latency_of(result, result.by_schedule(share))
    })
    .grouped(BY_SCHEDULE)
    .meaning(
        "of all due times; a missed due time counts as late, which avoids coordinated omission",
    )
}

fn quantile_name(share: f64) -> String {
    match share {
        0.5 => "median".to_owned(),
        share => format!("p{}", format::percentile_number(share)),
    }
}

fn quantile(results: &[CellResult<'_>], share: f64) -> Column {
    Column::of(&quantile_name(share), results, |result| {
        Entry::latency_of(result, result.per_wakeup(share))
    })
}

/// The number and share of missed due times, if known; empty if there were none, so that others
/// stand out.
fn missed(result: &CellResult<'_>) -> Entry {
    let accounting = result.accounting();
    match accounting.missed {
        _ if !result.missed_known() => Entry::text(UNKNOWN),
        0 => Entry { exact: Exact::Count(0), ..Entry::empty() },
        missed => Entry::counted(
            format!("{} ({})", format::count(missed), format::share(missed, accounting.intended)),
            missed,
        ),
    }
}

fn interval(result: &CellResult<'_>, Interval { low, high }: Interval) -> Entry {
    let text = format!("{}–{}", result.latency_text(Some(low)), result.latency_text(Some(high)));
    Entry::interval(text, low, high)
}
