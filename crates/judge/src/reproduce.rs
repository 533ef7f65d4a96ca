//! A paper's figures beside this machine's, and what becomes of its claims.
//!
//! What a paper published stands in a data file under `papers/`: [`paper`] reads
//! it. [`measured`] draws the same quantities from runs of the paper's experiments,
//! [`condition`] says which of the paper's tables this machine can be set beside,
//! and [`claim`] decides what holds. [`reproduce()`] puts these together; what it
//! gives is data, and the `report` crate makes texts, drawings and pages of it.

pub mod claim;
pub mod condition;
pub mod measured;
pub mod paper;
pub mod quantity;
mod shipped;
#[cfg(test)]
mod tests;

use serde::Serialize;
use tactus_model::facts::MachineFacts;
use tactus_model::run::RunId;
use tactus_stats::LatencyHistogram;

pub use claim::{Judged, Outcome};
pub use measured::Measured;
pub use paper::{BadPaper, Paper, Part};
pub use quantity::{Measure, Statistic, Transfers};
pub use shipped::{PAPERS, find};

use condition::unmet;
use paper::{Column, Graph, PaperTable};

/// What was measured of one part of a paper.
#[derive(Debug)]
pub struct Evidence<'a> {
    /// The run of the part's experiment.
    pub run: &'a RunId,
    /// The machine it was measured on.
    pub facts: &'a MachineFacts,
    /// What it found.
    pub measured: Measured,
}

/// A paper's figures beside this machine's.
#[derive(Clone, Debug, Serialize)]
pub struct Reproduction<'a> {
    /// The paper.
    #[serde(skip)]
    pub paper: &'a Paper,
    /// Its name.
    pub name: &'a str,
    /// Its parts, in its order.
    pub parts: Vec<PartFound<'a>>,
}

/// A part of a paper and what was found of it.
#[derive(Clone, Debug, Serialize)]
pub struct PartFound<'a> {
    /// The part as the paper has it.
    #[serde(skip)]
    pub part: &'a Part,
    /// Its name.
    pub name: &'a str,
    /// The run that was measured for it; none when there is none.
    pub run: Option<&'a RunId>,
    /// What this machine's figures are, for each of the part's graphs.
    pub views: Vec<View<'a>>,
    /// The paper's tables, with this machine's figures beside where they compare.
    pub tables: Vec<TableFound<'a>>,
    /// The paper's claims, each decided.
    pub claims: Vec<Judged<'a>>,
}

/// This machine's series of one graph.
#[derive(Clone, Debug, Serialize)]
pub struct View<'a> {
    /// What the graph shows.
    #[serde(skip)]
    pub graph: &'a Graph,
    /// Its title.
    pub title: &'a str,
    /// One for each measure, choice of transfers and cell that were measured.
    pub series: Vec<Series<'a>>,
}

/// The figures of one measure in one cell.
#[derive(Clone, Debug, Serialize)]
pub struct Series<'a> {
    /// What was measured.
    pub measure: Measure,
    /// Which samples.
    pub transfers: Transfers,
    /// In which cell, by the paper's name.
    pub cell: &'a str,
    /// How many samples there are.
    pub samples: u64,
    /// The share of the samples that saw a transfer and were, or would be, set aside.
    pub set_aside: Option<f64>,
    /// Figures by the statistic's name; lengths in nanoseconds.
    pub figures: Vec<(Statistic, Option<f64>)>,
    /// All its lengths.
    #[serde(skip)]
    pub lengths: LatencyHistogram,
}

/// A table of the paper with this machine's figures.
#[derive(Clone, Debug, Serialize)]
pub struct TableFound<'a> {
    /// The table.
    #[serde(skip)]
    pub table: &'a PaperTable,
    /// Its name.
    pub name: &'a str,
    /// Its columns, in order.
    pub columns: Vec<Column>,
    /// Why this machine's figures do not belong beside it; none where they do.
    pub not_here: Option<String>,
    /// Its rows.
    pub rows: Vec<RowFound<'a>>,
}

/// A row of the paper's table.
#[derive(Clone, Debug, Serialize)]
pub struct RowFound<'a> {
    /// What was measured.
    pub measure: Measure,
    /// The row's cell.
    pub cell: &'a str,
    /// The paper's figures, one for each column; lengths in nanoseconds.
    pub paper: Vec<Option<f64>>,
    /// This machine's, likewise; none where it has none.
    pub here: Vec<Option<f64>>,
}

/// The figures that are told of every series of a graph.
const VIEWED: [Statistic; 5] =
    [Statistic::Min, Statistic::Median, Statistic::Max, Statistic::Average, Statistic::Deviation];

/// Sets a paper's parts beside what was measured: `evidence` has one entry for each
/// part, none where the part was not measured.
pub fn reproduce<'a>(paper: &'a Paper, evidence: &'a [Option<Evidence<'a>>]) -> Reproduction<'a> {
    let evidence = evidence.iter().map(Option::as_ref).chain(std::iter::repeat(None));
    let parts = paper.parts.iter().zip(evidence).map(|(part, evidence)| found(part, evidence));
    Reproduction { paper, name: &paper.name, parts: parts.collect() }
}

fn found<'a>(part: &'a Part, evidence: Option<&'a Evidence<'a>>) -> PartFound<'a> {
    PartFound {
        part,
        name: &part.name,
        run: evidence.map(|evidence| evidence.run),
        views: evidence.map_or_else(Vec::new, |evidence| {
            part.graphs.iter().map(|graph| view(graph, &evidence.measured)).collect()
        }),
        tables: part.tables.iter().map(|table| beside(table, evidence)).collect(),
        claims: part.claims.iter().map(|claim| claim::judge(claim, part, evidence)).collect(),
    }
}

fn view<'a>(graph: &'a Graph, measured: &Measured) -> View<'a> {
    let mut series = Vec::new();
    for &measure in &graph.measures {
        for &transfers in &graph.transfers {
            for cell in &graph.cells {
                let Some(lengths) = measured.lengths(measure, transfers, cell) else { continue };
                let figures = VIEWED.map(|statistic| (statistic, statistic.of(lengths)));
                series.push(Series {
                    measure,
                    transfers,
                    cell,
                    samples: lengths.count(),
                    set_aside: measured.set_aside(cell),
                    figures: figures.to_vec(),
                    lengths: lengths.clone(),
                });
            }
        }
    }
    View { graph, title: &graph.title, series }
}

fn beside<'a>(table: &'a PaperTable, evidence: Option<&'a Evidence<'a>>) -> TableFound<'a> {
    let columns = table.column_list();
    let not_here = match evidence {
        None => Some("it was not measured".to_owned()),
        Some(evidence) => unmet(&table.requires, evidence.facts),
    };
    let measured = evidence.filter(|_| not_here.is_none()).map(|evidence| &evidence.measured);
    let rows = table.groups.iter().flat_map(|group| group.rows.iter().map(move |row| (group, row)));
    let rows = rows.map(|(group, row)| RowFound {
        measure: group.measure,
        cell: &row.cell,
        paper: columns
            .iter()
            .zip(&row.figures)
            .map(|(column, figure)| figure.number().map(|number| column.unit.base(number)))
            .collect(),
        here: columns
            .iter()
            .map(|column| {
                measured?.figure(group.measure, table.transfers, &row.cell, column.statistic)
            })
            .collect(),
    });
    TableFound { table, name: &table.name, rows: rows.collect(), columns, not_here }
}
