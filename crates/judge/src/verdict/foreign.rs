//! What another program did not tell of a run that was imported.

use tactus_model::format;
use tactus_model::origin::Precision;
use tactus_model::run::Run;

use super::evidence::Evidence;
use crate::finding::{Check, Finding};

pub(crate) const ORIGIN: Check = Check {
    name: "origin",
    why: "What another program measured is known as far as its files tell it.",
};

pub(crate) const RANGE: Check = Check {
    name: "histogram range",
    why: "Some programs only count the latencies that are beyond the range of their histogram.",
};

pub(super) fn findings(run: &Run, cells: &[Evidence<'_>]) -> Vec<Finding> {
    origin(run).into_iter().chain(cells.iter().filter_map(beyond)).collect()
}

fn origin(run: &Run) -> Option<Finding> {
    let origin = run.header.origin.as_ref()?;
    let measured = format!("{} measured this, tactus did not", origin.program());
    Some(ORIGIN.warning(measured, origin.notes.join(" ")))
}

fn beyond(cell: &Evidence<'_>) -> Option<Finding> {
    let told = cell.measurements.iter().filter_map(|found| found.precision);
    let precision = told.reduce(Precision::and)?;
    let overflow = precision.overflow?;
    let from = format::latency_to(overflow.from, precision.unit);
    let beyond = overflow.count.saturating_add(1) as f64;
    let share = (1.0 - beyond / cell.accounting.observed.max(1) as f64).max(0.0);
    let latencies = match overflow.count {
        1 => "1 latency was".to_owned(),
        count => format!("{} latencies were", format::count(count)),
    };
    Some(RANGE.warning(
        format!("{latencies} longer than {from} under {}, and stand at that length", cell.label),
        format!(
            "Above {:.3}{}% the curve shows the least that the latencies can have been.",
            share * 100.0,
            format::THIN_SPACE
        ),
    ))
}
