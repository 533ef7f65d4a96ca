//! A paper's figures beside this machine's, and what becomes of its claims.
//!
//! A data file under `papers/` holds what a paper published: [`paper`] reads
//! it. [`measured`] draws the same quantities from runs of the paper's experiments,
//! [`condition`] says which of the paper's tables this machine can be set beside,
//! and [`claim`] decides what holds. [`reproduce()`] puts these together. The
//! result is data that has its words with it; the `report` crate lays it out as
//! text, drawings and a page.
//!
//! Everything here is a pure function of its arguments: it opens no file and reads no clock.
#![forbid(unsafe_code)]

mod across;
pub mod claim;
pub mod condition;
pub mod measured;
pub mod paper;
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
pub use measured::{Measured, Recorded, Served};
pub use paper::{BadPaper, Paper, Part};
pub use quantity::{Kind, Measure, Statistic, Transfers};
pub use rows::Compared;
pub use shipped::{PAPERS, find};
pub use words::{Became, ClaimAcross, tally};

use condition::{lacking, unmet};
use paper::{Graph, PaperTable};

/// What was measured of one part of a paper on one machine.
#[derive(Debug)]
pub struct StudyRun<'a> {
    /// The run of the part's experiment.
    pub run: &'a RunId,
    /// The guest it was measured in; none for the machine itself.
    pub guest: Option<InGuest<'a>>,
    /// The machine it was measured on: the guest's own facts where it is one.
    pub facts: &'a MachineFacts,
    /// What it found.
    pub measured: Measured,
}

/// A guest that a part was measured in.
#[derive(Clone, Debug)]
pub struct InGuest<'a> {
    /// The guest.
    pub guest: &'a Guest,
    /// What its kernel is called among the others of the run: see [`kernel_names`](tactus_model::label::kernel_names).
    pub name: String,
}

impl StudyRun<'_> {
    /// What the guest's kernel is called; none for the machine itself.
    fn kernel(&self) -> Option<&str> {
        self.guest.as_ref().map(|guest| guest.name.as_str())
    }

    /// Whether the machine has what a graph is about.
    fn shows(&self, graph: &Graph) -> bool {
        let guest = self.guest.as_ref().map(|guest| guest.guest);
        lacking(&graph.needs, guest, self.facts).is_none()
    }

    /// Whether block devices can have moved anything.
    const fn has_block_devices(&self) -> bool {
        self.guest.is_none()
    }
}

/// Which settings of a paper's experiment were measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Those of the short form.
    Quick,
    /// The paper's own.
    Full,
    /// Others, as the user chose them.
    Own,
}

/// A paper's figures beside this machine's.
///
/// What it holds of the paper it gives as JSON by name.
#[derive(Clone, Debug, Serialize)]
pub struct Reproduction<'a> {
    /// The paper.
    #[serde(rename = "name", serialize_with = "by_name")]
    pub paper: &'a Paper,
    /// Its parts, in its order; one that was measured in several kernels stands there once
    /// for each.
    pub parts: Vec<PartFound<'a>>,
    /// The kernels of each part that was measured in several, beside each other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub across: Vec<Across<'a>>,
}

/// A part of a paper and what was found of it on one machine.
#[derive(Clone, Debug, Serialize)]
pub struct PartFound<'a> {
    /// The part as the paper has it.
    #[serde(rename = "name", serialize_with = "by_name")]
    pub part: &'a Part,
    /// The run that was measured for it; none when there is none.
    pub run: Option<&'a RunId>,
    /// The kernel of the guest that it was measured in; none for the machine itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<&'a str>,
    /// How it was measured there and how it compares, in sentences.
    #[serde(skip)]
    pub about: &'a str,
    /// What this machine's figures are, for each of the part's graphs.
    pub views: Vec<View<'a>>,
    /// What was being served when the samples of each cell came due, where it was recorded.
    pub served: Vec<CellServed<'a>>,
    /// The paper's tables, with this machine's figures beside where they compare.
    pub tables: Vec<TableFound<'a>>,
    /// The paper's claims, each decided.
    pub claims: Vec<Judged<'a>>,
}

/// This machine's figures of one graph.
#[derive(Clone, Debug, Serialize)]
pub struct View<'a> {
    /// What the graph shows.
    #[serde(rename = "title", serialize_with = "by_name")]
    pub graph: &'a Graph,
    /// A row for each measure, choice of samples and cell that was measured.
    pub rows: Vec<Row<'a>>,
}

/// What was being served when the samples of a cell came due.
#[derive(Clone, Debug, Serialize)]
pub struct CellServed<'a> {
    /// The cell, by the paper's name.
    pub cell: &'a str,
    /// Each interrupt and softirq, after nothing at all.
    pub served: Vec<Served>,
}

/// A table of the paper with this machine's figures.
#[derive(Clone, Debug, Serialize)]
pub struct TableFound<'a> {
    /// The table.
    #[serde(rename = "name", serialize_with = "by_name")]
    pub table: &'a PaperTable,
    /// Why this machine's figures do not belong beside it; none where they do.
    pub not_here: Option<String>,
    /// Its rows.
    pub rows: Vec<Row<'a>>,
}

/// The figures of one measure and choice of samples in one cell.
#[derive(Clone, Debug, Serialize)]
pub struct Row<'a> {
    /// What was measured.
    pub measure: Measure,
    /// Which samples.
    pub transfers: Transfers,
    /// In which cell, by the paper's name.
    pub cell: &'a str,
    /// In which kernel, where kernels stand beside each other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<&'a str>,
    /// The figures.
    pub figures: Vec<Figure>,
    /// The lengths that this machine's figures are of; none where they are of none.
    #[serde(skip)]
    pub lengths: Option<&'a LatencyHistogram>,
    /// What a program got from the CPUs here; none where the row is of none.
    #[serde(skip)]
    pub account: Option<&'a Account>,
}

/// One figure; lengths are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// What it tells.
    pub statistic: Statistic,
    /// What it is.
    #[serde(flatten)]
    pub beside: Beside,
}

/// A number of the paper and the same of this machine; none where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Beside {
    /// As the paper has it.
    pub paper: Option<f64>,
    /// As this machine has it.
    pub here: Option<f64>,
}

/// What has a name by which results refer to it.
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

/// Sets a paper's parts beside what was measured: `runs` has one entry for each
/// part, empty where the part was not measured, and in it one for each machine.
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
        for transfers in transfers_told(graph, study) {
            for cell in &graph.cells {
                rows.extend(row(graph, measure, transfers, cell, &study.measured));
            }
        }
    }
    View { graph, rows }
}

/// The choices of samples of a graph; where nothing can be transferred they are all one.
fn transfers_told(graph: &Graph, study: &StudyRun<'_>) -> Vec<Transfers> {
    let told = graph.transfers.iter().copied();
    match study.has_block_devices() {
        true => told.collect(),
        false => told.take(1).collect(),
    }
}

/// A row of a graph; none where nothing of it was measured.
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
        Row { measure, transfers, cell, kernel: None, figures, lengths, account }
    })
}

/// Of the cells that the part's graphs show, in their order, each once.
fn served<'a>(part: &'a Part, measured: &Measured) -> Vec<CellServed<'a>> {
    let mut told: Vec<CellServed<'a>> = Vec::new();
    for cell in part.graphs.iter().flat_map(|graph| &graph.cells) {
        let served = measured.served(cell);
        if !served.is_empty() && told.iter().all(|known| known.cell != cell) {
            told.push(CellServed { cell, served: served.to_vec() });
        }
    }
    told
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
            account: None,
        }
    });
    TableFound { table, rows: rows.collect(), not_here }
}
