//! Tail estimations on the page.

use tactus_stats::extreme::{PERIODS, TailEstimation};

use super::{CellTail, text};
use crate::svg;

/// The tail estimations of a page, one per cell.
pub(crate) struct TailView {
    pub(crate) cells: Vec<CellView>,
}

/// The tail estimation of a cell.
pub(crate) struct CellView {
    pub(crate) label: String,
    /// The return levels, if there is an estimate.
    pub(crate) drawing: Option<String>,
    pub(crate) sentences: Vec<String>,
}

impl TailView {
    /// `None` if no estimation was requested.
    pub(crate) fn of(tails: &[CellTail]) -> Option<Self> {
        let cells: Vec<CellView> = tails.iter().map(cell).collect();
        (!cells.is_empty()).then_some(Self { cells })
    }
}

fn cell(tail: &CellTail) -> CellView {
    let drawing = match &tail.all_causes {
        TailEstimation::Estimate { estimate, levels } => {
            let estimated = levels.iter().filter(|level| level.level.is_some());
            let longest = estimated.map(|level| level.period).max().unwrap_or(PERIODS[0]);
            Some(svg::tail::panel(&tail.label, estimate, longest).inline())
        }
        TailEstimation::Refused { .. } => None,
    };
    CellView { label: tail.label.clone(), drawing, sentences: text::of_cell(tail) }
}
