//! Limits of figures from guests, by their kind of time.

use tactus_model::format;
use tactus_model::guest::{EXACT_LIMITS, GuestTime, WALL_LIMITS};
use tactus_model::result::Measurement;
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

pub(crate) const THIRD_BOOT: Check = Check {
    name: "third boot",
    why: "Two boots of a guest should have the same output; where they differ, a third decides.",
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
    [unproved, exact, third_boots(cells), wall].into_iter().flatten().collect()
}

fn third_boots(cells: &[CellRecord<'_>]) -> Option<Finding> {
    let found = || cells.iter().flat_map(|cell| &cell.measurements).copied();
    let decided = found().filter(|found| needed_third_boot(found)).count() as u64;
    (decided > 0).then(|| {
        let turns = format::counted(found().count() as u64, "turn");
        THIRD_BOOT.warning(
            format!("{} of {turns} needed a third boot", format::count(decided)),
            "Two of the three boots had the same output to the byte, and their figures count.",
        )
    })
}

/// Whether the outputs of the first two boots of a turn differed.
pub(crate) fn needed_third_boot(found: &Measurement) -> bool {
    let proof = found.guest.as_ref().and_then(|guest| guest.proof.as_ref());
    proof.is_some_and(|proof| proof.outvoted > 0)
}

fn is_unproved(cell: &CellRecord<'_>) -> bool {
    let is_exact = cell.cell.target.guest().is_some_and(|guest| guest.time.is_exact());
    let is_proved = cell
        .measurements
        .iter()
        .all(|found| found.guest.as_ref().is_some_and(|guest| guest.proof.is_some()));
    is_exact && !is_proved
}
