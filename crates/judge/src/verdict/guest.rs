//! Limits of figures from guests, by their kind of time.

use tactus_model::guest::{EXACT_LIMITS, GuestTime, WALL_LIMITS};
use tactus_model::run::Run;

use super::cell_record::{CellRecord, named};
use crate::finding::{Check, Finding};

pub(crate) const EXACT: Check = Check {
    name: "deterministic time",
    why: "Time counted in instructions repeats to the byte and omits everything but instructions.",
};

pub(crate) const PROOF: Check = Check {
    name: "repeated",
    why: "Figures are deterministic only if a second boot of the same guest yields the same ones.",
};

pub(crate) const VIRTUAL: Check = Check {
    name: "virtual time",
    why: "A guest runs when its host schedules it, on devices that the host emulates.",
};

/// Whether all cells are measured in deterministic time, which the host does not affect.
pub(crate) fn is_exact(run: &Run) -> bool {
    let cells = &run.header.plan.cells;
    let exact = |guest: &tactus_model::guest::Guest| guest.time.is_exact();
    !cells.is_empty() && cells.iter().all(|cell| cell.target.guest().is_some_and(exact))
}

pub(super) fn findings(cells: &[CellRecord<'_>]) -> Vec<Finding> {
    let times: Vec<GuestTime> =
        cells.iter().filter_map(|cell| cell.cell.target.guest()).map(|guest| guest.time).collect();
    let exact = times.iter().find_map(|time| match time {
        GuestTime::Exact(speed) => Some(EXACT.warning(
            format!("guest time counts instructions, {} million per second", speed.mips()),
            EXACT_LIMITS,
        )),
        GuestTime::Wall => None,
    });
    let wall = times
        .contains(&GuestTime::Wall)
        .then(|| VIRTUAL.warning("measured in guests", WALL_LIMITS));
    let unproved = named(cells.iter().filter(|cell| is_unproved(cell))).map(|cells| {
        PROOF.invalidates(
            format!("{cells}: some results were not repeated"),
            "Figures that were not repeated may not be deterministic.",
        )
    });
    [unproved, exact, wall].into_iter().flatten().collect()
}

fn is_unproved(cell: &CellRecord<'_>) -> bool {
    let is_exact = cell.cell.target.guest().is_some_and(|guest| guest.time.is_exact());
    let is_proved = cell
        .measurements
        .iter()
        .all(|found| found.guest.as_ref().is_some_and(|guest| guest.proof.is_some()));
    is_exact && !is_proved
}
