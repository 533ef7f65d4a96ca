//! The tables of a reproduction, as columns.

use tactus_judge::reproduce::{Measure, RowFound, Series, Statistic, TableFound, View};

use super::words;
use crate::format;
use crate::table::column::{Column, Entry};

/// This machine's figures of one measure and one choice of samples.
pub(super) fn series(series: &[&Series<'_>]) -> Vec<Column> {
    let set_aside = |series: &&Series<'_>| Entry::optional(series.set_aside.map(words::share));
    let mut columns = vec![
        Column::names("cell", series, |series| Entry::text(series.cell)),
        Column::of("samples", series, |series| Entry::count(series.samples)).dispensable(1),
        Column::of("saw a transfer", series, set_aside)
            .meaning("the share of all samples during which a block device had a request in flight")
            .dispensable(2),
    ];
    let statistics = series.first().map_or(&[][..], |first| &first.figures);
    for (place, (statistic, _)) in statistics.iter().enumerate() {
        columns.push(Column::of(&statistic.to_string(), series, |series| {
            let (statistic, value) = series.figures[place];
            entry(statistic, value)
        }));
    }
    columns
}

/// The series of a view in groups of one measure and one choice of samples.
pub(super) fn groups<'v, 'a>(view: &'v View<'a>) -> Vec<Vec<&'v Series<'a>>> {
    let all: Vec<&Series<'_>> = view.series.iter().collect();
    let same =
        |a: &&Series<'_>, b: &&Series<'_>| (a.measure, a.transfers) == (b.measure, b.transfers);
    all.chunk_by(same).map(<[_]>::to_vec).collect()
}

/// A row of a table that has the paper's figures above this machine's.
struct Line<'t, 'a> {
    row: &'t RowFound<'a>,
    here: bool,
}

/// The rows of one measure in a table of the paper, this machine's under the paper's.
pub(super) fn beside(table: &TableFound<'_>, measure: Measure) -> Vec<Column> {
    let lines: Vec<Line<'_, '_>> = table
        .rows
        .iter()
        .filter(|row| row.measure == measure)
        .flat_map(|row| {
            let here = table.not_here.is_none().then_some(Line { row, here: true });
            [Some(Line { row, here: false }), here].into_iter().flatten()
        })
        .collect();
    let mut columns = vec![Column::names(&measure.to_string(), &lines, |line| {
        Entry::text(format!("{}, {}", line.row.cell, if line.here { "here" } else { "paper" }))
    })];
    for (place, column) in table.columns.iter().enumerate() {
        columns.push(Column::of(&column.statistic.to_string(), &lines, |line| {
            let figures = if line.here { &line.row.here } else { &line.row.paper };
            entry(column.statistic, figures.get(place).copied().flatten())
        }));
    }
    columns
}

/// The measures of a table, each once, in its order.
pub(super) fn measures(table: &TableFound<'_>) -> Vec<Measure> {
    let mut measures: Vec<Measure> = table.rows.iter().map(|row| row.measure).collect();
    measures.dedup();
    measures
}

fn entry(statistic: Statistic, value: Option<f64>) -> Entry {
    let order = value.map_or(0, |value| format::rounded_nanos(value).as_nanos());
    Entry::number(words::figure(statistic, value), order)
}
