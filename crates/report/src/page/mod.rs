//! One self-contained page for one or more runs.
//!
//! The page uses no network: it contains its styles, scripts and data, and its content security
//! policy refuses everything else. Without scripts it has the same content; they add an interactive
//! graph and sortable tables.

mod chart;
pub mod comparison;
mod contents;
pub(crate) mod figures;
pub(crate) mod frame;
pub(crate) mod view;

use askama::Template;
use tactus_judge::purpose::PurposeVerdict;
use tactus_model::run::Run;

use crate::accounts::NamedAccounts;
use crate::accounts::section::AccountsView;
use crate::explanation::CellExplanation;
use crate::format;
use crate::summary::{CellResult, cell_results};
use crate::tail::CellTail;
use frame::{Frame, written};
use view::RunView;

/// Why a page could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// No run was given.
    #[error("no run given; name one that `tactus list` shows")]
    NoRuns,
    /// The number of lists of explanations differs from the number of runs.
    #[error("explanations of {explained} runs given for {runs} runs; give one list for each run")]
    Explanations {
        /// The number of lists of explanations.
        explained: usize,
        /// The number of runs.
        runs: usize,
    },
    /// The template failed, which is a defect of Tactus.
    #[error("the page could not be written")]
    Template(#[from] askama::Error),
    /// The data could not be written as JSON, which is a defect of Tactus.
    #[error("the data of the page could not be written as JSON")]
    Data(#[from] serde_json::Error),
}

/// Writes the page of `runs`, in the order given.
///
/// # Errors
/// No run was given, or the page could not be put together.
pub fn page(runs: &[Run]) -> Result<String, ReportError> {
    page_with(runs, &vec![Vec::new(); runs.len()])
}

/// Writes the page of `runs` with the explanations of their cells: one list for
/// each run, in the same order, empty where nothing was recorded.
///
/// # Errors
/// No run was given, the lists are not as many as the runs, or the page could
/// not be put together.
pub fn page_with(
    runs: &[Run],
    explanations: &[Vec<CellExplanation>],
) -> Result<String, ReportError> {
    let concluded = explanations.iter().map(|explanations| Conclusions {
        explanations: explanations.clone(),
        ..Conclusions::default()
    });
    page_of(runs, &concluded.collect::<Vec<_>>())
}

/// The conclusions from the samples and the recordings of a run.
#[derive(Clone, Debug, Default)]
pub struct Conclusions {
    /// What delayed the late wakeups, or why that is unknown, each a line.
    pub causes: Vec<String>,
    /// Why the samples of its cells were late.
    pub explanations: Vec<CellExplanation>,
    /// Where the CPU time of its cells went.
    pub accounts: Vec<NamedAccounts>,
    /// The tail estimations of its cells.
    pub tails: Vec<CellTail>,
    /// The verdicts of its cells for each purpose; empty if none was requested.
    pub purposes: Vec<PurposeVerdict>,
    /// The run as an exported file, to download from the page; `None` for a page without it, which
    /// names the command that exports it.
    pub document: Option<Vec<u8>>,
}

/// Writes the page of `runs` with the conclusions from their recordings: one entry for each run, in
/// the same order.
///
/// # Errors
/// As [`page_with`].
pub fn page_of(runs: &[Run], concluded: &[Conclusions]) -> Result<String, ReportError> {
    if runs.is_empty() {
        return Err(ReportError::NoRuns);
    }
    if runs.len() != concluded.len() {
        return Err(ReportError::Explanations { explained: concluded.len(), runs: runs.len() });
    }
    let found: Vec<(&Run, Vec<CellResult<'_>>)> =
        runs.iter().map(|run| (run, cell_results(run))).collect();
    let views = (1..)
        .zip(&found)
        .zip(concluded)
        .map(|((number, (run, results)), concluded)| RunView::of(run, results, concluded, number));
    let mut limits: Vec<_> =
        concluded.iter().flat_map(|concluded| view::limits(&concluded.purposes)).collect();
    limits.dedup();
    let error_script = include_str!("../../templates/errors.js");
    let chart_script = include_str!("../../vendor/uplot/uPlot.iife.min.js");
    let script = include_str!("../../templates/page.js");
    let page = Page {
        title: title(runs),
        several: runs.len() > 1,
        runs: views.collect(),
        frame: Frame::new(
            include_str!("../../vendor/uplot/uPlot.min.css"),
            &[error_script, chart_script, script],
        ),
        error_script,
        chart_script,
        script,
        data: chart::data(&found, &limits)?,
    };
    Ok(contents::with_contents(&written(&page)?))
}

fn title(runs: &[Run]) -> String {
    match runs {
        [run] => format!("{}, {}", run.header.plan.name, format::date(run.header.created)),
        _ => format!("{} runs", runs.len()),
    }
}

/// Writes a page on where the CPU time of recordings went. `limits` are the notes that belong
/// with the figures, from [`guests_notes`](crate::guests_notes).
///
/// # Errors
/// The page could not be put together.
pub fn accounts_page(
    title: &str,
    recordings: &[NamedAccounts],
    limits: Vec<String>,
) -> Result<String, ReportError> {
    let view = AccountsView::of(recordings).ok_or(ReportError::NoRuns)?;
    let page = AccountsPage { title: title.to_owned(), limits, view, frame: Frame::new("", &[]) };
    Ok(written(&page)?)
}

#[derive(Template)]
#[template(path = "accounts_page.html")]
struct AccountsPage {
    title: String,
    limits: Vec<String>,
    view: AccountsView,
    frame: Frame,
}

#[derive(Template)]
#[template(path = "page.html")]
struct Page {
    title: String,
    several: bool,
    runs: Vec<RunView>,
    frame: Frame,
    error_script: &'static str,
    chart_script: &'static str,
    script: &'static str,
    data: String,
}

#[cfg(test)]
mod tests;
