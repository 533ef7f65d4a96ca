//! The overview of a run: its verdict, its cells, and the purposes it is fit for.

use serde::Serialize;
use tactus_judge::purpose::{Purpose, PurposeVerdict};
use tactus_judge::verdict::{Verdict, verdict};
use tactus_model::run::{Run, RunHeader};
use tactus_report::CellTail;
use tactus_stats::CellSummary;
use tactus_stats::costs::{CostRow, RunCosts};
use tactus_stats::frames::PlayerSummary;

use crate::{Result, Subject, explain, tail};

/// A run without its histograms.
#[derive(Serialize)]
pub struct RunOverview<'a> {
    /// Its header.
    #[serde(flatten)]
    pub header: &'a RunHeader,
    /// The digest of all results of guests in deterministic time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact_sha256: Option<String>,
    /// Whether its figures are valid.
    pub verdict: Verdict,
    /// What delayed its late samples, as in the outcome, each a line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
    /// Its cells with a result.
    pub cells: Vec<CellOverview>,
    /// The estimates for times longer than measured.
    pub longer_times: Vec<CellTail>,
    /// Whether the cells are fit for each purpose.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub purposes: Vec<PurposeVerdict>,
}

impl<'a> RunOverview<'a> {
    /// Summarizes a run.
    ///
    /// # Errors
    /// Its samples or recordings cannot be read.
    pub fn of(subject: &'a Subject<'_>, purposes: &[Purpose]) -> Result<Self> {
        let run = subject.run();
        Ok(Self {
            header: &run.header,
            exact_sha256: tactus_report::exact_digest(run),
            verdict: verdict(run),
            causes: explain::causes(run, &explain::of_run(subject)?),
            cells: cells(run),
            longer_times: tail::of_run(subject)?,
            purposes: self::purposes(run, purposes),
        })
    }
}

/// A cell's name and summary.
#[derive(Serialize)]
pub struct CellOverview {
    /// Its index in the plan.
    #[serde(rename = "number", serialize_with = "tactus_model::address::counted_from_one")]
    pub cell: usize,
    /// Its name within the run.
    pub label: String,
    /// All its measurements, pooled. A sample of an operation has several: its durations divide by
    /// `cost.per_sample`.
    #[serde(flatten)]
    pub summary: CellSummary,
    /// What its operation costs, if it measures one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<CostRow>,
    /// The summary of its players, if it has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames: Option<PlayerSummary>,
}

/// Summarizes every cell of `run` that has a result.
pub fn cells(run: &Run) -> Vec<CellOverview> {
    let labels = run.header.plan.labels();
    let mut costs = RunCosts::of(run).rows;
    labels
        .into_iter()
        .zip(&run.header.plan.cells)
        .enumerate()
        .filter_map(|(cell, (label, settings))| {
            let measurements: Vec<_> = run.of_cell(cell).collect();
            let summary = CellSummary::pool(&measurements);
            let frames = PlayerSummary::of(settings, summary.accounting);
            let row = costs.iter().position(|row| row.cell == cell);
            let cost = row.map(|row| costs.swap_remove(row));
            (!measurements.is_empty()).then_some(CellOverview {
                cell,
                label,
                summary,
                cost,
                frames,
            })
        })
        .collect()
}

/// Whether every cell of `run` is fit for each purpose.
pub fn purposes(run: &Run, purposes: &[Purpose]) -> Vec<PurposeVerdict> {
    purposes.iter().flat_map(|purpose| PurposeVerdict::of_run(run, *purpose)).collect()
}
