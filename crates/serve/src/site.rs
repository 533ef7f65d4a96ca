//! Answers requests: which page, from what.

use std::net::IpAddr;
use std::sync::Arc;

use hyper::StatusCode;
use serde::Serialize;
use tactus_app::page::{self, PageOptions};
use tactus_app::{Places, Subject};
use tactus_judge::compare::{CompareOptions, Comparison, Selection, compare};
use tactus_judge::history::{Figure, Series};
use tactus_judge::verdict::Validity;
use tactus_model::format::counted;
use tactus_model::host::Host;
use tactus_model::run::{RunId, RunSummary};
use tactus_report::site::{
    self as pages, FigureGroup, HistoryPage, Machine, MachinesPage, RunRow, RunsPage,
};
use tactus_store::Store;

use crate::Listener;
use crate::index::{Criteria, Entry, Index, RUNS_MAX, Snapshot};
use crate::query::Query;
use crate::reply::{Refusal, Reply};

/// The runs on a page of the list.
const RUNS_PER_PAGE: usize = 50;

/// The cells on the page of histories.
const CELLS_MAX: usize = 500;

/// A site without its connections.
pub(crate) struct Site {
    places: Places,
    index: Arc<Index>,
    address: IpAddr,
    names: Vec<String>,
    on_error: Listener,
}

/// What a request is about, from its path.
enum Topic<'p> {
    Runs,
    Run(&'p str),
    Machines,
    Figures,
    History,
    Compare,
    Schema,
}

impl Site {
    pub(crate) fn new(
        places: Places,
        index: Arc<Index>,
        address: IpAddr,
        names: Vec<String>,
        on_error: Listener,
    ) -> Self {
        Self { places, index, address, names, on_error }
    }

    /// Opens the store. One that was never there is empty; one that has gone is an error.
    pub(crate) fn open(&self) -> tactus_app::Result<Store> {
        if self.index.now().has_runs()
            && let Some(file) = self.places.absent_store()?
        {
            let text = format!("the store {} is gone", file.display());
            return Err(tactus_app::Error::new(tactus_app::ErrorKind::Unavailable, text));
        }
        self.places.open_store_to_read()
    }

    pub(crate) fn index(&self) -> &Index {
        &self.index
    }

    /// Reports an error to the operator.
    pub(crate) fn report(&self, error: &str) {
        (self.on_error)(error);
    }

    /// Whether a request for this host is for this site. A page of another site whose name was made
    /// to mean this machine (DNS rebinding) cannot read it.
    pub(crate) fn is_host(&self, host: &str) -> bool {
        let host = Host::of_field(host);
        host.is_local()
            || host.address() == Some(self.address)
            || self.names.iter().any(|known| host.name().eq_ignore_ascii_case(known))
    }

    /// Answers a `GET` for a path with a query.
    pub(crate) fn answer(&self, path: &str, query: &str) -> Reply {
        let (path, as_json) = match path.strip_prefix("/api") {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => (rest, true),
            _ => (path, false),
        };
        self.find(path, query, as_json).unwrap_or_else(|refusal| {
            if let Some(reason) = &refusal.reason {
                self.report(reason);
            }
            refusal.reply(as_json)
        })
    }

    fn find(&self, path: &str, query: &str, as_json: bool) -> Result<Reply, Refusal> {
        let topic = match (path, as_json) {
            ("/", false) | ("/runs", true) => Topic::Runs,
            ("" | "/", true) => Topic::Schema,
            ("/machines", _) => Topic::Machines,
            ("/figures", _) => Topic::Figures,
            ("/history", _) => Topic::History,
            ("/compare", _) => Topic::Compare,
            _ => match path.strip_prefix("/runs/") {
                Some(name) => Topic::Run(name),
                None => {
                    return Err(Refusal::none("there is no such page; see / and /api".to_owned()));
                }
            },
        };
        let keys: &[&str] = match topic {
            Topic::Runs => &["experiment", "machine", "kernel", "page"],
            Topic::History => &["experiment", "cell", "figure"],
            Topic::Compare => &["a", "b"],
            Topic::Run(_) | Topic::Machines | Topic::Figures | Topic::Schema => &[],
        };
        let (now, query) = (self.index.now(), Query::read(query, keys)?);
        match topic {
            Topic::Runs => runs(&now, &query, as_json),
            Topic::Run(name) => self.run(&now, name, as_json),
            Topic::Machines => machines(&now, as_json),
            Topic::Figures => figures(&now, as_json),
            Topic::History => history(&now, &query, as_json),
            Topic::Compare => self.compare(&now, &query, as_json),
            Topic::Schema => Ok(Reply::json_text(crate::SCHEMA.as_bytes().to_vec())),
        }
    }

    fn run(&self, now: &Snapshot, name: &str, as_json: bool) -> Result<Reply, Refusal> {
        let id = known(now, name)?;
        let store = self.open()?;
        let subject = Subject::stored(&store, id)?;
        if as_json {
            let document = tactus_store::document(subject.run());
            let failed = |error: tactus_store::StoreError| Refusal::store(error.to_string());
            return Ok(Reply::json_text(document.map_err(failed)?));
        }
        Ok(Reply::page(page::of_runs(vec![subject], &PageOptions::default())?))
    }

    fn compare(&self, now: &Snapshot, query: &Query, as_json: bool) -> Result<Reply, Refusal> {
        let [a, b] = ["a", "b"].map(|key| query.required(key).and_then(|name| known(now, name)));
        let store = self.open()?;
        let (a, b) = (Subject::stored(&store, a?)?, Subject::stored(&store, b?)?);
        let whole = |subject| Selection { run: Subject::run(subject), cell: None };
        let compared: Comparison = compare(whole(&a), whole(&b), &CompareOptions::default())
            .map_err(|error| Refusal::bad(error.to_string()))?;
        if as_json {
            return Reply::json(&compared);
        }
        Ok(Reply::page(tactus_report::comparison_page(&compared, a.run(), b.run())?))
    }
}

/// A run by its whole name. Unlike a command, a URL never names a file.
fn known<'s>(now: &'s Snapshot, name: &str) -> Result<&'s RunId, Refusal> {
    now.find(name).ok_or_else(|| {
        Refusal::none(format!("there is no run `{name}`; / lists the runs by their whole names"))
    })
}

/// A run in a JSON list.
#[derive(Serialize)]
struct ListedRun<'s> {
    #[serde(flatten)]
    summary: &'s RunSummary,
    /// Whether the run was read: before, what follows is unknown.
    read: bool,
    machine: Option<&'s str>,
    kernel: Option<&'s str>,
    validity: Option<Validity>,
}

impl<'s> ListedRun<'s> {
    fn of(entry: &'s Entry) -> Self {
        let place = entry.figures.as_ref().map(|figures| &figures.place);
        Self {
            summary: &entry.summary,
            read: entry.figures.is_some(),
            machine: place.and_then(|place| place.machine.as_deref()),
            kernel: place.and_then(|place| place.kernel.as_deref()),
            validity: entry.figures.as_ref().map(|figures| figures.validity),
        }
    }
}

#[derive(Serialize)]
struct ListedRuns<'s> {
    runs: Vec<ListedRun<'s>>,
    page: usize,
    pages: usize,
    count: usize,
}

/// What is listed, with what the list may lack.
#[derive(Serialize)]
struct Listed<T> {
    #[serde(flatten)]
    list: T,
    /// The runs that were not read.
    unread: usize,
    /// Whether the store cannot be read now.
    stale: bool,
}

fn listed(now: &Snapshot, list: impl Serialize) -> Result<Reply, Refusal> {
    Reply::json(&Listed { list, unread: now.unread(), stale: now.is_stale() })
}

fn runs(now: &Snapshot, query: &Query, as_json: bool) -> Result<Reply, Refusal> {
    let criteria = Criteria {
        experiment: query.get("experiment"),
        machine: query.get("machine"),
        kernel: query.get("kernel"),
    };
    let found: Vec<(usize, &Entry)> = now.select(criteria).collect();
    let (count, page) = (found.len(), query.page()?);
    let pages = count.div_ceil(RUNS_PER_PAGE).max(1);
    if page > pages {
        return Err(Refusal::none(format!("there is no page {page}; the last one is {pages}")));
    }
    let shown = found.into_iter().skip((page - 1) * RUNS_PER_PAGE).take(RUNS_PER_PAGE);
    if as_json {
        let runs = shown.map(|(_, entry)| ListedRun::of(entry)).collect();
        return listed(now, ListedRuns { runs, page, pages, count });
    }
    let rows = shown.map(|(index, entry)| RunRow {
        summary: &entry.summary,
        figures: entry.figures.as_deref(),
        previous: now.previous(index),
    });
    let criteria = ["experiment", "machine", "kernel"]
        .into_iter()
        .filter_map(|key| Some((key, query.get(key)?.to_owned())));
    Ok(Reply::page(pages::runs_page(&RunsPage {
        runs: rows.collect(),
        page,
        pages,
        count,
        criteria: criteria.collect(),
        state: state(now),
    })?))
}

/// What is not known of the store, in a line; empty if all of it was read.
fn state(now: &Snapshot) -> String {
    let mut lines = Vec::new();
    if now.is_stale() {
        lines.push(
            "The results database cannot be read now: these are the runs that were read before; \
             the log of `tactus serve` has the reason."
                .to_owned(),
        );
    }
    let unread = [
        (now.unread() - now.unreadable(), "not read yet"),
        (now.unreadable(), "cannot be read; the log of `tactus serve` has the reason"),
    ];
    for (count, why) in unread.into_iter().filter(|(count, _)| *count > 0) {
        let runs = counted(count as u64, "run");
        lines.push(format!("{runs} {why}; lists of machines and histories lack them."));
    }
    if now.left_out() > 0 {
        let left_out = counted(now.left_out() as u64, "older run");
        lines.push(format!("{left_out} not shown; the site shows the last {RUNS_MAX}."));
    }
    lines.join(" ")
}

#[derive(Serialize)]
struct ListedMachines {
    machines: Vec<Machine>,
}

fn machines(now: &Snapshot, as_json: bool) -> Result<Reply, Refusal> {
    let machines = now.machines();
    if as_json {
        return listed(now, ListedMachines { machines });
    }
    Ok(Reply::page(pages::machines_page(&MachinesPage { machines, state: state(now) })?))
}

#[derive(Serialize)]
struct ListedFigures {
    figures: Vec<&'static str>,
    experiments: Vec<FigureGroup>,
    left_out: usize,
}

fn figures(now: &Snapshot, as_json: bool) -> Result<Reply, Refusal> {
    let (experiments, left_out) = now.figures(CELLS_MAX);
    if !as_json {
        return Ok(Reply::page(pages::figures_page(&experiments, left_out, &state(now))?));
    }
    let figures = Figure::ALL.map(Figure::word).to_vec();
    listed(now, ListedFigures { figures, experiments, left_out })
}

#[derive(Serialize)]
struct ListedHistory<'s> {
    experiment: &'s str,
    cell: &'s str,
    figure: Figure,
    series: &'s [Series],
    invalid: usize,
}

fn history(now: &Snapshot, query: &Query, as_json: bool) -> Result<Reply, Refusal> {
    let (experiment, cell) = (query.required("experiment")?, query.required("cell")?);
    let figure: Figure = query.get("figure").unwrap_or("p99").parse().map_err(Refusal::bad)?;
    let found = now.history(experiment, cell, figure);
    if found.series.is_empty() && found.invalid == 0 {
        let text = format!(
            "no run of the experiment `{experiment}` has a {figure} of the cell `{cell}`; /figures \
             lists the cells"
        );
        return Err(Refusal::new(StatusCode::NOT_FOUND, text));
    }
    let (series, invalid) = (found.series.as_slice(), found.invalid);
    if as_json {
        return listed(now, ListedHistory { experiment, cell, figure, series, invalid });
    }
    let state = state(now);
    let page = HistoryPage { experiment, cell, figure, series, invalid, state };
    Ok(Reply::page(pages::history_page(&page)?))
}
