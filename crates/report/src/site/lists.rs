//! The lists of runs, machines, and figures with a history.

use askama::Template;
use serde::Serialize;
use tactus_judge::history::{Figure, RunFigures};
use tactus_judge::verdict::Validity;
use tactus_model::run::{RunId, RunSummary};
use tactus_model::time::{Instant, Realtime};

use super::{STYLES, Site, machine_words, path};
use crate::format;
use crate::page::ReportError;
use crate::page::frame::{Frame, written};

/// A run of the list.
#[derive(Clone, Copy, Debug)]
pub struct RunRow<'r> {
    /// Its summary.
    pub summary: &'r RunSummary,
    /// What was read of it; `None` if it has not been read yet.
    pub figures: Option<&'r RunFigures>,
    /// The run before it of the same experiment on the same machine.
    pub previous: Option<&'r RunId>,
}

/// A page of the list of runs.
#[derive(Clone, Debug)]
pub struct RunsPage<'r> {
    /// The runs on this page, the last added first.
    pub runs: Vec<RunRow<'r>>,
    /// The number of this page, from 1.
    pub page: usize,
    /// The number of pages.
    pub pages: usize,
    /// The number of runs that match.
    pub count: usize,
    /// The criteria: key and value.
    pub criteria: Vec<(&'static str, String)>,
    /// What is known of the store, in a line.
    pub state: String,
}

/// Writes a page of the list of runs.
///
/// # Errors
/// The page could not be put together.
pub fn runs_page(list: &RunsPage<'_>) -> Result<String, ReportError> {
    let query = |page: usize, without: Option<&str>| {
        let number = page.to_string();
        let mut query: Vec<(&str, &str)> = list
            .criteria
            .iter()
            .filter(|(key, _)| Some(*key) != without)
            .map(|(key, value)| (*key, value.as_str()))
            .collect();
        if page > 1 {
            query.push(("page", &number));
        }
        path("/", &query)
    };
    let page = Runs {
        title: "Runs".to_owned(),
        head: format::counted(list.count as u64, "run"),
        criteria: list
            .criteria
            .iter()
            .map(|(key, value)| (format!("{key} {value}"), query(1, Some(key))))
            .collect(),
        rows: list.runs.iter().map(RowView::of).collect(),
        newer: (list.page > 1).then(|| query(list.page - 1, None)),
        older: (list.page < list.pages).then(|| query(list.page + 1, None)),
        place: format!("page {} of {}", list.page, list.pages),
        site: Site { state: list.state.clone() },
        frame: Frame::new(STYLES, &[]),
    };
    Ok(written(&page)?)
}

#[derive(Template)]
#[template(path = "site_runs.html")]
struct Runs {
    title: String,
    head: String,
    /// Each criterion with the path of the list without it.
    criteria: Vec<(String, String)>,
    rows: Vec<RowView>,
    newer: Option<String>,
    older: Option<String>,
    place: String,
    site: Site,
    frame: Frame,
}

/// A row of the list of runs.
struct RowView {
    id: String,
    href: String,
    experiment: String,
    experiment_href: String,
    machine: Option<(String, String)>,
    kernel: String,
    began: String,
    class: &'static str,
    verdict: String,
    turns: String,
    observed: String,
    max: String,
    previous: Option<String>,
}

impl RowView {
    fn of(row: &RunRow<'_>) -> Self {
        let RunSummary { id, name, .. } = row.summary;
        let unread = || "not read yet".to_owned();
        let place = row.figures.map(|figures| &figures.place);
        let turns = format::count(row.summary.turns_done);
        let planned = row.summary.turns_planned;
        Self {
            id: id.to_string(),
            href: run_path(id),
            experiment: name.clone(),
            experiment_href: path("/", &[("experiment", name)]),
            machine: place.map(|place| {
                let machine = place.machine.as_deref();
                let href = path("/", &[("machine", machine.unwrap_or("unknown"))]);
                (machine_words(machine), href)
            }),
            kernel: place.and_then(|place| place.kernel.clone()).unwrap_or_default(),
            began: format::date(row.summary.created),
            class: match row.figures.map(|figures| figures.validity) {
                Some(Validity::Valid) => "valid",
                Some(Validity::WithWarnings) => "warned",
                Some(Validity::Invalid) => "invalid",
                None => "quiet",
            },
            verdict: row.figures.map_or_else(unread, |figures| figures.mark.clone()),
            turns: if row.summary.turns_done == planned {
                turns
            } else {
                format!("{turns} of {}", format::count(planned))
            },
            observed: format::count(row.summary.observed),
            max: format::latency_or_nothing(row.summary.max),
            previous: row
                .previous
                .map(|previous| path("/compare", &[("a", previous.as_str()), ("b", id.as_str())])),
        }
    }
}

/// The path of a run's page. The characters of its name need no encoding.
pub(super) fn run_path(run: &RunId) -> String {
    format!("/runs/{run}")
}

/// A machine with runs.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// Its digest; `None` for all runs of unknown machines.
    pub machine: Option<String>,
    /// The models of its CPUs.
    pub cpus: Vec<String>,
    /// The releases of its kernels.
    pub kernels: Vec<String>,
    /// The number of its runs.
    pub runs: usize,
    /// When the last one began.
    pub last: Instant<Realtime>,
}

/// The list of machines.
#[derive(Clone, Debug)]
pub struct MachinesPage {
    /// The machines.
    pub machines: Vec<Machine>,
    /// What is known of the store, in a line.
    pub state: String,
}

/// Writes the list of machines.
///
/// # Errors
/// The page could not be put together.
pub fn machines_page(list: &MachinesPage) -> Result<String, ReportError> {
    let rows = list.machines.iter().map(|machine| MachineView {
        name: machine_words(machine.machine.as_deref()),
        href: path("/", &[("machine", machine.machine.as_deref().unwrap_or("unknown"))]),
        digest: machine.machine.clone().unwrap_or_default(),
        cpus: machine.cpus.join(", "),
        kernels: machine.kernels.join(", "),
        runs: format::count(machine.runs as u64),
        last: format::date(machine.last),
    });
    let page = Machines {
        title: "Machines".to_owned(),
        rows: rows.collect(),
        site: Site { state: list.state.clone() },
        frame: Frame::new(STYLES, &[]),
    };
    Ok(written(&page)?)
}

#[derive(Template)]
#[template(path = "site_machines.html")]
struct Machines {
    title: String,
    rows: Vec<MachineView>,
    site: Site,
    frame: Frame,
}

struct MachineView {
    name: String,
    href: String,
    digest: String,
    cpus: String,
    kernels: String,
    runs: String,
    last: String,
}

/// An experiment and its cells with results.
#[derive(Clone, Debug, Serialize)]
pub struct FigureGroup {
    /// The name of the experiment.
    pub experiment: String,
    /// Its cells.
    pub cells: Vec<FigureCell>,
}

/// A cell with results.
#[derive(Clone, Debug, Serialize)]
pub struct FigureCell {
    /// Its label.
    pub cell: String,
    /// The number of its runs.
    pub runs: usize,
}

/// Writes the list of figures with a history. `left_out` cells do not fit on the page.
///
/// # Errors
/// The page could not be put together.
pub fn figures_page(
    groups: &[FigureGroup],
    left_out: usize,
    state: &str,
) -> Result<String, ReportError> {
    let groups = groups.iter().map(|group| GroupView {
        experiment: group.experiment.clone(),
        cells: group
            .cells
            .iter()
            .map(|FigureCell { cell, runs }| CellView {
                label: cell.clone(),
                runs: format::counted(*runs as u64, "run"),
                figures: Figure::ALL
                    .map(|figure| {
                        let experiment = group.experiment.as_str();
                        (figure.word(), figure_path(experiment, cell, figure))
                    })
                    .to_vec(),
            })
            .collect(),
    });
    let page = Figures {
        title: "Histories".to_owned(),
        groups: groups.collect(),
        left_out: (left_out > 0).then(|| format::counted(left_out as u64, "further cell")),
        site: Site { state: state.to_owned() },
        frame: Frame::new(STYLES, &[]),
    };
    Ok(written(&page)?)
}

/// The path of a figure's history.
pub(super) fn figure_path(experiment: &str, cell: &str, figure: Figure) -> String {
    let figure = figure.word();
    path("/history", &[("experiment", experiment), ("cell", cell), ("figure", figure)])
}

#[derive(Template)]
#[template(path = "site_figures.html")]
struct Figures {
    title: String,
    groups: Vec<GroupView>,
    left_out: Option<String>,
    site: Site,
    frame: Frame,
}

struct GroupView {
    experiment: String,
    cells: Vec<CellView>,
}

struct CellView {
    label: String,
    runs: String,
    figures: Vec<(&'static str, String)>,
}
