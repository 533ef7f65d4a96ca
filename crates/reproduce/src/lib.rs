//! Comparison of a paper's figures with this machine's, and the outcome of its claims.
//!
//! A data file under `papers/` has the published figures of a paper: [`paper`] reads it.
//! [`measured`] computes the same quantities from runs of the paper's experiments,
//! [`condition`] decides which of the paper's tables apply to this machine, and [`claim`]
//! judges the claims. [`reproduce()`] combines these. The result is data with its texts; the
//! `report` crate lays it out as text, drawings and a page.
//!
//! All functions are pure: they open no file and read no clock.
#![forbid(unsafe_code)]

mod across;
pub mod claim;
pub mod condition;
pub mod interval;
pub mod measured;
pub mod paper;
pub mod pipeline;
mod playback;
pub mod quantity;
mod rows;
mod shipped;
#[cfg(test)]
mod tests;
mod words;

use serde::{Serialize, Serializer};
use tactus_explain::account::Account;
use tactus_model::facts::MachineFacts;
use tactus_model::guest::Guest;
use tactus_model::run::RunId;
use tactus_stats::LatencyHistogram;

pub use across::{Across, JudgedAcross};
pub use claim::{Judged, Outcome};
pub use interval::Interval;
pub use measured::{Measured, Recorded, Served, UseOverTime};
pub use paper::{BadPaper, Paper, Part};
pub use quantity::{Kind, Measure, Statistic, Transfers};
pub use rows::Compared;
pub use shipped::{PAPERS, find};
pub use words::{ClaimAcross, KernelOutcome, tally};

use condition::{lacking, unmet};
use paper::{Graph, PaperTable};

/// The measurement of a part of a paper on one machine.
#[derive(Debug)]
pub struct StudyRun<'a> {
    /// The run of the part's experiment.
    pub run: &'a RunId,
    /// The guest it was measured in; `None` for the host.
    pub guest: Option<InGuest<'a>>,
    /// The facts of the machine; of the guest if it was measured in one.
    pub facts: &'a MachineFacts,
    /// The results.
    pub measured: Measured,
}

/// A guest that a part was measured in.
#[derive(Clone, Debug)]
pub struct InGuest<'a> {
    /// The guest.
    pub guest: &'a Guest,
    /// The name of its kernel among those of the run: see [`kernel_names`](tactus_model::label::kernel_names).
    pub name: String,
}

impl StudyRun<'_> {
    /// The name of the guest's kernel; `None` for the host.
    fn kernel(&self) -> Option<&str> {
        self.guest.as_ref().map(|guest| guest.name.as_str())
    }

    /// Whether the machine has what a graph needs.
    fn shows(&self, graph: &Graph) -> bool {
        let guest = self.guest.as_ref().map(|guest| guest.guest);
        lacking(&graph.needs, guest, self.facts).is_none()
    }

    /// Whether transfers of block devices are possible.
    const fn has_block_devices(&self) -> bool {
        self.guest.is_none()
    }
}

/// The form of a paper's experiment that was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The short form.
    Quick,
    /// The paper's own settings.
    Full,
    /// Settings chosen by the user.
    Own,
}

/// A comparison of a paper's figures with this machine's.
///
/// In JSON, parts of the paper are referred to by name.
#[derive(Clone, Debug, Serialize)]
pub struct Reproduction<'a> {
    /// The paper.
    #[serde(rename = "name", serialize_with = "by_name")]
    pub paper: &'a Paper,
    /// Its parts, in order; a part that was measured in several kernels appears once for each.
    pub parts: Vec<PartFound<'a>>,
    /// The comparison of kernels for each part that was measured in several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub across: Vec<Across<'a>>,
}

/// A part of a paper with the results of one machine.
#[derive(Clone, Debug, Serialize)]
pub struct PartFound<'a> {
    /// The part of the paper.
    #[serde(rename = "name", serialize_with = "by_name")]
    pub part: &'a Part,
    /// The run of its experiment; `None` if it was not measured.
    pub run: Option<&'a RunId>,
    /// The kernel of the guest it was measured in; `None` for the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<&'a str>,
    /// How it was measured and how it differs from the paper, in sentences.
    #[serde(skip)]
    pub about: &'a str,
    /// This machine's figures for each of the part's graphs.
    pub views: Vec<View<'a>>,
    /// The interrupts being served when the samples of each cell were due, if recorded.
    pub served: Vec<CellServed<'a>>,
    /// The paper's tables, with this machine's figures if comparable.
    pub tables: Vec<TableFound<'a>>,
    /// The paper's claims with their outcomes.
    pub claims: Vec<Judged<'a>>,
}

/// This machine's figures of one graph.
#[derive(Clone, Debug, Serialize)]
pub struct View<'a> {
    /// The graph.
    #[serde(rename = "title", serialize_with = "by_name")]
    pub graph: &'a Graph,
    /// A row for each measured combination of measure, choice of samples and cell.
    pub rows: Vec<Row<'a>>,
}

/// The interrupts being served when the samples of a cell were due.
#[derive(Clone, Debug, Serialize)]
pub struct CellServed<'a> {
    /// The cell, by the paper's name.
    pub cell: &'a str,
    /// A row without any, then each interrupt and softirq.
    pub served: Vec<Served>,
}

/// A table of the paper with this machine's figures.
#[derive(Clone, Debug, Serialize)]
pub struct TableFound<'a> {
    /// The table.
    #[serde(rename = "name", serialize_with = "by_name")]
    pub table: &'a PaperTable,
    /// Why it does not apply to this machine; `None` if it does.
    pub not_here: Option<String>,
    /// Its rows.
    pub rows: Vec<Row<'a>>,
}

impl TableFound<'_> {
    /// Whether the paper published a number of it. A table without any only names figures for
    /// claims; the graphs have this machine's.
    pub fn has_published(&self) -> bool {
        let mut figures = self.rows.iter().flat_map(|row| &row.figures);
        figures.any(|figure| figure.beside.paper.is_some())
    }
}

/// The figures of one measure and choice of samples in one cell.
#[derive(Clone, Debug, Serialize)]
pub struct Row<'a> {
    /// The measured quantity.
    pub measure: Measure,
    /// The choice of samples.
    pub transfers: Transfers,
    /// The cell, by the paper's name.
    pub cell: &'a str,
    /// The kernel, in a comparison of kernels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<&'a str>,
    /// The figures.
    pub figures: Vec<Figure>,
    /// This machine's durations behind the figures; `None` if they are not of durations.
    #[serde(skip)]
    pub lengths: Option<&'a LatencyHistogram>,
    /// The CPU time of the cell's task over time, if measured.
    #[serde(skip)]
    pub used: Option<&'a UseOverTime>,
    /// The CPU time of a program here; `None` if the row is not about a program.
    #[serde(skip)]
    pub account: Option<&'a Account>,
}

/// A figure; durations are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// The statistic.
    pub statistic: Statistic,
    /// The paper's value and this machine's.
    #[serde(flatten)]
    pub beside: Beside,
}

/// A number of the paper and of this machine; `None` if missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Beside {
    /// The paper's.
    pub paper: Option<f64>,
    /// This machine's.
    pub here: Option<f64>,
}

/// An item that results refer to by name.
trait Named {
    fn name(&self) -> &str;
}

impl Named for Paper {
    fn name(&self) -> &str {
        &self.name
    }
}

impl Named for Part {
    fn name(&self) -> &str {
        &self.name
    }
}

impl Named for Graph {
    fn name(&self) -> &str {
        &self.title
    }
}

impl Named for PaperTable {
    fn name(&self) -> &str {
        &self.name
    }
}

fn by_name<S: Serializer>(named: &&impl Named, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(named.name())
}

/// Compares a paper's parts with measurements. `runs` has an entry for each part with its
/// machines; an entry is empty if the part was not measured.
pub fn reproduce<'a>(paper: &'a Paper, runs: &'a [Vec<StudyRun<'a>>]) -> Reproduction<'a> {
    let runs = runs.iter().map(Vec::as_slice).chain(std::iter::repeat(&[][..]));
    let measured: Vec<(&Part, &[StudyRun<'_>])> = paper.parts.iter().zip(runs).collect();
    let parts = measured.iter().flat_map(|&(part, machines)| match machines {
        [] => vec![found(part, None)],
        machines => machines.iter().map(|machine| found(part, Some(machine))).collect(),
    });
    let several = measured.iter().filter(|(_, machines)| machines.len() > 1);
    let across = several.map(|&(part, machines)| across::across(part, machines));
    Reproduction { paper, parts: parts.collect(), across: across.collect() }
}

fn found<'a>(part: &'a Part, study: Option<&'a StudyRun<'a>>) -> PartFound<'a> {
    let measured = study.map(|study| &study.measured);
    let is_guest = study.is_some_and(|study| study.guest.is_some());
    PartFound {
        part,
        run: study.map(|study| study.run),
        kernel: study.and_then(StudyRun::kernel),
        about: part.about_in(is_guest),
        views: study.map_or_else(Vec::new, |study| {
            let shown = part.graphs.iter().filter(|graph| study.shows(graph));
            shown.map(|graph| view(graph, study)).collect()
        }),
        served: measured.map_or_else(Vec::new, |measured| served(part, measured)),
        tables: part.tables.iter().map(|table| beside(table, study)).collect(),
        claims: part.claims.iter().map(|claim| claim::judge(claim, part, study)).collect(),
    }
}

fn view<'a>(graph: &'a Graph, study: &'a StudyRun<'a>) -> View<'a> {
    let mut rows = Vec::new();
    for &measure in &graph.measures {
        for transfers in distinct_transfers(graph, study) {
            for cell in &graph.cells {
                rows.extend(row(graph, measure, transfers, cell, &study.measured));
            }
        }
    }
    View { graph, rows }
}

/// The choices of samples of a graph. Without block devices all choices are the same.
fn distinct_transfers(graph: &Graph, study: &StudyRun<'_>) -> Vec<Transfers> {
    let choices = graph.transfers.iter().copied();
    match study.has_block_devices() {
        true => choices.collect(),
        false => choices.take(1).collect(),
    }
}

/// A row of a graph; `None` if nothing of it was measured.
fn row<'a>(
    graph: &Graph,
    measure: Measure,
    transfers: Transfers,
    cell: &'a str,
    measured: &'a Measured,
) -> Option<Row<'a>> {
    let figure = |&statistic: &Statistic| {
        let here = measured.figure(measure, transfers, cell, statistic);
        Figure { statistic, beside: Beside { paper: None, here } }
    };
    let columns = match graph.columns.as_slice() {
        [] => measure.statistics(),
        columns => columns,
    };
    let figures: Vec<Figure> = columns.iter().map(figure).collect();
    let is_measured = figures.iter().any(|figure| figure.beside.here.is_some());
    is_measured.then(|| {
        let lengths = measured.lengths(measure, transfers, cell);
        let account = measured.account_of(cell);
        let used = measured.used(cell);
        Row { measure, transfers, cell, kernel: None, figures, lengths, used, account }
    })
}

/// The interrupts being served, for the cells of the part's graphs, in order, each once.
fn served<'a>(part: &'a Part, measured: &Measured) -> Vec<CellServed<'a>> {
    let mut found: Vec<CellServed<'a>> = Vec::new();
    for cell in part.graphs.iter().flat_map(|graph| &graph.cells) {
        let served = measured.served(cell);
        if !served.is_empty() && found.iter().all(|known| known.cell != cell) {
            found.push(CellServed { cell, served: served.to_vec() });
        }
    }
    found
}

fn beside<'a>(table: &'a PaperTable, study: Option<&'a StudyRun<'a>>) -> TableFound<'a> {
    let not_here = match study {
        None => Some("it was not measured".to_owned()),
        Some(study) => {
            let guest = study.guest.as_ref().map(|guest| guest.guest);
            lacking(&table.needs, guest, study.facts)
                .or_else(|| unmet(&table.requires, study.facts))
        }
    };
    let measured = study.filter(|_| not_here.is_none()).map(|study| &study.measured);
    let rows = table.groups.iter().flat_map(|group| group.rows.iter().map(move |row| (group, row)));
    let rows = rows.map(|(group, row)| {
        let (measure, transfers, cell) = (group.measure, table.transfers, row.cell.as_str());
        let figures = table.columns.iter().zip(table.figures(row)).map(|(&statistic, paper)| {
            let here =
                measured.and_then(|measured| measured.figure(measure, transfers, cell, statistic));
            Figure { statistic, beside: Beside { paper, here } }
        });
        Row {
            measure,
            transfers,
            cell,
            kernel: None,
            figures: figures.collect(),
            lengths: None,
            used: None,
            account: None,
        }
    });
    TableFound { table, rows: rows.collect(), not_here }
}
