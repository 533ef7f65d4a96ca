//! Limits of imported runs: what the files of other programs do not contain.

use tactus_model::format;
use tactus_model::origin::Precision;
use tactus_model::run::Run;

use super::cell_record::CellRecord;
use crate::finding::{Check, Finding};

pub(crate) const ORIGIN: Check = Check {
    name: "origin",
    why: "Files of other programs do not contain everything that a run of Tactus does.",
};

pub(crate) const RANGE: Check = Check {
    name: "histogram range",
    why: "Some programs only count latencies beyond the range of their histogram.",
};

pub(super) fn findings(run: &Run, cells: &[CellRecord<'_>]) -> Vec<Finding> {
    origin(run).into_iter().chain(cells.iter().filter_map(beyond)).collect()
}

fn origin(run: &Run) -> Option<Finding> {
    let origin = run.header.origin.as_ref()?;
    let measured = format!("measured by {}, not by tactus", origin.program());
    Some(ORIGIN.warning(measured, origin.notes.join(" ")))
}

fn beyond(cell: &CellRecord<'_>) -> Option<Finding> {
    let known = cell.measurements.iter().filter_map(|found| found.precision);
    let precision = known.reduce(Precision::and)?;
    let overflow = precision.overflow?;
    let from = format::latency_to(overflow.from, precision.unit);
    let beyond = overflow.count.saturating_add(1) as f64;
    let share = (1.0 - beyond / cell.accounting.observed.max(1) as f64).max(0.0);
    let latencies = match overflow.count {
        1 => "1 latency was".to_owned(),
        count => format!("{} latencies were", format::count(count)),
    };
    Some(RANGE.warning(
        format!("{latencies} longer than {from} in {}, shown as {from}", cell.label),
        format!(
            "Above {:.3}{}%, the curve is only a lower bound.",
            share * 100.0,
            format::THIN_SPACE
        ),
    ))
}
