//! What a run comes to: its verdict, its cells, what it is fit for.

use serde::Serialize;
use tactus_judge::purpose::{Purpose, PurposeVerdict};
use tactus_judge::verdict::{Verdict, verdict};
use tactus_model::run::{Run, RunHeader};
use tactus_report::CellTail;
use tactus_stats::CellSummary;
use tactus_stats::frames::PlayerSummary;

use crate::{Result, Subject, tail};

/// A run in full, but for its histograms.
#[derive(Serialize)]
pub struct RunOverview<'a> {
    /// What it is.
    #[serde(flatten)]
    pub header: &'a RunHeader,
    /// The digest of what all guests said in exact time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact_sha256: Option<String>,
    /// Whether its figures can be relied on.
    pub verdict: Verdict,
    /// Its cells that yielded a result.
    pub cells: Vec<CellOverview>,
    /// What they say of longer times.
    pub longer_times: Vec<CellTail>,
    /// How they stand to what the machine is for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub purposes: Vec<PurposeVerdict>,
}

impl<'a> RunOverview<'a> {
    /// Sums up a run.
    ///
    /// # Errors
    /// Its samples or recordings cannot be read.
    pub fn of(subject: &'a Subject<'_>, purposes: &[Purpose]) -> Result<Self> {
        let run = subject.run();
        Ok(Self {
            header: &run.header,
            exact_sha256: tactus_report::exact_digest(run),
            verdict: verdict(run),
            cells: cells(run),
            longer_times: tail::of_run(subject)?,
            purposes: self::purposes(run, purposes),
        })
    }
}

/// A cell's name and summary.
#[derive(Serialize)]
pub struct CellOverview {
    /// Its number, counted from 0.
    pub cell: usize,
    /// Its name within the run.
    pub label: String,
    /// All its measurements together.
    #[serde(flatten)]
    pub summary: CellSummary,
    /// What its players came to, where it has some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames: Option<PlayerSummary>,
}

/// Sums up every cell of `run` that yielded a result.
pub fn cells(run: &Run) -> Vec<CellOverview> {
    let labels = run.header.plan.labels();
    labels
        .into_iter()
        .zip(&run.header.plan.cells)
        .enumerate()
        .filter_map(|(cell, (label, settings))| {
            let measurements: Vec<_> = run.of_cell(cell).collect();
            let summary = CellSummary::pool(&measurements);
            let frames = PlayerSummary::of(settings, summary.accounting);
            (!measurements.is_empty()).then_some(CellOverview { cell, label, summary, frames })
        })
        .collect()
}

/// How every cell of `run` stands to each purpose.
pub fn purposes(run: &Run, purposes: &[Purpose]) -> Vec<PurposeVerdict> {
    purposes.iter().flat_map(|purpose| PurposeVerdict::of_run(run, *purpose)).collect()
}
