//! The tables of a run's cells, as columns.

use tactus_model::origin::UNKNOWN;
use tactus_stats::Interval;
use tactus_stats::cell::{LateSample, QUANTILES};
use tactus_stats::frames::PlayerSummary;

use super::column::{Column, Entry};
use crate::format;
use crate::summary::{CellResult, RATES};

/// What was observed and missed, and how late wakeups came.
///
/// Latencies are *per wakeup*; where that makes a difference, the p99 by the
/// *intended schedule* stands beside.
pub(crate) fn cells(results: &[CellResult<'_>]) -> Vec<Column> {
    let differs = results.iter().any(CellResult::schedule_differs);
    let mut columns = vec![name(results)];
    columns.extend(players(results));
    columns.extend([
        Column::of("min", results, |result| Entry::told(result, result.summary.min)).dispensable(6),
        quantile(results, 0.5),
        quantile(results, 0.99).meaning("99 % of the wakeups came no later"),
        quantile(results, 0.999).dispensable(3),
    ]);
    // Rarer quantiles only where some cell has the samples for them.
    for share in QUANTILES.into_iter().filter(|share| *share > 0.999) {
        if results.iter().any(|result| result.per_wakeup(share).is_some()) {
            columns.push(quantile(results, share).dispensable(8));
        }
    }
    columns.extend([
        Column::of("max", results, |result| Entry::told(result, result.max()))
            .meaning("the worst wakeup"),
        Column::of("p99 due", results, |result| match differs {
            true => Entry::told(result, result.by_schedule(0.99)),
            false => Entry::empty(),
        })
        .meaning("99 % of the due times were served no later; a missed one counts as late")
        .dispensable(2),
        Column::of("p99 between", results, |result| {
            Entry::optional(result.interval(0.99).map(|found| interval(result, found)))
        })
        .meaning("the interval of the p99 at 95 % confidence, by block bootstrap")
        .dispensable(7),
        Column::of("missed", results, missed).meaning(missed_meaning(results)).dispensable(1),
        Column::of("observed", results, |result| Entry::count(result.accounting().observed))
            .meaning("wakeups that were measured")
            .dispensable(5),
    ]);
    columns
}

/// What players were to show and showed; no column where there is none.
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
        rate("desired", |players| players.desired).meaning("frames a second to be shown"),
        rate("achieved", |players| players.achieved)
            .meaning("frames a second shown, none early and none late by more than half its slot"),
        rate("by ticks", |players| players.expected)
            .meaning("frames a second that the ticks alone would have left, by the closed form"),
    ]
}

fn missed_meaning(results: &[CellResult<'_>]) -> &'static str {
    match results.iter().all(|result| result.players().is_some()) {
        true => "frames that were skipped, because they were late by more than half their slot",
        false => "due times that passed before the task had come from an earlier one",
    }
}

/// What the load achieved.
pub(crate) fn load(results: &[CellResult<'_>]) -> Column {
    Column::of("load did", results, |result| Entry::optional(result.load_achieved()))
        .meaning("operations and bytes a second, of all copies of the load")
}

/// What became of every due time, and what both rules of accounting make of it.
pub(crate) fn accounting(results: &[CellResult<'_>]) -> Vec<Column> {
    vec![
        name(results),
        Column::of("intended", results, |result| Entry::count(result.accounting().intended))
            .meaning("due times within the windows"),
        Column::of("observed", results, |result| Entry::count(result.accounting().observed))
            .meaning("wakeups that were measured and kept"),
        Column::of("missed", results, |result| match result.missed_known() {
            true => Entry::count(result.accounting().missed),
            false => Entry::text(UNKNOWN),
        })
        .meaning(missed_meaning(results)),
        Column::of("dropped", results, |result| Entry::count(result.accounting().dropped))
            .meaning("wakeups that were not kept, because the memory for samples was full")
            .dispensable(2),
        Column::of("early", results, |result| Entry::count(result.accounting().early))
            .meaning("of those observed, wakeups before their time; they count as not late")
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
        .meaning("of the wakeups that took place")
        .dispensable(5),
        Column::of("p99 per wakeup", results, |result| {
            Entry::told(result, result.per_wakeup(0.99))
        })
        .meaning("of the wakeups that took place"),
        Column::of("p99 by schedule", results, |result| {
            Entry::told(result, result.by_schedule(0.99))
        })
        .meaning("of all due times, a missed one counting as late"),
        Column::of("p99.9 by schedule", results, |result| {
            Entry::told(result, result.by_schedule(0.999))
        })
        .meaning("of all due times, a missed one counting as late")
        .dispensable(4),
    ]
}

/// The slowest sample of each cell, and where it lies.
pub(crate) fn worst(results: &[CellResult<'_>]) -> Vec<Column> {
    let late: Vec<(&CellResult<'_>, LateSample)> = results
        .iter()
        .filter_map(|result| Some((result, *result.summary.worst.first()?)))
        .collect();
    if late.is_empty() {
        return Vec::new();
    }
    vec![
        Column::names("cell", &late, |(result, _)| Entry::text(result.label_as_granted())),
        Column::of("late by", &late, |(_, late)| {
            Entry::latency(Some(late.outlier.sample.latency()))
        }),
        Column::of("round", &late, |(_, late)| Entry::count(u64::from(late.round) + 1))
            .dispensable(1),
        Column::of("cpu", &late, |(_, late)| match late.cpu {
            Some(cpu) => Entry::count(cpu.into()),
            None => Entry::empty(),
        })
        .dispensable(1),
        Column::of("into the window", &late, |(_, late)| {
            Entry::latency(Some(late.outlier.sample.due))
        })
        .meaning("when it was due, since the window opened")
        .dispensable(2),
        Column::of("window opened", &late, |(_, late)| Entry::text(format::date(late.opened)))
            .dispensable(3),
    ]
}

/// What the loads achieved, and what the machine did meanwhile.
pub(crate) fn loads(results: &[CellResult<'_>]) -> Vec<Column> {
    let rates: Vec<_> = results.iter().map(CellResult::rates).collect();
    let mut columns = vec![name(results), load(results)];
    for (place, rate) in RATES.iter().enumerate() {
        let column = Column::of(rate.name, &rates, |values| Entry::optional(values[place].clone()))
            .meaning(rate.meaning)
            .dispensable(place as u8 + 1);
        columns.push(column);
    }
    columns
}

fn name(results: &[CellResult<'_>]) -> Column {
    Column::names("cell", results, |result| Entry::text(result.label_as_granted()))
}

fn quantile(results: &[CellResult<'_>], share: f64) -> Column {
    let head = match share {
        0.5 => "median".to_owned(),
        share => format!("p{}", format::percentile_number(share)),
    };
    Column::of(&head, results, |result| Entry::told(result, result.per_wakeup(share)))
}

/// The due times that passed unserved and their share, where that is known; empty when there
/// were none, so that others stand out.
fn missed(result: &CellResult<'_>) -> Entry {
    let accounting = result.accounting();
    match accounting.missed {
        _ if !result.missed_known() => Entry::text(UNKNOWN),
        0 => Entry::empty(),
        missed => Entry::number(
            format!("{} ({})", format::count(missed), format::share(missed, accounting.intended)),
            missed,
        ),
    }
}

fn interval(result: &CellResult<'_>, Interval { low, high }: Interval) -> String {
    format!("{}–{}", result.told(Some(low)), result.told(Some(high)))
}
