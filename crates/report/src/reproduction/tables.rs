//! The tables of a reproduction, as columns.

use tactus_reproduce::{
    Across, CellServed, Compared, Figure, Kind, Measure, Row, Served, Statistic, TableFound,
};

use crate::format;
use crate::table::column::{Column, Entry};

/// This machine's figures of one measure and one selection of samples.
pub(super) fn here(rows: &[&Row<'_>]) -> Vec<Column> {
    let mut columns = vec![match rows.iter().any(|row| row.kernel.is_some()) {
        true => Column::names("kernel", rows, |row| Entry::optional(row.kernel.map(str::to_owned))),
        false => Column::names("cell", rows, |row| Entry::text(row.cell)),
    }];
    for (place, figure) in rows.first().map_or(&[][..], |first| &first.figures).iter().enumerate() {
        let here = |row: &&Row<'_>| row.figures.get(place).and_then(|figure| figure.beside.here);
        if rows.iter().all(|row| here(row).is_none()) {
            continue;
        }
        let statistic = figure.statistic;
        let column = Column::of(&statistic.head(), rows, |row| {
            entry(row.figures.get(place), |figure| figure.beside.here)
        });
        let column = match statistic.meaning() {
            Some(meaning) => column.meaning(meaning),
            None => column,
        };
        columns.push(match statistic {
            Statistic::Samples => column.dispensable(1),
            Statistic::SetAside => column.dispensable(2),
            Statistic::Serving => column.dispensable(3),
            _ => column,
        });
    }
    columns
}

/// Kernels compared: a row for each cell, a column for each kernel.
pub(super) fn kernels(across: &Across<'_>, compared: &Compared) -> Vec<Column> {
    let rows = across.rows_of(compared);
    let mut columns =
        vec![Column::names(&compared.measure.to_string(), &rows, |row| Entry::text(row[0].cell))];
    columns.extend(across.kernels.iter().map(|&kernel| {
        Column::of(kernel, &rows, |row| {
            row.iter()
                .find(|row| row.kernel == Some(kernel))
                .map_or_else(Entry::empty, |row| shown(row))
        })
    }));
    columns
}

fn shown(row: &Row<'_>) -> Entry {
    let figures = row.representative();
    let written: Vec<String> =
        figures.iter().map(|figure| figure.statistic.written(figure.beside.here)).collect();
    let order = figures.last().and_then(|figure| figure.beside.here);
    let order = order.map_or(0, |value| format::rounded_nanos(value * 1e3).as_nanos());
    Entry::number(written.join(" / "), order)
}

/// The rows of one measure in a table of the paper, a line for each figure: the paper's, and this
/// machine's beside it. A figure that neither has takes no line.
pub(super) fn beside(table: &TableFound<'_>, measure: Measure) -> Vec<Column> {
    let rows = table.rows.iter().filter(|row| row.measure == measure);
    let figures = rows.flat_map(|row| row.figures.iter().map(move |figure| (row.cell, figure)));
    let is_known = |(_, figure): &(&str, &Figure)| {
        figure.beside.paper.is_some() || figure.beside.here.is_some()
    };
    let lines: Vec<(&str, &Figure)> = figures.filter(is_known).collect();
    let statistics = &table.table.columns;
    let mut columns =
        vec![Column::names(&measure.to_string(), &lines, |(cell, _)| Entry::text(*cell))];
    if statistics.len() > 1 {
        columns.push(Column::names("figure", &lines, |(_, figure)| {
            Entry::text(figure.statistic.head())
        }));
    }
    let head = |of: &str| match &statistics[..] {
        [only] => format!("{}, {of}", only.head()),
        _ => of.to_owned(),
    };
    columns.push(Column::of(&head("paper"), &lines, |(_, figure)| {
        entry(Some(figure), |figure| figure.beside.paper)
    }));
    if table.not_here.is_none() {
        columns.push(Column::of(&head("here"), &lines, |(_, figure)| {
            entry(Some(figure), |figure| figure.beside.here)
        }));
    }
    columns
}

/// The interrupts and softirqs that ran when samples were due, cell by cell.
pub(super) fn served(cells: &[CellServed<'_>]) -> Vec<Column> {
    let rows: Vec<(&str, u64, &Served)> = cells
        .iter()
        .flat_map(|cell| {
            let all = cell.served.iter().map(|served| served.samples).sum();
            cell.served.iter().map(move |served| (cell.cell, all, served))
        })
        .collect();
    vec![
        Column::names("cell", &rows, |(cell, ..)| Entry::text(*cell)),
        Column::names("handling", &rows, |(.., served)| {
            Entry::text(served.serving.map_or_else(|| "nothing".to_owned(), |one| one.to_string()))
        }),
        Column::of("samples", &rows, |(.., served)| Entry::count(served.samples)),
        Column::of("share", &rows, |(_, all, served)| {
            Entry::number(Kind::Share.written(served.samples as f64 / *all as f64), served.samples)
        }),
        Column::of("median", &rows, |(.., served)| Entry::latency(Some(served.median)))
            .meaning("median interrupt acknowledge of these samples"),
        Column::of("max", &rows, |(.., served)| Entry::latency(Some(served.max)))
            .meaning("maximum interrupt acknowledge of these samples"),
    ]
}

fn entry(figure: Option<&Figure>, of: impl Fn(&Figure) -> Option<f64>) -> Entry {
    let Some(figure) = figure else { return Entry::empty() };
    let value = of(figure);
    // Shares and rates have digits after the decimal point.
    let order = value.map_or(0, |value| format::rounded_nanos(value * 1e3).as_nanos());
    Entry::number(figure.statistic.written(value), order)
}
