//! Tail estimations on the page.

use tactus_stats::extreme::{PERIODS, TailEstimation};

use super::{CellTail, text};
use crate::svg;

/// The tail estimations of a page.
pub(crate) struct TailView {
    /// The cells with an estimate.
    pub(crate) cells: Vec<CellView>,
    /// What is to be said about all cells, those without an estimate together.
    pub(crate) remarks: Vec<String>,
}

/// The tail estimation of a cell.
pub(crate) struct CellView {
    /// The return levels.
    pub(crate) drawing: String,
    pub(crate) sentences: Vec<String>,
}

impl TailView {
    /// `None` if no estimation was requested.
    pub(crate) fn of(tails: &[CellTail]) -> Option<Self> {
        (!tails.is_empty()).then(|| Self {
            cells: tails.iter().filter_map(cell).collect(),
            remarks: text::shared_remarks(tails)
                .into_iter()
                .map(|(lead, about)| match about {
                    Some(about) => format!("{lead}: {about}."),
                    None => format!("{lead}."),
                })
                .collect(),
        })
    }
}

/// The estimation of a cell, if there is one.
fn cell(tail: &CellTail) -> Option<CellView> {
    let TailEstimation::Estimate { estimate, levels } = &tail.all_causes else { return None };
    let estimated = levels.iter().filter(|level| level.level.is_some());
    let longest = estimated.map(|level| level.period).max().unwrap_or(PERIODS[0]);
    let drawing = svg::tail::panel(&tail.label, estimate, longest).inline();
    Some(CellView { drawing, sentences: text::estimates(tail) })
}
