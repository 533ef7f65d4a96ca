//! What holds of figures from guests, by how time passed there.

use tactus_model::guest::{EXACT_LIMITS, GuestTime, WALL_LIMITS};
use tactus_model::run::Run;

use super::evidence::{Evidence, named};
use crate::finding::{Check, Finding};

pub(crate) const EXACT: Check = Check {
    name: "exact time",
    why: "A machine whose time is its instructions repeats to the byte and leaves out what is not one.",
};

pub(crate) const PROOF: Check = Check {
    name: "repeated",
    why: "Exact figures are those that are the same when the same guest is booted again.",
};

pub(crate) const VIRTUAL: Check = Check {
    name: "virtual time",
    why: "A guest runs when its host lets it, and on the devices that its host imitates.",
};

/// Whether every cell has a time of its own, to which the host adds nothing.
pub(crate) fn is_exact(run: &Run) -> bool {
    let cells = &run.header.plan.cells;
    let exact = |guest: &tactus_model::guest::Guest| guest.time.is_exact();
    !cells.is_empty() && cells.iter().all(|cell| cell.target.guest().is_some_and(exact))
}

pub(super) fn findings(cells: &[Evidence<'_>]) -> Vec<Finding> {
    let times: Vec<GuestTime> =
        cells.iter().filter_map(|cell| cell.cell.target.guest()).map(|guest| guest.time).collect();
    let exact = times.iter().find_map(|time| match time {
        GuestTime::Exact(speed) => Some(EXACT.warning(
            format!("a guest's time is its instructions, {} million a second", speed.mips()),
            EXACT_LIMITS,
        )),
        GuestTime::Wall => None,
    });
    let wall = times
        .contains(&GuestTime::Wall)
        .then(|| VIRTUAL.warning("measured in guests", WALL_LIMITS));
    let unproved = named(cells.iter().filter(|cell| is_unproved(cell))).map(|cells| {
        PROOF.invalidates(
            format!("{cells}: not every result was repeated"),
            "What does not repeat is not exact.",
        )
    });
    [unproved, exact, wall].into_iter().flatten().collect()
}

fn is_unproved(cell: &Evidence<'_>) -> bool {
    let is_exact = cell.cell.target.guest().is_some_and(|guest| guest.time.is_exact());
    let is_proved = cell
        .measurements
        .iter()
        .all(|found| found.guest.as_ref().is_some_and(|guest| guest.proof.is_some()));
    is_exact && !is_proved
}
