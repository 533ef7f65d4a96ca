//! The tables of a reproduction, as columns.

use tactus_judge::reproduce::{
    Across, CellServed, Figure, Measure, Row, Served, Statistic, TableFound, View,
};

use super::words;
use crate::format;
use crate::table::column::{Column, Entry};

/// This machine's figures of one measure and one choice of samples.
pub(super) fn here(rows: &[&Row<'_>]) -> Vec<Column> {
    let mut columns = vec![match rows.iter().any(|row| row.kernel.is_some()) {
        true => Column::names("kernel", rows, |row| Entry::optional(row.kernel.map(str::to_owned))),
        false => Column::names("cell", rows, |row| Entry::text(row.cell)),
    }];
    for (place, figure) in rows.first().map_or(&[][..], |first| &first.figures).iter().enumerate() {
        let statistic = figure.statistic;
        let column = Column::of(&words::head(statistic), rows, |row| {
            entry(row.figures.get(place), |figure| figure.beside.here)
        });
        columns.push(match statistic {
            Statistic::Samples => column.dispensable(1),
            Statistic::SetAside => column
                .meaning("the share of all samples during which a block device had a request in flight")
                .dispensable(2),
            Statistic::Serving => column
                .meaning("the share of these samples' cell that came due while an interrupt or a softirq was being served")
                .dispensable(3),
            Statistic::Expected => {
                column.meaning("frames a second that the ticks alone would have left, by the closed form")
            }
            Statistic::Overhead => column
                .meaning("the share of the time that was not the work itself: by which the average exceeds the least"),
            Statistic::BilledByKernel => {
                column.meaning("what the kernel's own ticks billed over the time that was used")
            }
            Statistic::MissedByKernel => column
                .meaning("the share of the effective quanta into which none of the kernel's own ticks fell"),
            Statistic::TickCost => column.meaning("what was not the work itself, for each tick of the kernel"),
            _ => column,
        });
    }
    columns
}

/// The rows of a view in groups of one measure and one choice of samples.
pub(super) fn groups<'v, 'a>(view: &'v View<'a>) -> Vec<Vec<&'v Row<'a>>> {
    let all: Vec<&Row<'_>> = view.rows.iter().collect();
    let same = |a: &&Row<'_>, b: &&Row<'_>| (a.measure, a.transfers) == (b.measure, b.transfers);
    all.chunk_by(same).map(<[_]>::to_vec).collect()
}

/// What stands over a group of rows.
pub(super) fn head(row: &Row<'_>) -> String {
    match row.measure {
        // No choice of samples was made.
        Measure::WakeupLatency
        | Measure::FramesShown
        | Measure::EffectiveQuantum
        | Measure::Billing
        | Measure::SortTime => row.measure.to_string(),
        Measure::InterruptAcknowledge | Measure::ContextSwitch => {
            format!("{}, {}", row.measure, row.transfers)
        }
    }
}

/// What kernels are set beside each other in: some figures of a measure.
#[derive(Clone, PartialEq)]
pub(super) struct Compared {
    measure: Measure,
    statistics: Vec<Statistic>,
}

impl Compared {
    fn of(row: &Row<'_>) -> Self {
        let statistics = representative(row).iter().map(|figure| figure.statistic).collect();
        Self { measure: row.measure, statistics }
    }

    /// What stands over such a table: which figures its entries are.
    pub(super) fn head(&self) -> String {
        let told: Vec<String> = self.statistics.iter().copied().map(words::head).collect();
        words::capitalised(&format!("{}: {}", self.measure, told.join(" / ")))
    }
}

/// Kernels beside each other: a row for each cell, a column for each kernel.
pub(super) fn kernels(across: &Across<'_>, compared: &Compared) -> Vec<Column> {
    let rows: Vec<Vec<&Row<'_>>> = across
        .views
        .iter()
        .map(|view| view.rows.iter().filter(|row| Compared::of(row) == *compared).collect())
        .filter(|rows: &Vec<&Row<'_>>| !rows.is_empty())
        .collect();
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

/// What kernels can be set beside each other in, each once.
pub(super) fn compared(across: &Across<'_>) -> Vec<Compared> {
    let mut all: Vec<Compared> = Vec::new();
    for compared in across.views.iter().flat_map(|view| &view.rows).map(Compared::of) {
        if !all.contains(&compared) {
            all.push(compared);
        }
    }
    all
}

fn shown(row: &Row<'_>) -> Entry {
    let figures = representative(row);
    let told: Vec<String> =
        figures.iter().map(|figure| words::figure(figure.statistic, figure.beside.here)).collect();
    let order = figures.last().and_then(|figure| figure.beside.here);
    let order = order.map_or(0, |value| format::rounded_nanos(value * 1e3).as_nanos());
    Entry::number(told.join(" / "), order)
}

/// The few figures that stand for a row: how many quanta there are and what they use, median
/// and greatest of other lengths, else all but how many samples there are.
fn representative<'r>(row: &'r Row<'_>) -> Vec<&'r Figure> {
    let of = |wanted: &[Statistic]| -> Vec<&'r Figure> {
        row.figures.iter().filter(|figure| wanted.contains(&figure.statistic)).collect()
    };
    if row.measure == Measure::EffectiveQuantum {
        return of(&[Statistic::Quanta, Statistic::Use, Statistic::Median]);
    }
    match of(&[Statistic::Median, Statistic::Max]) {
        found if found.len() == 2 => found,
        _ => row.figures.iter().filter(|figure| figure.statistic != Statistic::Samples).collect(),
    }
}

/// A row of a table that has the paper's figures above this machine's.
struct Line<'t, 'a> {
    row: &'t Row<'a>,
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
    for (place, statistic) in table.table.columns.iter().enumerate() {
        columns.push(Column::of(&words::head(*statistic), &lines, |line| {
            entry(line.row.figures.get(place), |figure| match line.here {
                true => figure.beside.here,
                false => figure.beside.paper,
            })
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

/// What was being served when samples came due, cell by cell.
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
        Column::names("in service", &rows, |(.., served)| {
            Entry::text(served.serving.map_or_else(|| "nothing".to_owned(), |one| one.to_string()))
        }),
        Column::of("samples", &rows, |(.., served)| Entry::count(served.samples)),
        Column::of("share", &rows, |(_, all, served)| {
            Entry::number(words::share(served.samples as f64 / *all as f64), served.samples)
        }),
        Column::of("median", &rows, |(.., served)| Entry::latency(Some(served.median)))
            .meaning("the median of interrupt acknowledge of these samples"),
        Column::of("max", &rows, |(.., served)| Entry::latency(Some(served.max)))
            .meaning("the greatest interrupt acknowledge of these samples"),
    ]
}

fn entry(figure: Option<&Figure>, of: impl Fn(&Figure) -> Option<f64>) -> Entry {
    let Some(figure) = figure else { return Entry::empty() };
    let value = of(figure);
    // Shares and rates have their digits behind the point.
    let order = value.map_or(0, |value| format::rounded_nanos(value * 1e3).as_nanos());
    Entry::number(words::figure(figure.statistic, value), order)
}
